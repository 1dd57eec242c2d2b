import { AGGREGATIONS, type MeterTerms } from "../../../src/usage_store/meter.ts";
import type { Watch } from "../../../src/usage_store/running_totals.ts";
import { modelEvent } from "../arbitrary_events.ts";
import type { ModelEvent } from "../reference_model.ts";
import { allTimeFrom, everyMs } from "../watches.ts";

// What a process that is killed watches and stores, so that the next one can watch the same.

export const START_MS = 1_760_000_000_000;
const DAY_MS = 86_400_000;
const SUBSCRIPTIONS = 3;

/** Every aggregation that has running totals, by day and for life, some by group. */
export function killedWatches(): Watch[] {
  const aggregations = AGGREGATIONS.filter((name) => name !== "average" && name !== "percentile");
  return aggregations.flatMap((aggregation, i) => {
    const key = aggregation === "unique" ? "metadata:user" : "metadata:tokens";
    const meter: MeterTerms = {
      aggregation,
      value: aggregation === "count" ? [] : [{ key, times: aggregation === "unique" ? "1" : "-0.25" }],
      filters: i % 2 === 0 ? [] : [{ key: "kind", op: "in", values: ["chat"] }],
      percentile: null,
      carry_over: aggregation === "latest",
    };
    const day_ms = START_MS - (START_MS % DAY_MS);
    const watch = { company_id: 1, subscription_id: 1 + (i % SUBSCRIPTIONS), meter, since_ms: day_ms };
    return [
      { ...watch, per: null, from_ms: day_ms + DAY_MS, calendar: everyMs(DAY_MS) },
      { ...watch, per: "kind", from_ms: day_ms, calendar: allTimeFrom(day_ms) },
    ];
  });
}

/** Events of some days. */
export function killedEvents(count: number): ModelEvent[] {
  return Array.from({ length: count }, (_, i) => {
    const at = Math.floor(Math.random() * 4 * DAY_MS);
    const object = { kind: at % 3 === 0 ? "chat" : "embed", tokens: at % 1_000, user: `user ${at % 77}` };
    return modelEvent({ timestamp: START_MS + at, subscription_id: 1 + ((at + i) % 4), object });
  });
}
