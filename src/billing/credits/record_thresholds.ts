import type { Context } from "../../app/context.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { isSameStart, type ZoneTimeline } from "../../core/periods.ts";
import { type IsoInstant, instant, iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { listRecordedBounds } from "../records/queries.ts";
import { listBillable } from "../runs/billable_queries.ts";
import type { SubscriptionPeriod } from "../runs/billable.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { creditMonths, monthOf } from "./credit_months.ts";
import { THRESHOLDS } from "./model.ts";
import * as queries from "./queries.ts";
import { reached, thresholdCredits, watchedInstants } from "./rules.ts";

const LONGEST_MONTH_DAYS = 31;

/** A credit month, with the start that its thresholds are recorded by. */
interface WatchedMonth extends SubscriptionPeriod {
  /** The start that was recorded first, whatever the time zone's rules have become since. */
  readonly month_start: IsoInstant;
}

/** Records thresholds that subscriptions have reached, with their events; returns how many are new. */
export async function recordThresholds(
  ctx: Context,
  zones: ZoneTimeline,
  subscription_ids: readonly number[],
): Promise<number> {
  const months = await listWatchedMonths(readTx(ctx), zones, subscription_ids);
  const credits = await creditMonths(ctx, months);
  const credits_by_month = new Map(months.map((month, i) => [keyOf(month), credits[i]]));
  const rows = months.flatMap(({ subscription, month_start }, i) => {
    const month = credits[i];
    const thresholds = month ? reached(month) : [];
    return thresholds.map((threshold) => ({ subscription_id: subscription.id, month_start, threshold }));
  });
  if (rows.length === 0) return 0;
  return transaction(ctx, async (tx) => {
    const inserted = await queries.insertThresholds(tx, rows);
    const events = inserted.map(({ subscription_id, month_start, threshold }) => {
      const month = credits_by_month.get(`${subscription_id} ${month_start}`);
      const allocated = thresholdCredits(month?.allocated ?? 0n);
      const consumed = thresholdCredits(month?.consumed ?? 0n);
      const data = { subscription_id, month_start, threshold, allocated, consumed };
      return { type: "credits.threshold_reached" as const, data };
    });
    await recordEvents(tx, events);
    return inserted.length;
  });
}

/** The running month and, shortly after its start, the one before; without months whose thresholds are all recorded. */
async function listWatchedMonths(
  tx: ReadTx,
  zones: ZoneTimeline,
  ids: readonly number[],
): Promise<WatchedMonth[]> {
  const [latest, earliest] = watchedInstants(tx.now);
  const subscriptions = await listBillable(tx, { ids, limit: ids.length });
  // Months continue from the bounds on record around them.
  const around = { from: earliest.subtract({ hours: 24 * LONGEST_MONTH_DAYS }), to: latest };
  const bounds = await listRecordedBounds(tx, ids, around);
  const since = iso(earliest.subtract({ hours: 24 * 2 * LONGEST_MONTH_DAYS }));
  const recorded = Map.groupBy(
    await queries.listRecordedThresholds(tx, ids, since),
    ({ subscription_id }) => subscription_id,
  );
  const months = subscriptions.flatMap((subscription) =>
    [latest, earliest].flatMap((at): WatchedMonth[] => {
      const month = monthOf(subscription, at, zones, bounds.get(subscription.id));
      const { from } = month.period;
      const of_month = (recorded.get(subscription.id) ?? []).filter((row) =>
        isSameStart(instant(row.month_start), from),
      );
      const is_complete = new Set(of_month.map(({ threshold }) => threshold)).size === THRESHOLDS.length;
      return is_complete ? [] : [{ ...month, month_start: of_month[0]?.month_start ?? iso(from) }];
    }),
  );
  return [...new Map(months.map((month) => [keyOf(month), month])).values()];
}

function keyOf({ subscription, month_start }: WatchedMonth): string {
  return `${subscription.id} ${month_start}`;
}
