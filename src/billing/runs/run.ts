import { readTx, transaction } from "../../app/transaction.ts";
import { deleteEntriesOf } from "../../audit/queries.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import type { Tx } from "../../store/store.ts";
import { applyDueOf } from "../billing_model_changes/apply_change.ts";
import { listOverdue } from "../billing_model_changes/scheduled_queries.ts";
import { findLastCounted } from "../records/queries.ts";
import { listZones } from "../subscriptions/queries.ts";
import { batchesByMonth } from "./batches.ts";
import type { BillableSubscription, DuePeriod } from "./billable.ts";
import { listBillable } from "./billable_queries.ts";
import { type BillingJob, logFields, saveProgress } from "./billing_job.ts";
import { findDuePeriods } from "./find_due.ts";
import { reportStanding } from "./metrics.ts";
import { billInterim } from "./interim.ts";
import type { BillingRunResult } from "./model.ts";
import { dueBy } from "./pipeline.ts";
import { deleteRun, updateRun } from "./queries.ts";
import { billBatch } from "./resilience.ts";
import { whileAlive } from "./sign_of_life.ts";
import { recordUnbilledUsage } from "./unbilled_usage.ts";

/**
 * Bills until everything due is billed or the process is about to end; after each batch the records are as if less
 * had been due. Never throws: what stopped it is recorded in the run and logged. Decision 0032.
 */
export async function runToEnd(run: BillingJob): Promise<BillingRunResult> {
  const { ctx, progress, billing_run_id } = run;
  let status: BillingRunResult["status"] = "interrupted";
  try {
    status = await whileAlive(run, () => billEverything(run));
  } catch (error) {
    progress.end(error instanceof AppError ? error.message : "Internal error");
    ctx.log.error({ err: error, ...logFields(run) }, "billing run interrupted");
  }
  const result = progress.snapshot(status);
  try {
    const is_discarded = run.discard_if_empty && status === "finished" && progress.isEmpty();
    await transaction(ctx, async (tx) => {
      if (is_discarded) await discardRun(tx, billing_run_id);
      else await updateRun(tx.q, result);
    });
  } catch (error) {
    // The row says "running" until its silence is noticed.
    ctx.log.error({ err: error, ...logFields(run) }, "billing run not saved");
  }
  return result;
}

/** Bills all that a run is for. Errors: those of a run that can't go on. */
async function billEverything(run: BillingJob): Promise<BillingRunResult["status"]> {
  const { ctx, progress, closed_since, period } = run;
  const stored_seq = await requireCurrentUsage(run);
  const is_recheck = closed_since !== undefined;
  if (!(await billAll(run))) return "interrupted";
  if (!is_recheck && period === undefined && !(await billInterim(run))) return "interrupted";
  if (closed_since) {
    // A failed subscription may be settled by the next run, with usage that is not billed: look at all again.
    const looked_until = progress.failures > 0 ? null : stored_seq;
    progress.count("late_unbilled", await recordUnbilledUsage(ctx, closed_since, looked_until));
  }
  return "finished";
}

/** Deletes a run that found nothing to do, with the audit entry of its start. */
async function discardRun(tx: Tx, id: number): Promise<void> {
  await deleteRun(tx.q, id);
  await deleteEntriesOf(tx, { type: "billing_run", id });
}

/**
 * Bills by subscription id. Subscriptions are read in small batches, which hold up no request, until there are enough
 * to meter a month of theirs by one query; then their periods are billed month by month: each query goes through all
 * of the company's events of its time. Returns whether it got to the end. Decision 0260.
 */
async function billAll(run: BillingJob): Promise<boolean> {
  const { ctx, progress, subscription_ids: ids } = run;
  const tx = readTx(ctx);
  const zones = await listZones(tx);
  const limit = LIMITS.billing_batch_subscriptions;
  const due_by = dueBy(run, ctx.now);
  let after_id = 0;
  let to_bill = 0;
  let due: DuePeriod[] = [];
  while (!ctx.background.is_stopping) {
    const batch = await listBillable(tx, { ids, after_id, limit, due_by });
    const found = await findDuePeriods(run, await withChangesApplied(run, batch), zones);
    progress.lookAt(batch.length, found);
    due.push(...found);
    to_bill += new Set(found.map(({ subscription }) => subscription.id)).size;
    reportStanding(run, due.length);
    const last = batch.at(-1);
    // Another batch has to fit, so that a month of all is one query.
    const has_room =
      to_bill + limit <= LIMITS.billing_batch_periods && due.length < LIMITS.billing_periods_in_hand;
    if (!(last && to_bill > 0 && has_room)) {
      let left = due.length;
      for (const periods of batchesByMonth(due, LIMITS.billing_batch_periods)) {
        if (!(await billBatch(run, periods))) return false;
        left -= periods.length;
        reportStanding(run, left);
      }
      [due, to_bill] = [[], 0];
    }
    await saveProgress(run);
    if (!last) return true;
    after_id = last.id;
  }
  return false;
}

/**
 * The number up to which the company's events are stored. Errors: conflict when its bills have counted later ones. Events
 * of other companies may be numbered apart, so their bills tell nothing; asking for all bills' is one look at an index.
 */
async function requireCurrentUsage({ ctx }: BillingJob): Promise<number> {
  const { store, usage, config } = ctx;
  const { company_id } = scopeOf(ctx.actor);
  let [counted_seq, stored] = [0, 0];
  for (const whose of [null, company_id]) {
    // In this order: whatever a bill has counted was stored before.
    counted_seq = await findLastCounted(store.read, whose);
    stored = await usage.lastSeq(company_id, config.usage_query_timeout_ms);
    if (stored >= counted_seq) return stored;
  }
  throw new AppError(
    "conflict",
    `Cannot bill: the usage store is older than the bills: its events end at number ${stored}, and bills have counted up to ${counted_seq}; doctor says what to do`,
  );
}

/**
 * Applies the plan changes of the subscriptions that are due, and reads those subscriptions again. One whose change
 * can't be applied fails: its terms are wrong.
 */
async function withChangesApplied(
  { ctx, dry_run, progress }: BillingJob,
  batch: readonly BillableSubscription[],
): Promise<readonly BillableSubscription[]> {
  if (dry_run || batch.length === 0) return batch;
  const tx = readTx(ctx);
  const ids = batch.map(({ id }) => id);
  const overdue = new Set(await listOverdue(tx, ids));
  if (overdue.size === 0) return batch;
  const applied: number[] = [];
  for (const id of overdue) {
    try {
      await applyDueOf({ ...ctx, store: ctx.unaudited_store }, id);
      applied.push(id);
    } catch (error) {
      progress.fail(id, null, "Cannot bill: a billing model change that is due can't be applied");
      ctx.log.warn(
        { err: error, request_id: ctx.request_id, subscription_id: id },
        "cannot bill a subscription",
      );
    }
  }
  const again = await listBillable(tx, { ids: applied, limit: applied.length });
  return [...batch.filter(({ id }) => !overdue.has(id)), ...again];
}
