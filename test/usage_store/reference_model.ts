import { createHash } from "node:crypto";
import { toBig } from "../../src/core/money.ts";
import type {
  AggregateQuery,
  AggregateRow,
  EventFilter,
  GroupKind,
  KeysQuery,
  KeyUse,
  MonthDigest,
  NewEvent,
  SearchQuery,
  UsageWindow,
  WindowTotal,
} from "../../src/usage_store/port.ts";
import type { MetadataCondition } from "../../src/usage_store/event_filter.ts";

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
  const { conditions } = filter;
  return events.filter(
    (event) =>
      (subscription_ids === undefined || subscription_ids.includes(event.subscription_id)) &&
      (start_ms === undefined || event.timestamp >= start_ms) &&
      (end_ms === undefined || event.timestamp < end_ms) &&
      (min_usage === undefined || toBig(min_usage).times("1000000").lte(String(event.millionths))) &&
      (max_usage === undefined || toBig(max_usage).times("1000000").gte(String(event.millionths))) &&
      Object.entries(metadata ?? {}).every(([key, value]) => holds(event.object, key, value)) &&
      (conditions ?? []).every((condition) => meets(event.object, condition)) &&
      (metadata_search === undefined ||
        strings(event.object).some((text) => lower(text).includes(lower(metadata_search)))),
  );
}

/** The events, with the metadata of some erased, but for plain values at some keys. */
export function erased(
  events: readonly ModelEvent[],
  ids: ReadonlySet<string>,
  keep: readonly string[] = [],
): ModelEvent[] {
  return events.map((event) => {
    if (!ids.has(event.id)) return event;
    const object: Record<string, unknown> = { erased: true };
    for (const key of keep) {
      const found = event.object === null ? undefined : look(event.object, key);
      if (found === null || ["string", "number", "boolean"].includes(typeof found)) object[key] = found;
    }
    return { ...event, object };
  });
}

/** The events in the order of a search. */
export function sorted(
  events: readonly ModelEvent[],
  { sort_by, sort_order }: Pick<SearchQuery, "sort_by" | "sort_order">,
): ModelEvent[] {
  const sign = sort_order === "asc" ? 1 : -1;
  return events.toSorted((a, b) => {
    const [x, y] = sort_by === "usage" ? [a.millionths, b.millionths] : [a.timestamp, b.timestamp];
    return sign * (x < y ? -1 : x > y ? 1 : a.id < b.id ? -1 : 1);
  });
}

export function page(events: readonly ModelEvent[], query: SearchQuery): ModelEvent[] {
  return sorted(events, query).slice(query.offset, query.offset + query.limit);
}

export function groups(events: readonly ModelEvent[], query: AggregateQuery): AggregateRow[] {
  const byKey = new Map<string, ModelEvent[]>(query.group_by.length === 0 ? [["[]", []]] : []);
  for (const event of events) {
    const text = JSON.stringify(query.group_by.map((kind) => keyOf(kind, event, query)));
    byKey.set(text, [...(byKey.get(text) ?? []), event]);
  }
  return [...byKey].map(([text, group]) => ({ keys: JSON.parse(text), ...sums(group) }));
}

/** Groups in one order, so that they can be compared: the port answers in none. */
export function inOrder(rows: readonly AggregateRow[]): AggregateRow[] {
  return rows.toSorted((a, b) => (JSON.stringify(a.keys) < JSON.stringify(b.keys) ? -1 : 1));
}

/** What metadataKeys() answers when no bound but those of events and elements is reached, with all values as samples. */
export function keyUses(
  events: readonly ModelEvent[],
  { max_events, max_elements }: Pick<KeysQuery, "max_events" | "max_elements">,
): KeyUse[] {
  const newest = sorted(events, { sort_by: "timestamp", sort_order: "desc" }).slice(0, max_events);
  const names = new Set(
    newest.flatMap(({ object }) => (object === null ? [] : namesIn(object, max_elements))),
  );
  return [...names]
    .map((key) => {
      const values = newest.flatMap(({ object }) => (object && scalarText(look(object, key))) ?? []);
      return { key, count: values.length, samples: [...new Set(values)] };
    })
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
}

/** The paths inside a value, as filters name them. */
function namesIn(value: unknown, max_elements: number, before: string[] = []): string[] {
  if (typeof value !== "object" || value === null) return [];
  const members = Array.isArray(value) ? Object.entries(value).slice(0, max_elements) : Object.entries(value);
  return members.flatMap(([key, inside]) => {
    const keys = [...before, key];
    if (keys.length > 1 && keys.some((part) => part.includes("."))) return [];
    return [keys.join("."), ...namesIn(inside, max_elements, keys)];
  });
}

/** A scalar as filters take it; undefined for anything else. */
function scalarText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return value === undefined || (typeof value === "object" && value !== null)
    ? undefined
    : JSON.stringify(value);
}

