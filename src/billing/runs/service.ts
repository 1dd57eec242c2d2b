import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { LIMITS } from "../../core/limits.ts";
import { invalid, notFound } from "../../core/errors.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, Nothing, paged } from "../../core/schema.ts";
import { withTimeout } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import {
  BillingRecord,
  BillingRecordDetail,
  BillingRun,
  BillingRunDetail,
  BillingRunResult,
  ListBillingRecords,
  ListBillingRuns,
  ListUnbilledUsage,
  RunBilling,
  UnbilledUsage,
} from "../records/model.ts";
import { NO_COUNTS, Progress } from "./progress.ts";
import * as queries from "../records/queries.ts";
import * as runs from "./queries.ts";
import { type BillingJob, runToEnd } from "./run.ts";
import { listUnbilled } from "./unbilled_queries.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/**
 * Bills: without `period` every period that ended at least BILLING_GRACE ago and has no record, with it the
 * periods that start in that month, again too, where late usage becomes an adjustment. A dry run writes no
 * record. Over HTTP it answers after a few seconds at the latest, with status `running` when the run goes on.
 * Errors: invalid (an id that is no subscription of the company). Decisions 0030–0033.
 */
export const runBilling = operation({
  name: "run_billing",
  permission: "billing:write",
  target: "billing_run",
  input: RunBilling,
  output: BillingRunResult,
  async run(ctx, { period, subscription_ids, dry_run = false }) {
    if (subscription_ids) await checkSubscriptions(readTx(ctx), subscription_ids);
    return startRun(ctx, { period, subscription_ids, dry_run });
  },
});

/**
 * Bills again what was closed lately: usage that came late for a period that ended, or whose last
 * record was written, in the last 90 days becomes an adjustment; other late usage is told as unbilled. Decisions 0033, 0126.
 */
export const recheckBilling = operation({
  name: "recheck_billing",
  permission: "billing:write",
  target: "billing_run",
  input: Nothing,
  output: BillingRunResult,
  run: (ctx) =>
    startRun(ctx, { closed_since: ctx.now.subtract({ hours: 24 * LIMITS.billing_recheck_days }) }),
});

/**
 * Marks the company's runs as interrupted that say they run while nobody can be running them: after a start
 * on a store that only this process uses. Decision 0030.
 */
export const interruptRuns = operation({
  name: "interrupt_runs",
  permission: "billing:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    await transaction(ctx, (tx) => runs.interruptRunsSilentSince(tx, ctx.now, ctx.now));
    return {};
  },
});

/** Lists billing runs without their errors, newest first. Decision 0030. */
export const listBillingRuns = operation({
  name: "list_billing_runs",
  permission: "billing:read",
  input: ListBillingRuns,
  output: paged(BillingRun),
  run: (ctx, page) =>
    pagedList(page, LIMITS.page_limit_default, (slice) => runs.listRuns(readTx(ctx), slice)),
});

/** Finds one billing run with its errors. Errors: not_found. Decision 0030. */
export const getBillingRun = operation({
  name: "get_billing_run",
  permission: "billing:read",
  input: ById,
  output: BillingRunDetail,
  async run(ctx, { id }) {
    const run = await runs.findRun(readTx(ctx), id);
    if (!run) throw notFound("Billing run", id);
    return run;
  },
});

/**
 * Lists billing records without their lines, the last written first. A client user sees its client's.
 * Decision 0034.
 */
export const listBillingRecords = operation({
  name: "list_billing_records",
  permission: "billing:read",
  input: ListBillingRecords,
  output: paged(BillingRecord),
  run: (ctx, { page, limit, ...filter }) =>
    pagedList({ page, limit }, LIMITS.page_limit_default, (slice) =>
      queries.listRecords(readTx(ctx), filter, slice),
    ),
});

/**
 * Finds one billing record with its lines and its subscription. Errors: not_found, for a client user also when
 * it is another client's.
 */
export const getBillingRecord = operation({
  name: "get_billing_record",
  permission: "billing:read",
  input: ById,
  output: BillingRecordDetail,
  async run(ctx, { id }) {
    const record = await queries.findRecord(readTx(ctx), id);
    if (!record) throw notFound("Billing record", id);
    return record;
  },
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
    pagedList({ page, limit }, LIMITS.page_limit_default, (slice) =>
      listUnbilled(readTx(ctx), filter, slice),
    ),
});

/** What a run is asked to bill, and whether only to tell. */
type RunRequest = Pick<BillingJob, "period" | "closed_since" | "subscription_ids"> & { dry_run?: boolean };

/** Begins a run and answers it as it ended or, over HTTP after a few seconds, as it stands. */
async function startRun(
  ctx: Context,
  { dry_run = false, ...request }: RunRequest,
): Promise<BillingRunResult> {
  const { store, actor, now, origin, background } = ctx;
  const scope = scopeOf(actor);
  const requested_by = actor.kind === "user" ? actor.user_id : null;
  const silent_since = now.subtract({ minutes: LIMITS.billing_run_silent_minutes });
  const begun = await store.tx(async (q) => {
    await runs.interruptRunsSilentSince({ q, scope, now }, silent_since, now);
    const row = { dry_run, period: request.period ?? null, requested_by, counts: NO_COUNTS };
    return runs.insertRun({ q, scope, now }, row);
  });
  const progress = new Progress(begun, now);
  const options = { scope, billing_run_id: begun.id, dry_run };
  const run = background.track(
    runToEnd({ ctx, options, ...request, progress, discard_if_empty: origin === "job" }),
  );
  if (origin === "job" || origin === "cli") return run;
  return (await withTimeout(run, LIMITS.billing_run_wait_ms)) ?? progress.snapshot();
}

async function checkSubscriptions(tx: ReadTx, ids: readonly number[]): Promise<void> {
  const existing = await queries.existingSubscriptions(tx, ids);
  const unknown = ids.findIndex((id) => !existing.has(id));
  if (unknown >= 0) throw invalid(`/subscription_ids/${unknown}`, "names no subscription of this company");
}
