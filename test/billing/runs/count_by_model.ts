import { type Facts, type Month, monthsOf, type Slice } from "../../sim/bill_model.ts";
import { measured } from "../../usage_store/meter_model.ts";
import type { ModelEvent } from "../../usage_store/reference_model.ts";
import { type Count, dec } from "../rating/charge_model.ts";
import type { SoldPlan } from "../rating/sold_plans.ts";

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
    const corrections = meter === null ? events.filter(isCorrectionIn(from_ms, to_ms)).length : 0;
    return parts.map(({ part, quantity, event_count, skipped_events, digest }) => ({
      part: Number(part),
      quantity: dec(quantity),
      events: event_count,
      corrections,
      skipped: skipped_events,
      digest: BigInt(`0x${digest}`),
    }));
  };
}

const isCorrectionIn =
  (from_ms: number, to_ms: number) =>
  ({ timestamp, millionths }: ModelEvent) =>
    millionths < 0n && timestamp >= from_ms && timestamp < to_ms;

/** The month of a subscription that begins at an instant. Errors: throws where there is none. */
export function monthFrom(facts: Facts<SoldPlan>, from_ms: number, of: string): Month {
  const month = monthsOf({ ...facts, ends_ms: null }, from_ms + 1).find((one) => one.from_ms === from_ms);
  if (!month) throw new Error(`${of}: there is no such month`);
  return month;
}
