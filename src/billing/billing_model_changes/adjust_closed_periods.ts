import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { type IsoInstant, instant, iso, later } from "../../core/time.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { closedPeriods } from "../subscriptions/due_periods.ts";
import { findLastCount, listRecordedBounds } from "../records/queries.ts";
import { type RatedPeriod, rateProspectively, recordRated } from "../runs/reconcile.ts";
import { type BillableSubscription, listBillable } from "../runs/billable.ts";

// What closed periods come to by another timeline of models: rated before the transaction, written in it.

export type AdjustmentDeps = Pick<Context, "store" | "usage" | "config" | "now">;

/** Thrown inside a transaction to undo it: what was decided or rated before is so no more. */
export class StaleRead extends Error {}

/** How often facts that change while they are worked on are read again. */
const MAX_ATTEMPTS = 8;

/**
 * Tries until the facts hold still: `work` throws FactsChanged when they did not. Errors: unavailable, and
 * those of `work`.
 */
export async function retryWhileStale<T>(work: () => Promise<T>): Promise<T> {
  for (let round = 1; round <= MAX_ATTEMPTS; round++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StaleRead)) throw error;
    }
  }
  throw new AppError("unavailable", "Too many changes at once: try again", { retry_after_s: 1 });
}

/** What another timeline comes to in closed periods. */
export interface PlannedAdjustments {
  /** Where the closed periods start that it reaches into. */
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

/** Whose timeline it is, and the zones that cut its periods. */
interface Owner {
  readonly subscription: Pick<BillableSubscription, "id" | "started_at" | "ends_at" | "billing_anchor_day">;
  readonly zones: ZoneTimeline;
}

async function findClosed(tx: ReadTx, { subscription, zones }: Owner, since: IsoInstant) {
  const recorded = await listRecordedBounds(tx, [subscription.id]);
  return closedPeriods(subscription, zones, recorded.get(subscription.id), instant(since));
}

/** Rates the closed periods that end after `since` as if the subscription's timeline were another. */
export async function rateClosed(
  tools: AdjustmentDeps,
  scope: Scope,
  owner: Owner,
  since: IsoInstant,
  timelineOf: (facts: BillableSubscription) => BillableSubscription["timeline"],
): Promise<PlannedAdjustments> {
  const { read } = tools.store;
  const { id } = owner.subscription;
  const periods = await findClosed({ q: read, scope, now: tools.now }, owner, since);
  const [first] = periods;
  if (!first) return noAdjustments(tools.now);
  const [facts] = await listBillable({ q: read, scope, now: tools.now }, { ids: [id], limit: 1 });
  const timeline = facts && timelineOf(facts);
  const in_force = timeline?.at(-1);
  if (!facts || !timeline || !in_force) throw new StaleRead();
  const last_count = await findLastCount({ q: read, scope, now: tools.now }, id, iso(first.from));
  const counted_at =
    last_count === null ? tools.now : later(tools.now, instant(last_count).subtract({ milliseconds: 1 }));
  const subscription = { ...facts, billing_model: in_force.billing_model, timeline };
  const items = periods.map((period) => ({ subscription, period }));
  const rated_periods = await rateProspectively(tools, scope, items, counted_at);
  return { starts: periods.map(({ from }) => iso(from)), rated_periods, counted_at };
}

/**
 * Writes the adjustments of a timeline that has just become another; returns their ids. Errors: FactsChanged.
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
  if (first === undefined) return [];
  const last_count = await findLastCount(tx, owner.subscription.id, first);
  if (last_count !== null && last_count > iso(counted_at.add({ milliseconds: 1 }))) throw new StaleRead();
  const options = { scope: tx.scope, billing_run_id: null, dry_run: false };
  const records = await recordRated(tx.q, tx.now, options, rated_periods, counted_at);
  if (records === null) throw new StaleRead();
  return records.flatMap(({ id }) => id ?? []).toSorted((a, b) => a - b);
}
