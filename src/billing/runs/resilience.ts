import { readTx, transaction } from "../../app/transaction.ts";
import { chunks } from "../../core/chunk.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { iso } from "../../core/time.ts";
import { listZones } from "../subscriptions/queries.ts";
import { type DuePeriod, duePeriod } from "./billable.ts";
import { type BillingJob, logFields, saveProgress } from "./billing_job.ts";
import { diff, type MeteredPeriod, meterDue, type Outcome, rate, type RatedPeriod } from "./pipeline.ts";
import { dryWrite, write } from "./write_records.ts";

// What a run does when a stage fails: a batch that can't be metered is halved, one that can't be written goes period
// by period, and a period whose subscription changed meanwhile is metered again.

/** How often a subscription that changes while it is billed is read again. */
const MAX_ATTEMPTS = 3;

/**
 * Meters the periods at once, then writes their records in small transactions. Returns false when the process is
 * about to end. Errors: unavailable when the stores are down.
 */
export async function billBatch(run: BillingJob, due: readonly DuePeriod[]): Promise<boolean> {
  const { ctx, progress } = run;
  const metered = await meterDue(ctx, due).catch((error: unknown) => ({ error }));
  if ("error" in metered) return billHalves(run, due, metered.error);
  for (const outcome of metered.failed) progress.record(outcome);
  for (const batch of chunks(metered.done, LIMITS.billing_batch_records)) {
    if (ctx.background.is_stopping) return false;
    await writeBatch(run, batch);
    await saveProgress(run);
  }
  return true;
}

/** Bisects a batch that the usage store can't meter, down to the period that it can't meter at all. */
async function billHalves(run: BillingJob, due: readonly DuePeriod[], error: unknown): Promise<boolean> {
  const { ctx, progress } = run;
  const [only] = due;
  if (only && due.length === 1) {
    recordFailure(run, only, error);
    return true;
  }
  ctx.log.warn({ err: error, ...logFields(run) }, "counting usage in smaller parts");
  for (const half of chunks(due, Math.ceil(due.length / 2))) {
    if (ctx.background.is_stopping) return false;
    const remaining = half.filter(({ subscription }) => !progress.hasFailed(subscription.id));
    if (remaining.length > 0 && !(await billBatch(run, remaining))) return false;
    await saveProgress(run);
  }
  return true;
}

/** Reconciles periods at once or, where a store refuses that, one by one: the good ones are billed. */
async function writeBatch(run: BillingJob, metered: readonly MeteredPeriod[]): Promise<void> {
  const { ctx, progress, breaker } = run;
  try {
    for (const outcome of await reconcile(run, metered)) progress.record(outcome);
    return breaker.worked();
  } catch (error) {
    ctx.log.warn({ err: error, ...logFields(run) }, "billing one by one");
  }
  for (const period of metered) {
    if (ctx.background.is_stopping) return;
    if (progress.hasFailed(period.subscription.id)) continue;
    try {
      for (const outcome of await reconcile(run, [period])) progress.record(outcome);
      breaker.worked();
    } catch (error) {
      recordFailure(run, period, error);
    }
  }
}

/**
 * Reconciles each period with its usage and prices: writes the first record, zero or not, an adjustment, or nothing.
 * Records that count later events stay as they are, and so do those that another call writes first. One transaction
 * for all periods, or no record at all: a store's error is thrown. A period that can't be rated, or whose
 * subscription changes again and again, fails alone. Decisions 0030, 0031.
 */
async function reconcile(run: BillingJob, metered: readonly MeteredPeriod[]): Promise<Outcome[]> {
  const { ctx } = run;
  const outcomes: Outcome[] = [];
  let pending = metered;
  for (let attempt = 1; pending.length > 0; attempt++) {
    const { done, failed } = rate(pending);
    const compared = await diffAndWrite(run, done);
    const stale = compared.filter(({ result }) => result === "stale");
    outcomes.push(...failed, ...compared.filter(({ result }) => result !== "stale"));
    if (attempt === MAX_ATTEMPTS) {
      const message = "It keeps changing while it is billed";
      return [...outcomes, ...stale.map((period): Outcome => ({ ...period, result: "failed", message }))];
    }
    const again = await meterDue(ctx, await asChanged(ctx, stale));
    outcomes.push(...again.failed);
    pending = again.done;
  }
  return outcomes;
}

/** Periods of subscriptions that have changed, with the intervals and years of their plans of now. */
async function asChanged(ctx: BillingJob["ctx"], stale: readonly DuePeriod[]): Promise<DuePeriod[]> {
  if (stale.length === 0) return [];
  const zones = await listZones(readTx(ctx));
  return stale.map((due) => ({ ...due, ...duePeriod(due.subscription, due.period, zones, due.part) }));
}

async function diffAndWrite(run: BillingJob, rated: readonly RatedPeriod[]): Promise<Outcome[]> {
  const { ctx, dry_run } = run;
  if (rated.length === 0) return [];
  if (dry_run) return dryWrite(await diff(readTx(ctx), run, rated), ctx.now);
  return transaction(ctx, async (tx) => write(tx, await diff(tx, run, rated)));
}

/** Errors: unavailable when the stores are down. */
function recordFailure({ ctx, progress, breaker }: BillingJob, failed: DuePeriod, error: unknown): void {
  const { id: subscription_id } = failed.subscription;
  const message = error instanceof AppError ? error.message : "Internal error";
  progress.fail(subscription_id, iso(failed.period.from), message);
  ctx.log.error({ err: error, request_id: ctx.request_id, subscription_id }, "cannot bill a subscription");
  // Refused by a rule, not by a store that is down.
  if (!(error instanceof AppError && error.kind === "conflict")) breaker.failed(error);
}
