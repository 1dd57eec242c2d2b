import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { LIMITS } from "../limits.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { invalid, orNotFound } from "../../core/errors.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, Nothing, paged } from "../../core/schema.ts";
import { instant, iso, withTimeout } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { total } from "../rating/charges.ts";
import type { BillingJob } from "./billing_job.ts";
import { CircuitBreaker } from "./circuit_breaker.ts";
import { existingSubscriptions } from "./billable_queries.ts";
import {
  BillingRun,
  BillingRunDetail,
  BillingRunResult,
  BillPreview,
  PreviewBill,
  ListBillingRuns,
  ListUnbilledUsage,
  RunBilling,
  UnbilledUsage,
} from "./model.ts";
import { NO_COUNTS, Progress } from "./progress.ts";
import * as queries from "./queries.ts";
import { projectedTotal, rateRunning } from "./running_charges.ts";
import { runToEnd } from "./run.ts";
import { listUnbilled } from "./unbilled_queries.ts";

/**
 * Starts a billing run: without `period` over every period that ended at least BILLING_GRACE ago and has no record,
 * with it over the periods that start in that month, again too, where late usage becomes an adjustment. A dry run
 * writes no record. Over HTTP it returns after a few seconds at the latest, with status `running` when the run goes
 * on. Errors: invalid (an id that is no subscription of the company). Decisions 0030–0033.
 */
export const runBilling = operation({
  name: "run_billing",
  permission: "billing:write",
  waits_for_clock: true,
  target: "billing_run",
  input: RunBilling,
  output: BillingRunResult,
  async run(ctx, { period, subscription_ids, dry_run = false }) {
    if (subscription_ids) await checkSubscriptions(readTx(ctx), subscription_ids);
    return startRun(ctx, { period, subscription_ids, dry_run });
  },
});

/**
 * Rechecks lately closed periods: usage that came late for one that ended, or whose last record was written, in
 * the last 90 days becomes an adjustment; other late usage is recorded as unbilled. Decisions 0033, 0126.
 */
export const recheckBilling = operation({
  name: "recheck_billing",
  permission: "billing:write",
  waits_for_clock: true,
  target: "billing_run",
  input: Nothing,
  output: BillingRunResult,
  run: (ctx) =>
    startRun(ctx, { closed_since: ctx.now.subtract({ hours: 24 * LIMITS.billing_recheck_days }) }),
});

/**
 * Marks the company's running billing runs as interrupted, since nobody can be running them: after a start on a
 * store that only this process uses. Decision 0030.
 */
export const interruptRuns = operation({
  name: "interrupt_runs",
  permission: "billing:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    await transaction(ctx, (tx) => queries.interruptRunsSilentSince(tx, ctx.now));
    return {};
  },
});

/**
 * Ends the company's runs whose instance has given no sign of life for a minute, and goes on with what they were asked for
 * in runs of their own; nobody waits for dry runs any more. Decision 0322.
 */
export const takeOverRuns = operation({
  name: "take_over_runs",
  permission: "billing:write",
  waits_for_clock: true,
  target: "billing_run",
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const silent_since = ctx.now.subtract({ milliseconds: LIMITS.billing_run_lease_ms });
    const ended = await transaction(ctx, (tx) => queries.interruptRunsSilentSince(tx, silent_since));
    for (const { period, subscription_ids, closed_since, requested_by } of ended.filter(
      (run) => !run.dry_run,
    )) {
      const request = {
        ...(period === null ? {} : { period }),
        ...(subscription_ids === null ? {} : { subscription_ids }),
        ...(closed_since === null ? {} : { closed_since: instant(closed_since) }),
      };
      await startRun(ctx, request, requested_by);
    }
    return {};
  },
});

/** Lists billing runs without their errors, newest first. Decision 0030. */
export const listBillingRuns = operation({
  name: "list_billing_runs",
  permission: "billing:read",
  input: ListBillingRuns,
  output: paged(BillingRun),
  run: (ctx, { page, limit, ...order }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listRuns(readTx(ctx), order, slice),
    ),
});

