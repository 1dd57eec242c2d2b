import { expect, test } from "bun:test";
import { TotalsKeeper } from "../../../src/usage_store/running/keeper.ts";
import type { TotalsSource } from "../../../src/usage_store/running/totals_source.ts";
import type { Watch, WatchedTotals } from "../../../src/usage_store/running_totals.ts";
import { allTimeFrom } from "../watches.ts";

/** A store without events. */
const EMPTY: TotalsSource = {
  tally: async () => [],
  readEvents: async () => undefined,
  sinceOf: () => 0,
};

const watchOf = (company_id: number, subscription_id: number): Watch => ({
  company_id,
  subscription_id,
  meter: { aggregation: "count", value: [], filters: [], percentile: null, carry_over: false },
  per: "key",
  since_ms: 0,
  from_ms: 0,
  calendar: allTimeFrom(0),
});

test("a company has so many groups with a total over all of its watches; closed ones leave room, others' are their own", async () => {
  const onFailure = (error: unknown) => {
    throw error;
  };
  const keeper = new TotalsKeeper({ last_seq: 0, secret: "secret", stored: [], max_groups: 5, onFailure });
  keeper.begin(EMPTY);
  const [first, second, other] = keeper.watch([watchOf(1, 1), watchOf(1, 2), watchOf(2, 1)]);
  await keeper.counted();
  const add = (company_id: number, subscription_id: number, key: string) => {
    const watched = keeper.watchedOf(company_id)?.get(subscription_id);
    const event = { timestamp: 1, id: crypto.randomUUID(), usage: 1, metadata: JSON.stringify({ key }) };
    if (watched !== undefined) keeper.add(watched, event);
  };
  for (const key of ["a", "b", "c", "a"]) add(1, 1, key);
  for (const key of ["a", "b", "c", "a"]) add(1, 2, key);
  for (const key of ["a", "b", "c", "d"]) add(2, 1, key);
  const at = (totals: WatchedTotals | undefined, key: string) => totals?.at(1, key);
  expect(at(first, "a")).toEqual({ quantity: "2", certain: true });
  expect(at(second, "a")).toEqual({ quantity: "2", certain: true });
  expect(at(second, "c")).toEqual({ quantity: "0", certain: false });
  expect(at(other, "d")).toEqual({ quantity: "1", certain: true });
  first?.close();
  const [again] = keeper.watch([watchOf(1, 3)]);
  await keeper.counted();
  for (const key of ["a", "b", "c"]) add(1, 3, key);
  expect(at(again, "c")).toEqual({ quantity: "1", certain: true });
  add(1, 3, "d");
  expect(at(again, "d")).toEqual({ quantity: "0", certain: false });
  // Counted anew, it has the places that it had.
  keeper.recount(1);
  await keeper.counted();
  for (const key of ["a", "b", "c"]) add(1, 3, key);
  expect(at(again, "c")).toEqual({ quantity: "1", certain: true });
  await keeper.close();
});
