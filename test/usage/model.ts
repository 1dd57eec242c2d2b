import { createHash } from "node:crypto";
import { decimal } from "../../src/core/money.ts";
import type {
  AggregateQuery,
  AggregateRow,
  EventFilter,
  GroupKind,
  NewEvent,
  SearchQuery,
  UsageWindow,
  WindowTotal,
} from "../../src/features/usage/store/usage_store.ts";

/** An event as the plain model holds it: beside what is sent, what it means. */
export interface ModelEvent extends NewEvent {
  object: Record<string, unknown> | null;
  millionths: bigint;
}

/** The shortest text of a number of millionths: -500000n → `-0.5`. */
export function decimalText(millionths: bigint): string {
  return sixDecimals(millionths).replace(/\.?0+$/, "");
}

/** The port's questions, answered by going through all events one by one. */
export function matching(events: readonly ModelEvent[], filter: EventFilter): ModelEvent[] {
  const { subscription_ids, start_ms, end_ms, metadata, metadata_search, min_usage, max_usage } = filter;
  return events.filter(
    (event) =>
      (subscription_ids === undefined || subscription_ids.includes(event.subscription_id)) &&
      (start_ms === undefined || event.timestamp >= start_ms) &&
      (end_ms === undefined || event.timestamp < end_ms) &&
      (min_usage === undefined || decimal(min_usage).times("1000000").lte(String(event.millionths))) &&
      (max_usage === undefined || decimal(max_usage).times("1000000").gte(String(event.millionths))) &&
      Object.entries(metadata ?? {}).every(([key, value]) => holds(event.object, key, value)) &&
      (metadata_search === undefined ||
        strings(event.object).some((text) => text.toLowerCase().includes(metadata_search.toLowerCase()))),
  );
}

export function page(events: readonly ModelEvent[], query: SearchQuery): ModelEvent[] {
  const sign = query.sort_order === "asc" ? 1 : -1;
  const sorted = events.toSorted((a, b) => {
    const [x, y] = query.sort_by === "usage" ? [a.millionths, b.millionths] : [a.timestamp, b.timestamp];
    return sign * (x < y ? -1 : x > y ? 1 : a.id < b.id ? -1 : 1);
  });
  return sorted.slice(query.offset, query.offset + query.limit);
}

export function groups(events: readonly ModelEvent[], query: AggregateQuery): AggregateRow[] {
  const byKey = new Map<string, { keys: (number | string)[]; order: number[]; events: ModelEvent[] }>();
  if (query.group_by.length === 0) byKey.set("[]", { keys: [], order: [], events: [] });
  for (const event of events) {
    const parts = query.group_by.map((kind) => groupOf(kind, event, query.time_zone));
    const keys = parts.map(({ key }) => key);
    const text = JSON.stringify(keys);
    const group = byKey.get(text) ?? { keys, order: parts.flatMap(({ order }) => order), events: [] };
    group.events.push(event);
    byKey.set(text, group);
  }
  const sorted = [...byKey.values()].toSorted((a, b) => {
    const at = a.order.findIndex((value, i) => value !== b.order[i]);
    return (a.order[at] ?? 0) - (b.order[at] ?? 0);
  });
  return sorted.map((group) => ({ keys: group.keys, ...sums(group.events) }));
}

export function windowTotal(
  events: readonly (ModelEvent & { created_at: number })[],
  { subscription_id, start_ms, end_ms }: UsageWindow,
  created_until_ms = Number.POSITIVE_INFINITY,
): WindowTotal {
  const found = matching(events, { company_id: 0, subscription_ids: [subscription_id], start_ms, end_ms });
  const inside = events.filter((event) => found.includes(event) && event.created_at < created_until_ms);
  let [first, second] = [0n, 0n];
  for (const { id, timestamp, millionths } of inside) {
    const md5 = createHash("md5")
      .update(`${id}|${timestamp}|${sixDecimals(millionths)}`)
      .digest();
    first += md5.readBigUInt64LE(0);
    second += md5.readBigUInt64LE(8);
  }
  return {
    units: decimalText(inside.reduce((sum, event) => sum + event.millionths, 0n)),
    event_count: inside.length,
    digest: [first, second].map((sum) => BigInt.asUintN(64, sum).toString(16).padStart(16, "0")).join(""),
  };
}

function sums(events: readonly ModelEvent[]): Omit<AggregateRow, "keys"> {
  const usages = events.map((event) => event.millionths).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const [low] = usages;
  const high = usages.at(-1);
  return {
    total_usage: decimalText(usages.reduce((sum, usage) => sum + usage, 0n)),
    event_count: events.length,
    min_usage: low === undefined ? null : decimalText(low),
    max_usage: high === undefined ? null : decimalText(high),
  };
}

function groupOf(
  kind: GroupKind,
  event: ModelEvent,
  zone: string,
): { key: number | string; order: number[] } {
  if (kind === "subscription") return { key: event.subscription_id, order: [event.subscription_id] };
  const local = Temporal.Instant.fromEpochMilliseconds(event.timestamp).toZonedDateTimeISO(zone);
  const date = local.toPlainDate();
  const days = date.since("1970-01-01").days;
  if (kind === "day") return { key: date.toString(), order: [days] };
  if (kind === "month")
    return { key: date.toPlainYearMonth().toString(), order: [date.year * 12 + date.month] };
  const start_ms = days * 86_400_000 + local.hour * 3_600_000 - local.offsetNanoseconds / 1e6;
  return {
    key: `${date.toString()}T${String(local.hour).padStart(2, "0")}:00${local.offset}`,
    order: [start_ms, days * 24 + local.hour],
  };
}

function holds(object: Record<string, unknown> | null, key: string, wanted: string): boolean {
  if (object === null) return false;
  const found = Object.hasOwn(object, key) ? object[key] : walk(object, key);
  if (found === undefined || (typeof found === "object" && found !== null)) return false;
  return found === wanted || (typeof found !== "string" && JSON.stringify(found) === wanted);
}

function walk(object: Record<string, unknown>, path: string): unknown {
  if (!path.includes(".")) return undefined;
  let at: unknown = object;
  for (const part of path.split(".")) {
    if (Array.isArray(at)) at = /^(?:0|[1-9][0-9]*)$/.test(part) ? at[Number(part)] : undefined;
    else if (typeof at === "object" && at !== null) at = new Map(Object.entries(at)).get(part);
    else return undefined;
  }
  return at;
}

function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(strings) : [];
}

function sixDecimals(millionths: bigint): string {
  const digits = String(millionths < 0n ? -millionths : millionths).padStart(7, "0");
  return `${millionths < 0n ? "-" : ""}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
