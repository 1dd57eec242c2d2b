import type {
  SeriesGrouping,
  SeriesKey,
  SeriesLine,
  SeriesQuery,
  SeriesResult,
} from "../../src/usage_store/series.ts";
import { decimalText, matching, type ModelEvent, valueOf } from "./reference_model.ts";

/** What `series` answers, by going through all events one by one; how much is read is the store's own affair. */
export function series(events: readonly ModelEvent[], query: SeriesQuery): Omit<SeriesResult, "read"> {
  const { edges, group_by, only, top } = query;
  const [start_ms, end_ms] = [edges[0], edges.at(-1)];
  const found = matching(events, { ...query, start_ms, end_ms });
  const groups = new Map<string, ModelEvent[]>();
  for (const event of group_by.length === 0 ? [] : found) {
    const text = JSON.stringify(group_by.map((grouping) => keyOf(grouping, event, query)));
    groups.set(text, [...(groups.get(text) ?? []), event]);
  }
  const ranked = [...groups]
    .map(([text, group]): [SeriesKey[], ModelEvent[]] => [JSON.parse(text), group])
    .toSorted(([a, left], [b, right]) => compareRanks(query, left, right) || compareKeys(a, b));
  const shown = only ?? ranked.slice(0, top).map(([keys]) => keys);
  const others = ranked.filter(
    ([keys]) => !shown.some((one) => JSON.stringify(one) === JSON.stringify(keys)),
  );
  return {
    groups:
      group_by.length === 0
        ? []
        : shown.map((keys) => line(query, keys, groups.get(JSON.stringify(keys)) ?? [])),
    other:
      others.length === 0
        ? null
        : line(
            query,
            [],
            others.flatMap(([, group]) => group),
          ),
    total: line(query, [], found),
    group_count: groups.size,
  };
}

function keyOf(grouping: SeriesGrouping, event: ModelEvent, { max_key_length }: SeriesQuery): SeriesKey {
  if (grouping.by === "metadata") return valueOf(event.object, grouping.key, max_key_length);
  const { subscription_id } = event;
  return grouping.labels === undefined ? subscription_id : (grouping.labels.get(subscription_id) ?? null);
}

function line(query: SeriesQuery, keys: readonly SeriesKey[], events: readonly ModelEvent[]): SeriesLine {
  const buckets = new Map<number, string>();
  for (const [i, start] of query.edges.slice(0, -1).entries()) {
    const inside = events.filter(
      ({ timestamp }) => timestamp >= start && timestamp < (query.edges[i + 1] ?? 0),
    );
    const value = measureOf(query, inside);
    if (inside.length > 0 && value !== null) buckets.set(i, textOf(query, value));
  }
  const value = measureOf(query, events);
  return { keys, value: value === null ? null : textOf(query, value), events: events.length, buckets };
}

/** In millionths, but for counts; null of nothing. */
function measureOf({ measure }: SeriesQuery, events: readonly ModelEvent[]): bigint | null {
  const usages = events.map(({ millionths }) => millionths).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const total = usages.reduce((sum, usage) => sum + usage, 0n);
  const count = BigInt(usages.length);
  if (measure === "units") return total;
  if (measure === "events") return count;
  if (measure === "active_subscriptions")
    return BigInt(new Set(events.map(({ subscription_id }) => subscription_id)).size);
  if (measure === "smallest") return usages[0] ?? null;
  if (measure === "largest") return usages.at(-1) ?? null;
  if (count === 0n) return null;
  const half_up = ((total < 0n ? -total : total) * 2n + count) / (2n * count);
  return total < 0n ? -half_up : half_up;
}

function textOf({ measure }: SeriesQuery, value: bigint): string {
  return measure === "events" || measure === "active_subscriptions" ? String(value) : decimalText(value);
}

function compareRanks(query: SeriesQuery, a: readonly ModelEvent[], b: readonly ModelEvent[]): number {
  if (query.by_events === true) return b.length - a.length;
  const [x, y] = [measureOf(query, a) ?? 0n, measureOf(query, b) ?? 0n];
  return (query.measure === "smallest" ? 1 : -1) * (x < y ? -1 : x > y ? 1 : 0);
}

/** Key by key, text by its bytes; what has no key comes last. */
function compareKeys(a: readonly SeriesKey[], b: readonly SeriesKey[]): number {
  for (const [i, key] of a.entries()) {
    const other = b[i] ?? null;
    if (key === other) continue;
    if (key === null || other === null) return key === null ? 1 : -1;
    if (typeof key === "number") return key - Number(other);
    return Buffer.compare(Buffer.from(key), Buffer.from(String(other)));
  }
  return 0;
}
