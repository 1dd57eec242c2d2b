import * as fc from "fast-check";
import type { Calendar, GroupTotal, TotalWindow, Watch } from "../../src/usage_store/running_totals.ts";
import { anyInstant, anyKey } from "./arbitrary_events.ts";
import { anyMeter } from "./arbitrary_meters.ts";
import { measured } from "./meter_model.ts";
import type { ModelEvent } from "./reference_model.ts";

/** A calendar of windows of one length. */
export function everyMs(length_ms: number): Calendar {
  const at = (ms: number): TotalWindow => {
    const start_ms = ms - (ms % length_ms);
    return { start_ms, end_ms: start_ms + length_ms, whole_ms: length_ms };
  };
  return { name: `every ${length_ms}`, at };
}

/** A calendar of one window: all time from an instant on. */
export function allTimeFrom(start_ms: number): Calendar {
  const window = { start_ms, end_ms: 253_402_300_800_000, whole_ms: 86_400_000 };
  return { name: `from ${start_ms}`, at: () => window };
}

const anyTotaledMeter = anyMeter.filter(
  ({ aggregation }) => aggregation !== "average" && aggregation !== "percentile",
);

/** A watch of one of four subscriptions of a company. */
export const anyWatch = (company_id: number): fc.Arbitrary<Watch> =>
  fc
    .record({
      subscription_id: fc.integer({ min: 1, max: 4 }),
      meter: anyTotaledMeter,
      per: fc.option(anyKey, { nil: null }),
      instants: fc.tuple(anyInstant, anyInstant),
      length_ms: fc.constantFrom(0, 7, 3_600_000, 86_400_000, 2_500_000_000),
    })
    .map(({ instants, length_ms, ...watch }) => {
      const [first = 0, second = 0] = instants.toSorted((a, b) => a - b);
      // Windows begin where levels do, or later.
      const since_ms = length_ms === 0 ? first : first - (first % length_ms);
      const calendar = length_ms === 0 ? allTimeFrom(since_ms) : everyMs(length_ms);
      return { ...watch, company_id, since_ms, from_ms: Math.max(since_ms, second), calendar };
    });

/** What the model measures of the window that holds an instant, by group; what is 0 is left out. */
export function expectedTotals(
  events: readonly ModelEvent[],
  watch: Watch,
  ms: number,
): [string | null, string][] {
  const { company_id, subscription_id, meter, per, since_ms, calendar } = watch;
  const window = { ...calendar.at(ms), subscription_id, since_ms, use: 0 };
  const uses = [{ meter, parts: { keys: per === null ? [] : [per] } }];
  const [parts = []] = measured(events, { company_id, uses, windows: [window], max_parts: 1_000 });
  return inOrder(
    parts.map(({ part, quantity }) => ({
      group: typeof part === "object" ? (part[0] ?? null) : null,
      quantity,
    })),
  );
}

/** Totals of groups as they are compared. */
export function inOrder(totals: Iterable<Pick<GroupTotal, "group" | "quantity">>): [string | null, string][] {
  return [...totals]
    .filter(({ quantity }) => quantity !== "0")
    .map(({ group, quantity }): [string | null, string] => [group, quantity])
    .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
