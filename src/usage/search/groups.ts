import { interleave, ROWS_A_TURN, sortInterleaved } from "../../core/chunk.ts";
import { compare } from "../../core/money.ts";
import type { Grouping, SearchUsage, UsageAggregation } from "./model.ts";
import type { SubscriptionNames } from "./queries.ts";
import { compositeKey } from "../subscription_key.ts";
import { addRows, type Sums, tooManyGroups } from "../../usage_store/aggregate_rows.ts";
import type { AggregateRow, GroupKind } from "../../usage_store/port.ts";

type StoredKey = AggregateRow["keys"][number];

/** One part of a group's key: its value on the wire, its name, and its place in the order. */
interface Part {
  key: string | null;
  name: string | null;
  order: number | string | null;
}

/** A part with its number among those of its grouping. */
interface NumberedPart extends Part {
  number: number;
}

interface Group {
  parts: readonly Part[];
  rows: Sums[];
}

/** How groups are ordered: `key` is group_key, part by part; `total` is total_usage, ties by key. */
export interface GroupOrder {
  by: "key" | "total";
  descending: boolean;
}

/** The groupings of the usage store that these are folded from: it knows no clients and products. */
export function storedGroupings(group_by: readonly Grouping[]): GroupKind[] {
  return [
    ...new Set(group_by.map((kind) => (kind === "client" || kind === "product" ? "subscription" : kind))),
  ];
}

/** The order of groups as requested; by default time ascends by key, others descend by total. Decision 0023. */
export function groupOrder(
  group_by: readonly Grouping[],
  requested: Pick<SearchUsage, "sort_by" | "sort_order">,
): GroupOrder {
  const by_time = group_by.some((kind) => kind === "day" || kind === "hour" || kind === "month");
  const { sort_by = by_time ? "timestamp" : "usage" } = requested;
  const { sort_order = by_time && requested.sort_by === undefined ? "asc" : "desc" } = requested;
  return { by: sort_by === "usage" ? "total" : "key", descending: sort_order === "desc" };
}

/**
 * Folds the usage store's rows into the requested groups, with their keys and names; without group_by the one row is
 * the total. `names` holds the subscriptions of the rows. Errors: invalid for more than `max_groups`.
 */
export async function foldGroups(
  company_id: number,
  group_by: readonly Grouping[],
  rows: readonly AggregateRow[],
  names: ReadonlyMap<number, SubscriptionNames>,
  { order, max_groups }: { order: GroupOrder; max_groups: number },
): Promise<UsageAggregation[]> {
  const groups = await groupRows(company_id, group_by, rows, names, max_groups);
  const summed: SummedGroup[] = [];
  for await (const batch of interleave(groups, ROWS_A_TURN)) {
    for (const { parts, rows: of_group } of batch) {
      const sums = addRows(of_group);
      summed.push({ parts, sums, total: Number(sums.total_usage) });
    }
  }
  const found: UsageAggregation[] = [];
  const sorted = await sortInterleaved(summed, comparisonOf(order), ROWS_A_TURN);
  for await (const batch of interleave(sorted, ROWS_A_TURN)) found.push(...batch.map(toAggregation));
  return found;
}

async function groupRows(
  company_id: number,
  group_by: readonly Grouping[],
  rows: readonly AggregateRow[],
  names: ReadonlyMap<number, SubscriptionNames>,
  max_groups: number,
): Promise<Group[]> {
  const stored = storedGroupings(group_by);
  const parts_of = group_by.map((kind) => new Parts(company_id, kind, names));
  const places = group_by.map((kind) => stored.findIndex((by) => by === kind || isFolded(kind, by)));
  const groups = new Map<number, Group>();
  for await (const batch of interleave(rows, ROWS_A_TURN)) {
    for (const row of batch) {
      const parts = parts_of.map((known, i) => known.of(row.keys[places[i] ?? 0] ?? null));
      // No grouping has more parts than there are rows.
      const number = parts.reduce((before, part) => before * rows.length + part.number, 0);
      const group = groups.get(number);
      if (group === undefined) groups.set(number, { parts, rows: [row] });
      else if (group.rows.push(row) >= ROWS_A_TURN) group.rows = [addRows(group.rows)];
    }
    if (groups.size > max_groups) throw tooManyGroups(max_groups);
  }
  return [...groups.values()];
}