/** The digests of a company's events by month. */
export function monthDigests(company_id: number, events: readonly ModelEvent[]): MonthDigest[] {
  const byMonth = Map.groupBy(events, ({ timestamp }) =>
    Temporal.Instant.fromEpochMilliseconds(timestamp).toString().slice(0, 7),
  );
  return [...byMonth]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([month, inside]) => ({
      company_id,
      month,
      events: inside.length,
      units: decimalText(inside.reduce((sum, event) => sum + event.millionths, 0n)),
      digest: digestOf(inside),
    }));
}

function digestOf(events: readonly ModelEvent[]): string {
  let [first, second] = [0n, 0n];
  for (const { id, timestamp, millionths } of events) {
    const md5 = createHash("md5")
      .update(`${id}|${timestamp}|${sixDecimals(millionths)}`)
      .digest();
    first += md5.readBigUInt64LE(0);
    second += md5.readBigUInt64LE(8);
  }
  return [first, second].map((sum) => BigInt.asUintN(64, sum).toString(16).padStart(16, "0")).join("");
}

export function windowTotal(
  events: readonly (ModelEvent & { created_at: number })[],
  { subscription_id, start_ms, end_ms }: UsageWindow,
  created_until_ms = Number.POSITIVE_INFINITY,
): WindowTotal {
  const found = matching(events, { company_id: 0, subscription_ids: [subscription_id], start_ms, end_ms });
  const inside = events.filter((event) => found.includes(event) && event.created_at < created_until_ms);
  return {
    units: decimalText(inside.reduce((sum, event) => sum + event.millionths, 0n)),
    event_count: inside.length,
    corrections: inside.filter(({ millionths }) => millionths < 0n).length,
    digest: digestOf(inside),
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

function keyOf(kind: GroupKind, event: ModelEvent, query: AggregateQuery): number | string | null {
  if (kind === "subscription") return event.subscription_id;
  if (kind.startsWith("metadata:")) return valueOf(event.object, kind.slice(9), query.max_key_length);
  const local = Temporal.Instant.fromEpochMilliseconds(event.timestamp).toZonedDateTimeISO(query.time_zone);
  const date = local.toPlainDate();
  if (kind === "day") return date.toString();
  if (kind === "month") return date.toPlainYearMonth().toString();
  return `${date.toString()}T${String(local.hour).padStart(2, "0")}:00${local.offset}`;
}

/** The value of a key as groups have it. */
export function valueOf(
  object: Record<string, unknown> | null,
  key: string,
  max_length: number,
): string | null {
  const found = object && look(object, key);
  if (typeof found !== "string") return found === null ? null : (scalarText(found) ?? null);
  const characters = Array.from(found);
  return characters.length <= max_length ? found : `${characters.slice(0, max_length).join("")}…`;
}

/** Whether the value at a key equals a filter's text. */
export function holds(object: Record<string, unknown> | null, key: string, wanted: string): boolean {
  if (object === null) return false;
  return scalarText(look(object, key)) === wanted;
}

function meets(object: Record<string, unknown> | null, { key, op, values }: MetadataCondition): boolean {
  const text = valueOf(object, key, Number.POSITIVE_INFINITY);
  if (op === "present") return text !== null;
  if (op === "missing") return text === null;
  if (op === "contains") return text !== null && values.some((part) => lower(text).includes(lower(part)));
  return (op === "is") === values.some((value) => holds(object, key, value));
}

/** The value at a key, or a path. */
export function look(object: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : walk(object, key);
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

/** Character by character: some would become two (\u0130), or another at the end of a word (\u03a3). */
function lower(text: string): string {
  return Array.from(text, (character) => Array.from(character.toLowerCase())[0]).join("");
}

function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(strings) : [];
}

function sixDecimals(millionths: bigint): string {
  const digits = String(millionths < 0n ? -millionths : millionths).padStart(7, "0");
  return `${millionths < 0n ? "-" : ""}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

const HOUR_MS = 3_600_000;

/** Whether an aggregate can be answered once the events before a whole hour were removed, by sums of whole hours. */
export function isKeptSum(events: readonly ModelEvent[], query: AggregateQuery, since_ms: number): boolean {
  const { start_ms = 0, end_ms = since_ms, metadata = {}, metadata_search, min_usage, max_usage } = query;
  const times = events.map(({ timestamp }) => timestamp);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  if (start_ms >= since_ms || first >= since_ms) return true;
  const is_plain = [metadata_search, min_usage, max_usage].every((part) => part === undefined);
  if (!is_plain || Object.keys(metadata).length > 0) return false;
  if (query.group_by.some((kind) => kind.startsWith("metadata:"))) return false;
  const cuts = (ms: number) => ms < since_ms && ms > first && ms <= last && ms % HOUR_MS !== 0;
  return !cuts(start_ms) && !cuts(end_ms);
}
