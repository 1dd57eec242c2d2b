import { sum, toBig } from "../../core/money.ts";
import type { Grouping, UsageAggregation } from "./model.ts";

// Sums as a table, for readers who pay by the word: columns once, the largest groups, and the rest as one.

export type Cell = string | number | null;

/** What all groups come to, or those that have no row of their own. */
interface GroupSums {
  groups: number;
  total_usage: number;
  event_count: number;
}

export interface UsageTable {
  columns: string[];
  rows: Cell[][];
  /** Of all groups, those without a row included. */
  total: GroupSums;
  /** Groups beyond the limit; `rows` where the table is by time, too. */
  others?: GroupSums & { rows?: Cell[][] };
}

interface TableOptions {
  /** How many groups have rows, where they are by something else than time. */
  limit: number;
  /** Every bucket of the one grouping by time, so that those without usage have a row. */
  buckets: readonly string[] | null;
  /** The smallest and the largest usage, too. */
  has_bounds: boolean;
}

export const isTime = (kind: Grouping): boolean => kind === "day" || kind === "hour" || kind === "month";
const isNamed = (kind: Grouping): boolean => ["client", "product", "subscription"].includes(kind);

/** One group with its key and its name by each grouping. */
interface Group extends UsageAggregation {
  keys: (string | null)[];
  names: (string | null)[];
}

/** Makes a table of sums, in their order. */
export function tableOf(
  kinds: readonly Grouping[],
  sums: readonly UsageAggregation[],
  { limit, buckets, has_bounds }: TableOptions,
): UsageTable {
  const groups = sums.map((group): Group => {
    const [keys, names] = [group.group_key, group.group_name].map((text) => partsOf(kinds, text));
    return { ...group, keys: keys ?? [], names: names ?? [] };
  });
  const kept = largest(kinds, groups, limit);
  const shown = groups.filter((group) => kept.has(categoryOf(kinds, group)));
  const rest = groups.filter((group) => !kept.has(categoryOf(kinds, group)));
  const columns = [
    ...kinds.flatMap((kind) => (isNamed(kind) ? [`${kind}_id`, kind] : [kind])),
    "total_usage",
    "event_count",
    ...(has_bounds ? ["min_usage", "max_usage"] : []),
  ];
  const rows = shown.map((group) => rowOf(kinds, group, has_bounds));
  const others = rest.length === 0 ? {} : { others: othersOf(kinds, rest) };
  return {
    columns,
    rows: buckets === null ? rows : filled(rows, buckets, has_bounds),
    total: sumsOf(groups, new Set(groups.map((group) => categoryOf(kinds, group))).size),
    ...others,
  };
}

function partsOf(kinds: readonly Grouping[], text: UsageAggregation["group_key"]): (string | null)[] {
  if (kinds.length === 0) return [];
  return Array.isArray(text) ? text : [text];
}

/** What a group is apart from its time. */
function categoryOf(kinds: readonly Grouping[], { keys }: Group): string {
  return JSON.stringify(keys.filter((_, i) => !isTime(kinds[i] ?? "day")));
}

/** The categories that have rows: the first in order, or by their totals where each stands at many times. */
function largest(kinds: readonly Grouping[], groups: readonly Group[], limit: number): Set<string> {
  if (!kinds.some(isTime)) return new Set(groups.slice(0, limit).map((group) => categoryOf(kinds, group)));
  const totals = new Map<string, ReturnType<typeof toBig>>();
  for (const group of groups) {
    const category = categoryOf(kinds, group);
    totals.set(category, (totals.get(category) ?? toBig(0)).plus(toBig(group.total_usage)));
  }
  const sorted = [...totals].toSorted(([, a], [, b]) => b.cmp(a));
  return new Set(sorted.slice(0, limit).map(([category]) => category));
}

function rowOf(kinds: readonly Grouping[], group: Group, has_bounds: boolean): Cell[] {
  const cells = kinds.flatMap((kind, i): Cell[] => {
    const key = group.keys[i] ?? null;
    if (!isNamed(kind)) return [key];
    // As the tools take it.
    return [kind === "subscription" || key === null ? key : Number(key), group.names[i] ?? null];
  });
  const { total_usage, event_count, min_usage, max_usage } = group;
  return [...cells, total_usage, event_count, ...(has_bounds ? [min_usage, max_usage] : [])];
}

function sumsOf(groups: readonly Group[], count: number): GroupSums {
  return {
    groups: count,
    total_usage: Number(sum(groups.map(({ total_usage }) => toBig(total_usage).toFixed()))),
    event_count: groups.reduce((events, { event_count }) => events + event_count, 0),
  };
}

/** The rest, and for each time what it comes to. */
function othersOf(kinds: readonly Grouping[], rest: readonly Group[]): GroupSums & { rows?: Cell[][] } {
  const all = sumsOf(rest, new Set(rest.map((group) => categoryOf(kinds, group))).size);
  const times = kinds.flatMap((kind, i) => (isTime(kind) ? [i] : []));
  if (times.length === 0) return all;
  const by_time = Map.groupBy(rest, ({ keys }) => JSON.stringify(times.map((i) => keys[i])));
  const rows = [...by_time.values()].map((groups): Cell[] => {
    const { total_usage, event_count } = sumsOf(groups, groups.length);
    return [...times.map((i) => groups[0]?.keys[i] ?? null), total_usage, event_count];
  });
  return { ...all, rows };
}

/**
 * A row for each bucket, also where there was no usage. Where a zone's clock moves by half an hour, hours of the store are
 * none of a plain count: then rows are left as they are.
 */
function filled(rows: Cell[][], buckets: readonly string[], has_bounds: boolean): Cell[][] {
  const known = new Map(rows.map((row) => [row[0], row]));
  const bounds = has_bounds ? [null, null] : [];
  const expected = new Set<Cell | undefined>(buckets);
  if (rows.some(([bucket]) => !expected.has(bucket))) return rows;
  return buckets.map((bucket) => known.get(bucket) ?? [bucket, 0, 0, ...bounds]);
}
