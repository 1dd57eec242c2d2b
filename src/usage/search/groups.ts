import { interleave } from "../../core/chunk.ts";
import { toBig } from "../../core/money.ts";
import type { Grouping, SearchUsage, UsageAggregation } from "./model.ts";
import type { SubscriptionNames } from "./queries.ts";
import { compositeKey } from "../subscription_key.ts";
import { addRows, type Sums, tooManyGroups } from "../../usage_store/aggregate_rows.ts";
import type { AggregateRow, GroupKind } from "../../usage_store/port.ts";

/** One part of a group's key: its value on the wire, its name, and its place in the order. */
interface Part {
  key: string | null;
  name: string | null;
  order: number | string | null;
}

interface Group {
  parts: Part[];
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

/** Rows that are folded before other work gets its turn. */
const ROWS_AT_ONCE = 1_000;

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
  const stored = storedGroupings(group_by);
  const hours = new Map<string, number>();
  const groups = new Map<string, Group>();
  for await (const batch of interleave(rows, ROWS_AT_ONCE)) {
    for (const row of batch) {
      const parts = group_by.map((kind) => {
        const key =
          row.keys[stored.findIndex((by) => by === kind || (by === "subscription" && isFolded(kind)))];
        return typeof key === "number"
          ? namedPart(company_id, kind, names.get(key))
          : textPart(kind, key ?? null, hours);
      });
      const text = JSON.stringify(parts.map(({ key }) => key));
      const group = groups.get(text);
      if (group === undefined) groups.set(text, { parts, rows: [row] });
      else if (group.rows.push(row) > ROWS_AT_ONCE) group.rows = [addRows(group.rows)];
    }
    if (groups.size > max_groups) throw tooManyGroups(max_groups);
  }
  const summed: SummedGroup[] = [];
  for await (const batch of interleave([...groups.values()], GROUPS_AT_ONCE)) {
    for (const { parts, rows: group_rows } of batch) summed.push({ parts, ...addRows(group_rows) });
  }
  return ordered(summed, order);
}

/** Groups that are summed before other work gets its turn: on average they have few rows. */
const GROUPS_AT_ONCE = 200;

function isFolded(kind: Grouping): boolean {
  return kind === "client" || kind === "product";
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
function textPart(kind: Grouping, key: string | null, hours: Map<string, number>): Part {
  if (kind !== "hour" || key === null) return { key, name: key, order: key };
  let order = hours.get(key);
  if (order === undefined) {
    order = Temporal.Instant.from(key).epochMilliseconds;
    hours.set(key, order);
  }
  return { key, name: key, order };
}

interface SummedGroup extends Sums {
  parts: Part[];
}

function ordered(groups: readonly SummedGroup[], { by, descending }: GroupOrder): UsageAggregation[] {
  const sign = descending ? -1 : 1;
  return groups
    .map((group) => ({ ...group, total: toBig(group.total_usage) }))
    .toSorted((a, b) => {
      if (by === "key") return sign * compareParts(a.parts, b.parts);
      return sign * a.total.cmp(b.total) || compareParts(a.parts, b.parts);
    })
    .map(toAggregation);
}

/** Compares part by part; parts without a key come last. */
function compareParts(a: readonly Part[], b: readonly Part[]): number {
  for (const [i, { order }] of a.entries()) {
    const other = b[i]?.order;
    if (other === undefined || order === other) continue;
    return order === null || (other !== null && order > other) ? 1 : -1;
  }
  return 0;
}

/** Sums are exact decimals until here: on the wire they are JSON numbers. */
function toAggregation({
  parts,
  total_usage,
  event_count,
  min_usage,
  max_usage,
}: SummedGroup): UsageAggregation {
  return {
    group_key: oneOrTwo(parts.map(({ key }) => key)),
    group_name: oneOrTwo(parts.map(({ name }) => name)),
    total_usage: Number(total_usage),
    event_count,
    min_usage: min_usage === null ? null : Number(min_usage),
    max_usage: max_usage === null ? null : Number(max_usage),
  };
}

function oneOrTwo<T>(texts: (T | string)[]): T | string | (T | string)[] {
  const [only = "total"] = texts;
  return texts.length > 1 ? texts : only;
}
