import { type Facts, type Month, monthsOf, type Slice, slicesOf } from "../../sim/bill_model.ts";
import { measured } from "../../usage_store/meter_model.ts";
import type { ModelEvent } from "../../usage_store/reference_model.ts";
import { type Count, dec } from "../rating/charge_model.ts";
import { chargesOf, type SoldMeter, type SoldPlan } from "../rating/sold_plans.ts";

const ALL_USAGE = {
  aggregation: "sum",
  value: [{ key: "usage", times: "1" }],
  filters: [],
  percentile: null,
  carry_over: false,
} as const;

/** Counts by the model of meters. */
export function countOf(facts: Facts<SoldPlan>, month: Month, events: readonly ModelEvent[]): Count {
  return (meter, matches, { from_ms, to_ms }: Slice<SoldPlan>) => {
    const bounds = { start_ms: from_ms, end_ms: to_ms, since_ms: facts.started_ms };
    const window = {
      ...bounds,
      subscription_id: events[0]?.subscription_id ?? 0,
      use: 0,
      whole_ms: month.to_ms - month.from_ms,
    };
    const uses = [{ meter: meter ?? ALL_USAGE, parts: { matches } }];
    const [parts = []] = measured(events, { company_id: 0, uses, windows: [window], max_parts: 0 });
    return parts.map(({ part, quantity, event_count, skipped_events, corrections, digest }) => ({
      part: Number(part),
      quantity: dec(quantity),
      events: event_count,
      corrections,
      skipped: skipped_events,
      digest: BigInt(`0x${digest}`),
    }));
  };
}

/** Events that nothing counts. */
export interface Outside {
  readonly events: number;
  readonly millionths: bigint;
}

/**
 * The events of a month that no charge and no own type counts, one by one; only plans with charges look for them, and
 * only where something of them is by usage.
 */
export function outsideOf(facts: Facts<SoldPlan>, month: Month, events: readonly ModelEvent[]): Outside {
  const outside = slicesOf(facts, month).flatMap(({ plan, from_ms, to_ms }) => {
    const own = ownMeters(plan);
    if (chargesOf(plan).length === 0 || own === "all") return [];
    const meters = [...own, ...plan.charges.flatMap(({ meter }) => meter ?? [])];
    if (meters.length === 0) return [];
    return events.filter(
      (event) =>
        event.timestamp >= from_ms &&
        event.timestamp < to_ms &&
        !meters.some((meter) => isCounted(event, meter)),
    );
  });
  const millionths = outside.reduce((sum, event) => sum + event.millionths, 0n);
  return { events: outside.length, millionths };
}

/** What the own type takes money or credits for. */
function ownMeters({ type, meter, rates }: SoldPlan): readonly SoldMeter[] | "all" {
  if (type === "flat") return [];
  if (rates.length > 0) return rates.map((rate) => rate.meter);
  return meter === null ? "all" : [meter];
}

function isCounted(event: ModelEvent, meter: SoldMeter): boolean {
  const { subscription_id, timestamp: at } = event;
  const window = { subscription_id, start_ms: at, since_ms: at, end_ms: at + 1, whole_ms: 1, use: 0 };
  const uses = [{ meter, parts: { matches: [] } }];
  const [parts = []] = measured([event], { company_id: 0, uses, windows: [window], max_parts: 0 });
  return parts.some(({ event_count }) => event_count > 0);
}

/** The month of a subscription that begins at an instant. Errors: throws where there is none. */
export function monthFrom(facts: Facts<SoldPlan>, from_ms: number, of: string): Month {
  const month = monthsOf({ ...facts, ends_ms: null }, from_ms + 1).find((one) => one.from_ms === from_ms);
  if (!month) throw new Error(`${of}: there is no such month`);
  return month;
}
