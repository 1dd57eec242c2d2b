import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import { chunks } from "../../core/chunk.ts";
import { instant } from "../../core/time.ts";
import { priceTermsOf } from "../billing_models/price_terms.ts";
import type { WindowTotal } from "../../usage_store/port.ts";
import { type DuePeriod, type Outcome, attemptEach } from "./outcomes.ts";
import { type Segment, segments, type TimelineEntry } from "../rating/segments.ts";
import type { BillableSubscription } from "./billable.ts";

/** A period's segments with what was used in each, up to the event of a number. */
export interface MeteredPeriod {
  readonly item: DuePeriod;
  readonly parts: readonly Segment[];
  readonly totals: readonly WindowTotal[];
  readonly usage_seq: number;
}

/** Periods that are cut before requests get their turn. */
const SEGMENT_BATCH = 50;

/**
 * Counts what was used in the periods by one question to the usage store, which reads each event once, however
 * many periods there are. Errors: those of the usage store.
 */
export async function meterPeriods(
  { usage, config, now }: Pick<Context, "usage" | "config" | "now">,
  { company_id }: Scope,
  items: readonly DuePeriod[],
): Promise<{ metered: MeteredPeriod[]; failed: Outcome[] }> {
  if (items.length === 0) return { metered: [], failed: [] };
  const segmented: { item: DuePeriod; parts: Segment[] }[] = [];
  const failed: Outcome[] = [];
  for (const batch of chunks(items, SEGMENT_BATCH)) {
    const result = attemptEach(batch, (item) => ({ item, parts: segmentsOf(item) }));
    segmented.push(...result.done);
    failed.push(...result.failed);
    if (items.length > SEGMENT_BATCH) await Bun.sleep(0);
  }
  const windows = segmented.flatMap(({ item, parts }) =>
    parts.map(({ from, to }) => ({
      subscription_id: item.subscription.id,
      start_ms: from.epochMilliseconds,
      end_ms: to.epochMilliseconds,
    })),
  );
  const timeout_ms = config.usage_query_timeout_ms;
  const last_seq = await usage.lastSeq(company_id, timeout_ms);
  const created_until_ms = usageUntil(now).epochMilliseconds;
  const totals = await usage.totals(company_id, windows, { created_until_ms, last_seq, timeout_ms });
  let next = 0;
  const metered = segmented.map(({ item, parts }) => {
    const period_totals = totals.slice(next, next + parts.length);
    next += parts.length;
    return { item, parts, totals: period_totals, usage_seq: last_seq };
  });
  return { metered, failed };
}

/** Events stored before this instant count: up to and with `now`, in whole milliseconds. */
export function usageUntil(now: Temporal.Instant): Temporal.Instant {
  return now.add({ milliseconds: 1 });
}

/** The models of a subscription and from when each is in force: the one place that says so to bills. */
export function timelineOf({ timeline }: Pick<BillableSubscription, "timeline">): TimelineEntry[] {
  return timeline.map(({ billing_model, from }) => ({
    model: priceTermsOf(billing_model),
    from: instant(from),
  }));
}

/** The stretches of a period under one model each. */
export function segmentsOf({ subscription, period }: DuePeriod): Segment[] {
  const { started_at, ends_at } = subscription;
  return segments(period, timelineOf(subscription), {
    started_at: instant(started_at),
    ends_at: ends_at === null ? null : instant(ends_at),
  });
}
