import type { Static } from "@sinclair/typebox";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { compare, sumAmounts } from "../../core/money.ts";
import type { ReadTx } from "../../store/store.ts";
import { listGroupNames } from "../revenue/queries.ts";
import type { ListRunningBills, RunningBills } from "./model.ts";
import * as queries from "./queries.ts";

/** What running periods come to, as it was last rated. Decision 0274. */
export async function runningBillsOf(
  tx: ReadTx,
  { group_by = "client", page = 1, limit }: Static<typeof ListRunningBills>,
): Promise<Static<typeof RunningBills>> {
  const running = await queries.listRunning(tx, group_by);
  const rows = sumsBy(running, ({ key, currency }) => `${key} ${currency}`);
  const totals = sumsBy(running, ({ currency }) => currency);
  const size = limit ?? SHARED_LIMITS.page_limit_default;
  const shown = rows.slice((page - 1) * size, page * size);
  const names = await listGroupNames(
    tx,
    group_by,
    shown.map(({ key }) => key),
  );
  const rated = totals.reduce((count, { subscriptions }) => count + subscriptions, 0);
  const as_of = running.flatMap((row) => row.as_of ?? []).toSorted();
  return {
    as_of: as_of[0] ?? null,
    pending: Math.max(0, (await queries.countRunning(tx)) - rated),
    totals: totals.map(({ currency, amount, subscriptions }) => ({ currency, amount, subscriptions })),
    groups: rows.length,
    rows: shown.map(({ key: id, ...sums }) => ({ id, name: names.get(id) ?? "", ...sums })),
  };
}

/** The sums of groups, by currency, the largest first. */
function sumsBy(running: readonly queries.Running[], groupOf: (row: queries.Running) => string) {
  const groups = [...Map.groupBy(running, groupOf).values()].flatMap((rows) => {
    const [first] = rows;
    if (!first) return [];
    const { key, currency } = first;
    const amount = sumAmounts(
      rows.map(({ amounts }) => amounts),
      currency,
    );
    const subscriptions = rows.reduce((count, row) => count + row.subscriptions, 0);
    return [{ key, currency, amount, subscriptions }];
  });
  return groups.toSorted(
    (a, b) =>
      (a.currency < b.currency ? -1 : Number(a.currency > b.currency)) ||
      compare(b.amount, a.amount) ||
      a.key - b.key,
  );
}
