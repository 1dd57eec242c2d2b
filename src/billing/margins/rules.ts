import { compare, type Decimal, subtract, sum } from "../../core/money.ts";
import type { MarginRow } from "./model.ts";

/** What a group was billed, and what its usage cost. */
export interface GroupAmounts {
  readonly billed: Decimal;
  readonly simulated: Decimal;
}

/** Adds the amounts of each group up. */
export function addUp<K>(groups: Map<K, GroupAmounts>, key: K, { billed, simulated }: GroupAmounts): void {
  const before = groups.get(key);
  groups.set(key, {
    billed: sum([before?.billed ?? "0", billed]),
    simulated: sum([before?.simulated ?? "0", simulated]),
  });
}

/** The amounts of a group on the wire, with the currency's digits. */
export function marginOf(
  { billed, simulated }: GroupAmounts,
  round: (amount: Decimal) => Decimal,
): Pick<MarginRow, "revenue" | "cost" | "margin"> {
  return {
    revenue: round(billed),
    cost: round(simulated),
    margin: round(subtract(billed, simulated)),
  };
}

/** Groups, the smallest margin first. */
export function byMargin(rows: readonly MarginRow[]): MarginRow[] {
  return rows.toSorted(
    (a, b) => compare(a.margin, b.margin) || (a.id ?? 0) - (b.id ?? 0) || (a.name < b.name ? -1 : 1),
  );
}
