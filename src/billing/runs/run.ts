import type { Context } from "../../app/context.ts";
import { chunks } from "../../core/chunk.ts";
import { LIMITS } from "../limits.ts";
import { AppError } from "../../core/errors.ts";
import { aroundMonth, type Bounds, recordedPeriod, type ZoneTimeline } from "../../core/periods.ts";
import { instant, iso } from "../../core/time.ts";
import type { Queries } from "../../store/store.ts";
import { deleteEntriesOf } from "../../audit/queries.ts";
import { applyDueOf } from "../billing_model_changes/apply_change.ts";
import { listOverdue } from "../billing_model_changes/due_queries.ts";
import { listZones } from "../subscriptions/queries.ts";
import { type MeteredPeriod, meterPeriods } from "./meter_usage.ts";
import {
  hasNoUsage,
  type DuePeriods,
  isGapless,
  namedPeriod,
  unbilledPeriods,
} from "../subscriptions/due_periods.ts";
import type { BillingRunResult } from "./model.ts";
import type { DuePeriod } from "./outcomes.ts";
import type { Progress } from "./progress.ts";
import * as queries from "../records/queries.ts";
import { deleteRun, updateRun } from "./queries.ts";
import { dueBy, reconcile, type ReconcileOptions } from "./reconcile.ts";
import { type BillableSubscription, listBillable } from "./billable.ts";
import { recordUnbilledUsage } from "./unbilled_usage.ts";

/** A run on its way: what it is asked to bill, and how far it is. */
export interface BillingJob {
  readonly ctx: Context;
  readonly options: ReconcileOptions & { readonly billing_run_id: number };
  /** "2026-11": the periods that start in that month. Undefined: every due one that has no record. */
  readonly period?: string | undefined;
  /**
   * The periods that ended, or whose last record was written, after this instant and whose records have not
   * counted all of their events.
   */
  readonly closed_since?: Temporal.Instant;
  /** Undefined: all of the company. */
  readonly subscription_ids?: readonly number[] | undefined;
  readonly progress: Progress;
  /** Whether a run that found nothing to do is forgotten. */
  readonly discard_if_empty: boolean;
}

/**
 * Bills until everything asked for is billed or the process is about to end; between two batches all is as if
 * the run had been asked for less. Never throws: what stopped it is told in the run and logged.
 * Decision 0032.
 */
export async function runToEnd(run: BillingJob): Promise<BillingRunResult> {
  const { ctx, progress, options } = run;
  let status: BillingRunResult["status"] = "interrupted";
  try {
    const stored_seq = await requireCurrentUsage(run);
    if (await billAll(run)) {
      if (run.closed_since) {
        progress.count("late_unbilled", await recordUnbilled(run, run.closed_since, stored_seq));
      }
      status = "finished";
    }
  } catch (error) {
    progress.end(error instanceof AppError ? error.message : "Internal error");
    ctx.log.error({ err: error, request_id: ctx.request_id, ...options }, "billing run interrupted");
  }
  const result = progress.snapshot(status);
  try {
    const is_forgotten = run.discard_if_empty && status === "finished" && progress.isEmpty();
    await ctx.store.tx((q) => (is_forgotten ? discardRun(q, run) : updateRun(q, result)));
  } catch (error) {
    // The row says "running" until the next run finds it silent.
    ctx.log.error({ err: error, request_id: ctx.request_id, ...options }, "billing run not written down");
  }
  return result;
}

/**
 * Tells of the usage that the recheck leaves alone. What was stored before it began is looked through then, unless a
 * subscription failed: its usage may be settled, and not billed, by the next time. Errors: those of the stores.
 */
function recordUnbilled(
  { ctx, options: { scope }, progress }: BillingJob,
  settled_by: Temporal.Instant,
  stored_seq: number,
): Promise<number> {
  return recordUnbilledUsage({ ctx, scope, settled_by }, progress.hasFailures() ? null : stored_seq);
}

