import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { AppError } from "../../core/errors.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { type IsoInstant, instant, iso, later } from "../../core/time.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { closedPeriods } from "../subscriptions/due_periods.ts";
import { findLastCount, listClosedBounds } from "../records/queries.ts";
import { adjustAdvances } from "../runs/advances.ts";
import { diff, type RatedPeriod, rateDue } from "../runs/pipeline.ts";
import { write } from "../runs/write_records.ts";
import { type BillableSubscription, duePeriod } from "../runs/billable.ts";
import { listBillable } from "../runs/billable_queries.ts";

// Adjustments of closed periods by other plans or add-ons: rated before the transaction, written in it.

/** Thrown inside a transaction to roll it back: its data has changed since it was read (optimistic concurrency). */
export class StaleRead extends Error {}

const MAX_ATTEMPTS = 8;

/** Retries `work` while it throws StaleRead. Errors: unavailable after too many attempts, and those of `work`. */
export async function retryWhileStale<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StaleRead)) throw error;
    }
  }
  throw new AppError("unavailable", "Too many changes at once: try again", { retry_after_s: 1 });
}

/** Closed periods rated as those of a changed subscription. */
export interface PlannedAdjustments {
  /** Starts of the closed periods that it reaches into. */
  readonly starts: readonly IsoInstant[];
  readonly rated_periods: readonly RatedPeriod[];
  /** Events stored by then are counted: not fewer than the records know of. */
  readonly counted_at: Temporal.Instant;
}

export const noAdjustments = (now: Temporal.Instant): PlannedAdjustments => ({
  starts: [],
  rated_periods: [],
  counted_at: now,
});

/** A subscription's life, and the zones that cut its periods. */
interface Owner {
  readonly subscription: Pick<BillableSubscription, "id" | "started_at" | "ends_at" | "billing_anchor_day">;
  readonly zones: ZoneTimeline;
}

async function findClosed(tx: ReadTx, { subscription, zones }: Owner, since: IsoInstant) {
  const recorded = await listClosedBounds(tx, [subscription.id]);
  return closedPeriods(subscription, zones, recorded.get(subscription.id), instant(since));
}

/** Rates the closed periods that end after `since` as those of a changed subscription. Errors: StaleRead. */
export async function rateClosed(
  ctx: Context,
  owner: Owner,
  since: IsoInstant,
  changed: (subscription: BillableSubscription) => BillableSubscription,
): Promise<PlannedAdjustments> {
  const tx = readTx(ctx);
  const { id } = owner.subscription;
  const periods = await findClosed(tx, owner, since);
  const [first] = periods;
  if (!first) return noAdjustments(tx.now);
  const [billable] = await listBillable(tx, { ids: [id], limit: 1 });
  const after = billable && changed(billable);
  const in_force = after?.timeline.at(-1);
  if (!after || !in_force) throw new StaleRead();
  const last_count = await findLastCount(tx, id, iso(first.from));
  const counted_at =
    last_count === null ? tx.now : later(tx.now, instant(last_count).subtract({ milliseconds: 1 }));
  const subscription = { ...after, billing_model: in_force.billing_model };
  const items = periods.map((period) => duePeriod(subscription, period, owner.zones));
  const { done, failed } = await rateDue({ ...ctx, now: counted_at }, items);
  if (failed[0]) throw new AppError("conflict", failed[0].message);
  return { starts: periods.map(({ from }) => iso(from)), rated_periods: done, counted_at };
}

/**
 * Writes planned adjustments after the timeline has changed, and those of what was billed in advance; returns their
 * ids. Errors: StaleRead.
 */
export async function recordAdjustments(
  tx: Tx,
  owner: Owner,
  since: IsoInstant,
  { starts, rated_periods, counted_at }: PlannedAdjustments,
): Promise<number[]> {
  const closed = await findClosed(tx, owner, since);
  const [first] = starts;
  if (closed.map(({ from }) => iso(from)).join() !== starts.join()) throw new StaleRead();
  if (first === undefined) return adjustAdvances(tx, owner.subscription.id, since);
  const last_count = await findLastCount(tx, owner.subscription.id, first);
  if (last_count !== null && last_count > iso(counted_at.add({ milliseconds: 1 }))) throw new StaleRead();
  const compared = await diff(tx, { billing_run_id: null, dry_run: false }, rated_periods);
  const outcomes = await write(tx, compared);
  if (outcomes.some(({ result }) => result !== "written" && result !== "unchanged")) throw new StaleRead();
  const ids = outcomes.flatMap((outcome) => (outcome.result === "written" ? (outcome.record.id ?? []) : []));
  const in_advance = await adjustAdvances(tx, owner.subscription.id, since);
  return [...ids, ...in_advance].toSorted((a, b) => a - b);
}