/** Whether the groups of a kind are folded from those by another one. */
function isFolded(kind: Grouping, stored: GroupKind): boolean {
  return stored === "subscription" && (kind === "client" || kind === "product");
}

/** The parts of keys by one grouping, each made once: many groups share them. */
class Parts {
  readonly #make: (key: StoredKey) => Part;
  readonly #by_stored_key = new Map<StoredKey, NumberedPart>();
  readonly #by_key = new Map<string | null, NumberedPart>();

  constructor(company_id: number, kind: Grouping, names: ReadonlyMap<number, SubscriptionNames>) {
    this.#make = (key) =>
      typeof key === "number" ? namedPart(company_id, kind, names.get(key)) : textPart(kind, key);
  }

  of(stored_key: StoredKey): NumberedPart {
    const known = this.#by_stored_key.get(stored_key);
    if (known !== undefined) return known;
    const made = this.#make(stored_key);
    const part = this.#by_key.get(made.key) ?? { ...made, number: this.#by_key.size };
    this.#by_key.set(part.key, part);
    this.#by_stored_key.set(stored_key, part);
    return part;
  }
}

/** A subscription that the database lost (decision 0116) has usage and no name. */
function namedPart(company_id: number, kind: Grouping, names: SubscriptionNames | undefined): Part {
  if (names === undefined) return { key: null, name: null, order: null };
  if (kind === "client")
    return { key: String(names.client_id), name: names.client_name, order: names.client_id };
  if (kind === "product")
    return { key: String(names.product_id), name: names.product_name, order: names.product_id };
  const key = compositeKey(company_id, names.external_subscription_id);
  return { key, name: names.name, order: key };
}

/** Days, months and metadata sort as text; hours do not where a zone's offset changes. */
function textPart(kind: Grouping, key: string | null): Part {
  const order = kind === "hour" && key !== null ? Temporal.Instant.from(key).epochMilliseconds : key;
  return { key, name: key, order };
}

interface SummedGroup {
  parts: readonly Part[];
  sums: Sums;
  /** Its total_usage on the wire. */
  total: number;
}

function comparisonOf({ by, descending }: GroupOrder): (a: SummedGroup, b: SummedGroup) => number {
  const sign = descending ? -1 : 1;
  if (by === "key") return (a, b) => sign * compareParts(a.parts, b.parts);
  return (a, b) => sign * compareTotals(a, b) || compareParts(a.parts, b.parts);
}

/** Compares exactly, but only where the nearest doubles are the same. */
function compareTotals(a: SummedGroup, b: SummedGroup): number {
  const [exactly, other] = [a.sums.total_usage, b.sums.total_usage];
  return a.total - b.total || (exactly === other ? 0 : compare(exactly, other));
}

/** Compares part by part; parts without a key come last. */
function compareParts(a: readonly Part[], b: readonly Part[]): number {
  for (let i = 0; i < a.length; i++) {
    const [order, other] = [a[i]?.order, b[i]?.order];
    if (order === undefined || other === undefined || order === other) continue;
    return order === null || (other !== null && order > other) ? 1 : -1;
  }
  return 0;
}

/** Sums are exact decimals until here: on the wire they are JSON numbers. */
function toAggregation({ parts, total, sums }: SummedGroup): UsageAggregation {
  const { event_count, min_usage, max_usage } = sums;
  return {
    group_key: oneOrTwo(parts.map(({ key }) => key)),
    group_name: oneOrTwo(parts.map(({ name }) => name)),
    total_usage: total,
    event_count,
    min_usage: min_usage === null ? null : Number(min_usage),
    max_usage: max_usage === null ? null : Number(max_usage),
  };
}

function oneOrTwo<T>(texts: (T | string)[]): T | string | (T | string)[] {
  const [only = "total"] = texts;
  return texts.length > 1 ? texts : only;
}