/** Forgets a run that found nothing to do, and that it was started. */
async function discardRun(
  q: Queries,
  { ctx, options: { scope, billing_run_id: id } }: BillingJob,
): Promise<void> {
  await deleteRun(q, id);
  await deleteEntriesOf({ q, scope, now: ctx.now }, { type: "billing_run", id });
}

/**
 * Bills by subscription id. Subscriptions are read few at a time, which holds up no request, until there is enough
 * to count in one question to the usage store: each question goes through all of the company's events of that
 * time. Returns whether it got to the end.
 */
async function billAll(run: BillingJob): Promise<boolean> {
  const { ctx, options, progress, subscription_ids: ids } = run;
  const { read } = ctx.store;
  const zones = await listZones({ q: read, scope: options.scope, now: ctx.now });
  const guard = new CircuitBreaker();
  let after_id = 0;
  let looked_at = 0;
  let due: DuePeriod[] = [];
  while (!ctx.background.is_stopping) {
    const limit = LIMITS.billing_batch_subscriptions;
    const due_by = dueBy(options, ctx.now);
    const batch = await listBillable(
      { q: read, scope: options.scope, now: ctx.now },
      { ids, after_id, limit, due_by },
    );
    due.push(...(await findDuePeriods(run, await withChangesApplied(run, batch), zones)));
    looked_at += batch.length;
    const last = batch.at(-1);
    if (last && due.length > 0 && due.length < LIMITS.billing_batch_periods) {
      await yieldToRequests();
    } else {
      due.sort((a, b) => Temporal.Instant.compare(a.period.from, b.period.from));
      for (const some of chunks(due, LIMITS.billing_batch_periods)) {
        if (!(await billBatch(run, guard, some))) return false;
      }
      progress.count("subscriptions", looked_at);
      await saveProgress(run);
      [due, looked_at] = [[], 0];
    }
    if (!last) return true;
    after_id = last.id;
  }
  return false;
}

/**
 * Bills count from events that bills before them have counted: where those are gone, as in a usage store put back to
 * an earlier state, none is written. Returns up to which number usage is stored. Errors: conflict.
 */
async function requireCurrentUsage({ ctx: { store, usage, config }, options }: BillingJob): Promise<number> {
  // In this order: whatever a bill has counted was stored before.
  const counted_seq = await queries.findLastCounted(store.read);
  const stored = await usage.lastSeq(options.scope.company_id, config.usage_query_timeout_ms);
  if (stored >= counted_seq) return stored;
  throw new AppError(
    "conflict",
    `Cannot bill: the usage store is older than the bills: its events end at number ${stored}, and bills have counted up to ${counted_seq}; doctor says what to do`,
  );
}

/**
 * Applies the changes of the subscriptions that are due, so that they are billed by them, and reads those again.
 * One whose change can't be applied fails: what it would be billed by is wrong.
 */
async function withChangesApplied(
  { ctx, options, progress }: BillingJob,
  batch: readonly BillableSubscription[],
): Promise<readonly BillableSubscription[]> {
  const { store, now } = ctx;
  const { scope, dry_run } = options;
  const overdue = new Set<number>();
  if (!dry_run && batch.length > 0) {
    const ids = batch.map(({ id }) => id);
    for (const id of await listOverdue({ q: store.read, scope, now }, ids)) overdue.add(id);
  }
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
  const again = await listBillable({ q: store.read, scope, now }, { ids: applied, limit: applied.length });
  return [...batch.filter(({ id }) => !overdue.has(id)), ...again];
}

async function saveProgress({ ctx, progress }: BillingJob): Promise<void> {
  await ctx.store.tx((q) => updateRun(q, progress.snapshot()));
  await yieldToRequests();
}

/**
 * An embedded database answers without ever leaving the process: requests get their turn here, and time for all
 * the steps that an answer takes.
 */
function yieldToRequests(): Promise<void> {
  return Bun.sleep(LIMITS.billing_pause_ms);
}

