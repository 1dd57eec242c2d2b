import { createHash } from "node:crypto";
import BigJs from "big.js";
import type {
  Measured,
  MeasureQuery,
  MeterFilter,
  MeterTerms,
  MeterUse,
} from "../../src/usage_store/meter.ts";
import { holds, look, type ModelEvent } from "./reference_model.ts";

/** What `measure` answers, by going through all events one by one; parts in the order of their text. */
export function measured(events: readonly ModelEvent[], { uses, windows }: MeasureQuery): Measured[][] {
  return windows.map((window) => {
    const use = uses[window.use];
    if (use === undefined) throw new Error("a window without a use");
    const { meter } = use;
    const looks_back =
      meter.aggregation === "weighted_sum" || (meter.aggregation === "latest" && meter.carry_over);
    const inside = events.filter(
      (event) =>
        event.subscription_id === window.subscription_id &&
        event.timestamp >= (looks_back ? window.since_ms : window.start_ms) &&
        event.timestamp < window.end_ms &&
        counts(event, meter.filters) &&
        !(use.except ?? []).some((other) => counts(event, other.filters) && valueOf(event, other) !== null),
    );
    const parts = Map.groupBy(inside, (event) => JSON.stringify(partOf(event, use.parts)));
    return [...parts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([part, group]) => {
        const counted = group.flatMap((event) => {
          const value = valueOf(event, meter);
          return value === null ? [] : [{ event, value }];
        });
        return {
          part: JSON.parse(part),
          quantity: counted.length === 0 ? "0" : plain(quantity(meter, counted, window)),
          event_count: counted.length,
          skipped_events: group.length - counted.length,
          corrections: counted.filter(({ event }) => event.millionths < 0n).length,
          digest: digest(counted),
        };
      });
  });
}

interface Counted {
  event: ModelEvent;
  value: string;
}

function quantity(
  { aggregation, percentile }: MeterTerms,
  counted: readonly Counted[],
  { start_ms, end_ms, whole_ms }: { start_ms: number; end_ms: number; whole_ms: number },
): BigJs {
  const total = () => counted.reduce((all, { value }) => all.plus(value), new BigJs(0));
  const ascending = () => counted.map(({ value }) => new BigJs(value)).toSorted((a, b) => a.cmp(b));
  if (aggregation === "count") return new BigJs(counted.length);
  if (aggregation === "sum") return total();
  if (aggregation === "average") return divided(total(), new BigJs(counted.length));
  if (aggregation === "min") return ascending()[0] ?? new BigJs(0);
  if (aggregation === "max") return ascending().at(-1) ?? new BigJs(0);
  if (aggregation === "unique") return new BigJs(new Set(counted.map(({ value }) => value)).size);
  if (aggregation === "percentile") {
    const rank = new BigJs(percentile ?? 0).times(counted.length).div(100).round(0, BigJs.roundUp);
    return ascending()[Number(rank) - 1] ?? new BigJs(0);
  }
  const inTime = counted.toSorted(
    (a, b) => a.event.timestamp - b.event.timestamp || (a.event.id < b.event.id ? -1 : 1),
  );
  if (aggregation === "latest") return new BigJs(inTime.at(-1)?.value ?? 0);
  // Millisecond-exact: the level between two changes, times the time between them.
  let [area, level, at] = [new BigJs(0), new BigJs(0), start_ms];
  for (const { event, value } of inTime) {
    const until = Math.max(event.timestamp, start_ms);
    area = area.plus(level.times(until - at));
    [level, at] = [level.plus(value), until];
  }
  return divided(area.plus(level.times(end_ms - at)), new BigJs(whole_ms));
}

/** To six decimals, half away from zero, by whole numbers. */
function divided(numerator: BigJs, denominator: BigJs): BigJs {
  const scaled = BigInt(numerator.times(1e12).toFixed(0));
  const by = BigInt(denominator.toFixed(0)) * 10n ** 6n;
  const size = scaled < 0n ? -scaled : scaled;
  const rounded = (2n * size + by) / (2n * by);
  return new BigJs(String(scaled < 0n ? -rounded : rounded)).times("0.000001");
}

const plain = (value: BigJs) => (value.eq(0) ? "0" : value.toFixed());

function counts(event: ModelEvent, filters: readonly MeterFilter[]): boolean {
  return filters.every((filter) => passes(event, filter));
}

function passes({ object }: ModelEvent, { key, op, values }: MeterFilter): boolean {
  const exists = textAt(object, key) !== null;
  if (op === "exists" || op === "missing") return exists === (op === "exists");
  return values.some((value) => holds(object, key, value)) === (op === "in");
}

function partOf({ object }: ModelEvent, parts: MeterUse["parts"]): Measured["part"] {
  if ("keys" in parts) return parts.keys.map((key) => textAt(object, key));
  return parts.matches.findIndex((match) =>
    Object.entries(match).every(([key, value]) => holds(object, key, value)),
  );
}

function valueOf(event: ModelEvent, { aggregation, value }: MeterTerms): string | null {
  if (aggregation === "count") return "1.000000";
  if (aggregation === "unique") return textAt(event.object, value[0]?.key.slice("metadata:".length) ?? "");
  let total = new BigJs(0);
  for (const { key, times } of value) {
    const number =
      key === "usage" ? new BigJs(event.usage) : numberAt(event.object, key.slice("metadata:".length));
    if (number === null) return null;
    total = total.plus(number.times(times));
  }
  const rounded = total.round(6, BigJs.roundHalfUp);
  return rounded.abs().lt(1e12) ? rounded.toFixed(6).replace(/^-(0\.0+)$/, "$1") : null;
}

function numberAt(object: Record<string, unknown> | null, key: string): BigJs | null {
  const found = object && look(object, key);
  const is_number = typeof found === "number" || (typeof found === "string" && /^-?\d+(\.\d+)?$/.test(found));
  if (!is_number) return null;
  const number = new BigJs(String(found)).round(12, BigJs.roundHalfUp);
  return number.abs().lt(1e12) ? number : null;
}

function textAt(object: Record<string, unknown> | null, key: string): string | null {
  const found = object && look(object, key);
  if (typeof found === "string") return found;
  if (typeof found === "boolean") return String(found);
  if (typeof found !== "number") return null;
  const number = new BigJs(String(found)).round(12, BigJs.roundHalfUp);
  return number.abs().lt(1e26) ? plain(number) : null;
}

function digest(counted: readonly Counted[]): string {
  let [first, second] = [0n, 0n];
  for (const { event, value } of counted) {
    const md5 = createHash("md5").update(`${event.id}|${event.timestamp}|${value}`).digest();
    first += md5.readBigUInt64LE(0);
    second += md5.readBigUInt64LE(8);
  }
  return [first, second].map((sum) => BigInt.asUintN(64, sum).toString(16).padStart(16, "0")).join("");
}
