import { readTx } from "../../app/transaction.ts";
import { aroundMonth, type Bounds, type ZoneTimeline } from "../../core/periods.ts";
import { instant } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { readsBefore } from "../../usage_store/meter.ts";
import { findMeters } from "../meters/queries.ts";
import {
  listBegunPeriods,
  listClosedBounds,
  listClosedPeriods,
  listCountedPeriods,
  listRecordedBounds,
} from "../records/queries.ts";
import {
  type DuePeriods,
  hasNoUsage,
  isGapless,
  namedPeriod,
  unbilledPeriods,
} from "../subscriptions/due_periods.ts";
import {
  type BillableSubscription,
  type DuePeriod,
  duePeriod,
  mayBillInAdvance,
  metersOf,
  recordedDue,
} from "./billable.ts";
import type { BillingJob } from "./billing_job.ts";

/** What is looked for, and where it is told what is not due and what can't be read. */
interface DueSearch extends Pick<BillingJob, "ctx" | "period" | "closed_since"> {
  readonly progress: Pick<BillingJob["progress"], "count" | "fail">;
}

/** The periods to bill of a batch of subscriptions: the pipeline's first stage. */
export async function findDuePeriods(
  run: DueSearch,
  batch: readonly BillableSubscription[],
  zones: ZoneTimeline,
): Promise<DuePeriod[]> {
  const { progress, closed_since } = run;
  if (closed_since) return latePeriods(run, batch, zones, closed_since);
  const find = await duePeriods(run, batch, zones);
  return batch.flatMap((subscription) => {
    try {
      const { due, not_due, running } = find(subscription);
      progress.count("not_due", not_due);
      const begins = running === null ? [] : [duePeriod(subscription, running, zones, "advance")];
      return [
        ...due.map((period) => duePeriod(subscription, period, zones)),
        ...begins.filter(mayBillInAdvance),
      ];
    } catch (error) {
      progress.fail(subscription.id, null, error instanceof Error ? error.message : String(error));
      return [];
    }
  });
}

/** Finds due periods by the month that is named, or by what is on record. */
async function duePeriods(
  { ctx, period }: DueSearch,
  batch: readonly BillableSubscription[],
  zones: ZoneTimeline,
): Promise<(subscription: BillableSubscription) => DuePeriods> {
  const { now, config } = ctx;
  const tx = readTx(ctx);
  const ids = batch.map(({ id }) => id);
  if (period !== undefined) {
    const recorded = await listRecordedBounds(tx, ids, aroundMonth(period));
    return (subscription) => namedPeriod(subscription, zones, period, now, recorded.get(subscription.id));
  }
  const closed = await listClosedPeriods(tx, ids);
  const gapless = batch.filter((subscription) => {
    const own = closed.get(subscription.id);
    return own === undefined || isGapless(subscription, own, zones);
  });
  const is_gapless = new Set(gapless.map(({ id }) => id));
  const gappy = ids.filter((id) => !is_gapless.has(id));
  const all = gappy.length === 0 ? new Map<number, Bounds[]>() : await listClosedBounds(tx, gappy);
  const begun_periods = await listBegunPeriods(tx, ids);
  return (subscription) => {
    const own = closed.get(subscription.id);
    const of_subscription = begun_periods.get(subscription.id) ?? [];
    const begun = of_subscription.map(({ bounds }) => bounds);
    const recorded = is_gapless.has(subscription.id)
      ? { bounds: own ? [own.last] : [], is_gapless: true, begun }
      : { bounds: all.get(subscription.id) ?? [], is_gapless: false, begun };
    const found = unbilledPeriods(subscription, zones, recorded, now, config.billing_grace);
    // What is billed in advance follows every change at once: it need not be looked at again.
    const is_billed = of_subscription.some(
      ({ bounds, has_advance }) => has_advance && found.running?.from.equals(bounds.from),
    );
    return is_billed ? { ...found, running: null } : found;
  };
}

/** The closed periods with events that none of their records has counted. */
async function latePeriods(
  { ctx }: DueSearch,
  batch: readonly BillableSubscription[],
  zones: ZoneTimeline,
  open_since: Temporal.Instant,
): Promise<DuePeriod[]> {
  const { usage, config, now } = ctx;
  const tx = readTx(ctx);
  const ids = batch.map(({ id }) => id);
  // Usage that a closed period counted can't be counted again, and none comes for it.
  const since = usage.sinceOf(tx.scope.company_id);
  const periods = (await listCountedPeriods(tx, ids, { open_since })).filter(
    ({ billingStartAt }) => instant(billingStartAt).epochMilliseconds >= since,
  );
  const level_starts = await levelStarts(tx, batch);
  const counted = periods.map((period) => ({
    subscription_id: period.subscription_id,
    // A level goes on: what came late before the period changes it, too.
    start_ms: level_starts.get(period.subscription_id) ?? instant(period.billingStartAt).epochMilliseconds,
    end_ms: instant(period.billingEndAt).epochMilliseconds,
    created_until_ms: instant(period.usage_until).epochMilliseconds,
    // Old records, without a last number, go by the instant alone.
    last_seq: period.usage_seq ?? Number.MAX_SAFE_INTEGER,
  }));
  const has_late = await usage.haveLateEvents(tx.scope.company_id, counted, config.usage_query_timeout_ms);
  const subscriptions = new Map(batch.map((subscription) => [subscription.id, subscription]));
  return periods.flatMap(({ subscription_id, billingStartAt, billingEndAt, last_written }, i) => {
    const subscription = subscriptions.get(subscription_id);
    if (!subscription || !has_late[i]) return [];
    const is_quiet = hasNoUsage(subscription, zones, instant(last_written), now, config.billing_grace);
    return [{ ...recordedDue(subscription, { billingStartAt, billingEndAt }, zones), is_quiet }];
  });
}

/** Where levels begin, Unix ms, of the subscriptions that have charges by one. */
async function levelStarts(tx: ReadTx, batch: readonly BillableSubscription[]): Promise<Map<number, number>> {
  const meters = await findMeters(tx, [...new Set(batch.flatMap(metersOf))]);
  const isLevel = (id: number) => {
    const meter = meters.get(id);
    return meter !== undefined && readsBefore(meter);
  };
  return new Map(
    batch
      .filter((subscription) => metersOf(subscription).some(isLevel))
      .map(({ id, started_at }) => [id, instant(started_at).epochMilliseconds]),
  );
}
