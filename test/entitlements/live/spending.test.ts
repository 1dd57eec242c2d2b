import { expect, test } from "bun:test";
import { RatedSpending } from "../../../src/entitlements/live/spending.ts";

const NOW_MS = Date.UTC(2026, 2, 10, 12);

const spent = (amount: string) => ({
  amount,
  projected: null,
  as_of_ms: NOW_MS,
  from_ms: Date.UTC(2026, 2, 1),
  until_ms: Date.UTC(2026, 3, 1),
  before: null,
});

test("what was dropped while it was rated stays dropped, so that a limit set anew waits for what is true then", () => {
  const spending = new RatedSpending();
  spending.begin([7]);
  spending.drop(7);
  spending.put(7, spent("10"));
  expect(spending.at(7, NOW_MS)).toBeUndefined();
  expect(spending.due([7], NOW_MS)).toEqual([7]);
  spending.begin([7]);
  spending.put(7, spent("12"));
  expect([spending.at(7, NOW_MS)?.amount, spending.due([7], NOW_MS)]).toEqual(["12", []]);
  spending.note(7);
  expect(spending.due([7], NOW_MS)).toEqual([7]);
});
