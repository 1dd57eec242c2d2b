import { compare, sumAmounts } from "../../core/money.ts";
import type { Bounds } from "../../core/periods.ts";
import { instant } from "../../core/time.ts";
import { bucketAt } from "./buckets.ts";
import type { RevenueTotal } from "./model.ts";
import type { Billed } from "./queries.ts";

/** What was billed of a group in a currency. */
interface GroupSum extends Pick<RevenueTotal, "currency" | "amount" | "records"> {
  readonly key: Billed["key"];
  readonly rows: readonly Billed[];
}

/** The sum of each group, by currency, the largest amount first. */
export function sumGroups(billed: readonly Billed[]): GroupSum[] {
  const groups = Map.groupBy(billed, ({ currency, key }) => `${currency} ${key}`);
  const sums = [...groups.values()].flatMap((rows): GroupSum[] => {
    const [first] = rows;
    if (!first) return [];
    const { currency, key } = first;
    const records = rows.reduce((count, row) => count + row.records, 0);
    return [{ key, currency, amount: added(rows, currency), records, rows }];
  });
  return sums.toSorted(
    (a, b) =>
      (a.currency < b.currency ? -1 : Number(a.currency > b.currency)) ||
      compare(b.amount, a.amount) ||
      compareKeys(a.key, b.key),
  );
}

/** Groups with the sums of each bucket. */
export function withBuckets(groups: readonly GroupSum[], buckets: readonly Bounds[]): RevenueTotal[] {
  const starts = new Set(groups.flatMap(({ rows }) => rows.map((row) => row.billingStartAt)));
  const positions = new Map([...starts].map((start) => [start, bucketAt(buckets, instant(start))]));
  return groups.map(({ currency, amount, records, rows }) => {
    const by_bucket = Map.groupBy(rows, (row) => positions.get(row.billingStartAt));
    const amounts = buckets.map((_, i) => added(by_bucket.get(i) ?? [], currency));
    return { currency, amount, records, amounts };
  });
}

const added = (rows: readonly Billed[], currency: string) =>
  sumAmounts(
    rows.map(({ amounts }) => amounts),
    currency,
  );

function compareKeys(a: Billed["key"], b: Billed["key"]): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a) < String(b) ? -1 : 1;
}