/** Finds one billing run with its errors. Errors: not_found. Decision 0030. */
export const getBillingRun = operation({
  name: "get_billing_run",
  permission: "billing:read",
  input: ById,
  output: BillingRunDetail,
  run: async (ctx, { id }) => orNotFound(await queries.findRun(readTx(ctx), id), "Billing run", id),
});

/**
 * Lists stored usage that no bill counts, as the daily recheck found it, the latest found first. Late usage goes
 * from the list when its period is billed again. Decision 0126.
 */
export const listUnbilledUsage = operation({
  name: "list_unbilled_usage",
  permission: "billing:read",
  input: ListUnbilledUsage,
  output: paged(UnbilledUsage),
  run: (ctx, { page, limit, ...filter }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      listUnbilled(readTx(ctx), filter, slice),
    ),
});

/**
 * Previews the bill of the running period: the lines that it would have now, the fee whole; and, if it is asked for, what
 * it comes to if usage goes on as it did. Of a cancelled
 * subscription its last period, of one that has not started its first. Errors: not_found, for a client user also
 * when it is another client's. Decision 0071.
 */
export const previewSubscription = operation({
  name: "preview_subscription",
  permission: "billing:read",
  input: PreviewBill,
  output: BillPreview,
  async run(ctx, { id, projected = false }) {
    const { done, failed, years } = await rateRunning(ctx, [id]);
    const [wrong] = failed;
    if (wrong) throw new Error(wrong.message);
    const rated = orNotFound(done[0], "Subscription", id);
    const { period, subscription, unmetered } = rated;
    const { currency } = subscription.billing_model;
    const lines = [...rated.lines];
    return {
      from: iso(period.from),
      to: iso(period.to),
      lines,
      total: total(lines, currency),
      currency,
      ...(unmetered === undefined ? {} : { unmetered }),
      ...(projected ? { projected_total: projectedTotal(rated, ctx.now, years) } : {}),
    };
  },
});

/** What a run is to bill; a dry run writes nothing. */
type RunRequest = Pick<BillingJob, "period" | "closed_since" | "subscription_ids"> & { dry_run?: boolean };

/** Starts a run; returns it as it ended or, over HTTP after a few seconds, its progress so far. */
async function startRun(
  ctx: Context,
  { dry_run = false, ...request }: RunRequest,
  requested_by = ctx.actor.kind === "user" ? ctx.actor.user_id : null,
): Promise<BillingRunResult> {
  const { now, origin, background, clock } = ctx;
  const silent_since = now.subtract({ minutes: LIMITS.billing_run_silent_minutes });
  const begun = await transaction(ctx, async (tx) => {
    await queries.interruptRunsSilentSince(tx, silent_since);
    const { period = null, subscription_ids = null, closed_since } = request;
    const asked = {
      dry_run,
      period,
      subscription_ids: subscription_ids && [...subscription_ids],
      closed_since: closed_since === undefined ? null : iso(closed_since),
      requested_by,
    };
    return queries.insertRun(tx, { ...asked, counts: NO_COUNTS });
  });
  const progress = new Progress(begun, clock);
  const run = background.track(
    runToEnd({
      ctx,
      ...request,
      billing_run_id: begun.id,
      dry_run,
      progress,
      breaker: new CircuitBreaker(),
      ...(dry_run ? { unwritten: [] } : {}),
      discard_if_empty: origin === "job",
    }),
  );
  if (origin === "job" || origin === "cli") return run;
  return (await withTimeout(run, LIMITS.billing_run_wait_ms)) ?? progress.snapshot();
}

/** Errors: invalid for the first id that is no subscription of the company. */
async function checkSubscriptions(tx: ReadTx, ids: readonly number[]): Promise<void> {
  const existing = await existingSubscriptions(tx, ids);
  const unknown = ids.findIndex((id) => !existing.has(id));
  if (unknown >= 0) throw invalid(`/subscription_ids/${unknown}`, "names no subscription of this company");
}