/** The periods to bill of a batch of subscriptions. */
async function findDuePeriods(
  run: BillingJob,
  batch: readonly BillableSubscription[],
  zones: ZoneTimeline,
): Promise<DuePeriod[]> {
  const { progress } = run;
  if (run.closed_since) return latePeriods(run, batch, zones, run.closed_since);
  const find = await duePeriods(run, batch, zones);
  return batch.flatMap((subscription) => {
    try {
      const { due: periods, not_due } = find(subscription);
      progress.count("not_due", not_due);
      return periods.map((period): DuePeriod => ({ subscription, period }));
    } catch (error) {
      progress.fail(subscription.id, null, error instanceof Error ? error.message : String(error));
      return [];
    }
  });
}

/** How to tell a subscription's due periods: by the month asked for, or by what is on record. */
async function duePeriods(
  { ctx, options, period }: BillingJob,
  batch: readonly BillableSubscription[],
  zones: ZoneTimeline,
): Promise<(subscription: BillableSubscription) => DuePeriods> {
  const { now, config, store } = ctx;
  const ids = batch.map(({ id }) => id);
  const boundsOf = (some: readonly number[], touching?: Bounds) =>
    queries.listRecordedBounds({ q: store.read, scope: options.scope, now }, some, touching);
  if (period !== undefined) {
    const recorded = await boundsOf(ids, aroundMonth(period));
    return (subscription) => namedPeriod(subscription, zones, period, now, recorded.get(subscription.id));
  }
  const closed = await queries.listClosedPeriods({ q: store.read, scope: options.scope, now }, ids);
  const gapless = batch.filter((subscription) => {
    const own = closed.get(subscription.id);
    return own === undefined || isGapless(subscription, own, zones);
  });
  const is_gapless = new Set(gapless.map(({ id }) => id));
  const gappy = ids.filter((id) => !is_gapless.has(id));
  const all = gappy.length === 0 ? new Map<number, Bounds[]>() : await boundsOf(gappy);
  return (subscription) => {
    const own = closed.get(subscription.id);
    const recorded = is_gapless.has(subscription.id)
      ? { bounds: own ? [own.last] : [], is_gapless: true }
      : { bounds: all.get(subscription.id) ?? [], is_gapless: false };
    return unbilledPeriods(subscription, zones, recorded, now, config.billing_grace);
  };
}

/** The closed periods that hold events which none of their records has counted. */
async function latePeriods(
  { ctx, options }: BillingJob,
  batch: readonly BillableSubscription[],
  zones: ZoneTimeline,
  open_since: Temporal.Instant,
): Promise<DuePeriod[]> {
  const { store, usage, config, now } = ctx;
  const { scope } = options;
  const ids = batch.map(({ id }) => id);
  const periods = await queries.listCountedPeriods({ q: store.read, scope, now }, ids, { open_since });
  const known = periods.map((period) => ({
    subscription_id: period.subscription_id,
    start_ms: instant(period.billingStartAt).epochMilliseconds,
    end_ms: instant(period.billingEndAt).epochMilliseconds,
    created_until_ms: instant(period.usage_until).epochMilliseconds,
    // Those that don't know their last number go by the instant alone.
    last_seq: period.usage_seq ?? Number.MAX_SAFE_INTEGER,
  }));
  const newer = await usage.haveLateEvents(scope.company_id, known, config.usage_query_timeout_ms);
  const subscriptions = new Map(batch.map((subscription) => [subscription.id, subscription]));
  return periods.flatMap(({ subscription_id, billingStartAt, billingEndAt, last_written }, i) => {
    const subscription = subscriptions.get(subscription_id);
    if (!subscription || !newer[i]) return [];
    const bounds = { from: instant(billingStartAt), to: instant(billingEndAt) };
    const period = recordedPeriod(bounds, subscription.billing_anchor_day, zones);
    const is_quiet = hasNoUsage(subscription, zones, instant(last_written), now, config.billing_grace);
    return [{ subscription, period, is_quiet }];
  });
}

/** Tells a store that is down from a subscription that it can't store. */
class CircuitBreaker {
  #failures_in_a_row = 0;

  worked(): void {
    this.#failures_in_a_row = 0;
  }

  /** Errors: unavailable after too many failures in a row. */
  failed(cause: unknown): void {
    this.#failures_in_a_row += 1;
    if (this.#failures_in_a_row < LIMITS.billing_store_failures) return;
    throw new AppError(
      "unavailable",
      `Cannot go on billing: the stores failed ${LIMITS.billing_store_failures} times in a row`,
      { cause },
    );
  }
}

/**
 * Counts the items' usage at once, then writes their records in small transactions. Where the usage store can't
 * count so much, it is asked for less. Returns false when the process is about to end.
 */
async function billBatch(
  run: BillingJob,
  guard: CircuitBreaker,
  items: readonly DuePeriod[],
): Promise<boolean> {
  const { ctx, options, progress } = run;
  const counting = await meterPeriods(ctx, options.scope, items).catch((error: unknown) => ({ error }));
  if ("error" in counting) return billHalves(run, guard, items, counting.error);
  for (const outcome of counting.failed) progress.recordError(outcome);
  for (const batch of chunks(counting.metered, LIMITS.billing_batch_records)) {
    if (ctx.background.is_stopping) return false;
    await writeBatch(run, guard, batch);
    await saveProgress(run);
  }
  return true;
}

/** Bills in two halves what could not be counted at once, down to the one that can't be counted at all. */
async function billHalves(
  run: BillingJob,
  guard: CircuitBreaker,
  items: readonly DuePeriod[],
  error: unknown,
): Promise<boolean> {
  const { ctx, options } = run;
  const [only] = items;
  if (only && items.length === 1) {
    recordFailure(run, guard, only, error);
    return true;
  }
  ctx.log.warn({ err: error, request_id: ctx.request_id, ...options }, "counting usage in smaller parts");
  for (const half of chunks(items, Math.ceil(items.length / 2))) {
    if (ctx.background.is_stopping) return false;
    const remaining = half.filter(({ subscription }) => !run.progress.hasFailed(subscription.id));
    if (remaining.length > 0 && !(await billBatch(run, guard, remaining))) return false;
    await saveProgress(run);
  }
  return true;
}

/** Reconciles the items at once or, where a store refuses that, one by one: the good ones are billed. */
async function writeBatch(
  run: BillingJob,
  guard: CircuitBreaker,
  metered: readonly MeteredPeriod[],
): Promise<void> {
  const { ctx, options, progress } = run;
  try {
    for (const outcome of await reconcile(ctx, options, metered)) progress.recordError(outcome);
    return guard.worked();
  } catch (error) {
    ctx.log.warn({ err: error, request_id: ctx.request_id, ...options }, "billing one by one");
  }
  for (const one of metered) {
    if (ctx.background.is_stopping) return;
    if (progress.hasFailed(one.item.subscription.id)) continue;
    try {
      for (const outcome of await reconcile(ctx, options, [one])) progress.recordError(outcome);
      guard.worked();
    } catch (error) {
      recordFailure(run, guard, one.item, error);
    }
  }
}

/** Errors: unavailable when the stores are down. */
function recordFailure(
  { ctx, progress }: BillingJob,
  guard: CircuitBreaker,
  item: DuePeriod,
  error: unknown,
): void {
  const { id: subscription_id } = item.subscription;
  const message = error instanceof AppError ? error.message : "Internal error";
  progress.fail(subscription_id, iso(item.period.from), message);
  ctx.log.error({ err: error, request_id: ctx.request_id, subscription_id }, "cannot bill a subscription");
  // Refused by a rule, not by a store that is down.
  if (!(error instanceof AppError && error.kind === "conflict")) guard.failed(error);
}
