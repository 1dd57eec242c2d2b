import { expect, test } from "bun:test";
import { RatedSpending } from "../../../src/entitlements/live/spending.ts";

const NOW_MS = Date.UTC(2026, 2, 10, 12);
const APRIL_MS = Date.UTC(2026, 3, 1);

const spent = (amount: string) => ({
  amount,
  projected: null,
  as_of_ms: NOW_MS,
  from_ms: Date.UTC(2026, 2, 1),
  until_ms: APRIL_MS,
  before: null,
});

/** Lists these and no others; those that came and those that went. */
function list(spending: RatedSpending, ...ids: number[]) {
  const listing = spending.beginList(NOW_MS);
  return { added: spending.list(ids, listing), dropped: spending.endList(listing) };
}

function rate(spending: RatedSpending, now_ms: number, ...ids: number[]): void {
  const rating = spending.begin(ids, now_ms);
  for (const id of ids) spending.put(id, spent("10"), rating);
}

test("what went while it was rated, and came again, waits for a rating of its own", () => {
  const spending = new RatedSpending();
  list(spending, 7);
  const first = spending.begin([7], NOW_MS);
  expect(list(spending).dropped).toEqual([7]);
  spending.put(7, spent("10"), first);
  expect(spending.at(7, NOW_MS)).toBeUndefined();
  expect(list(spending, 7).added).toEqual([7]);
  spending.put(7, spent("10"), first);
  expect([spending.at(7, NOW_MS), spending.due(NOW_MS)]).toEqual([undefined, [7]]);
  const second = spending.begin([7], NOW_MS);
  spending.put(7, spent("12"), second);
  expect([spending.at(7, NOW_MS)?.amount, spending.due(NOW_MS)]).toEqual(["12", []]);
});

test("of two ratings at once the later counts, whichever ends first", () => {
  const spending = new RatedSpending();
  list(spending, 7);
  const [first, second] = [spending.begin([7], NOW_MS), spending.begin([7], NOW_MS)];
  spending.put(7, spent("12"), second);
  spending.put(7, spent("10"), first);
  expect(spending.at(7, NOW_MS)?.amount).toBe("12");
});

test("due is what came, what was used and what was rated long ago, in that order of waiting", () => {
  const spending = new RatedSpending();
  expect(list(spending, 1, 2, 3, 4)).toEqual({ added: [1, 2, 3, 4], dropped: [] });
  expect(list(spending, 2, 3, 4)).toEqual({ added: [], dropped: [1] });
  expect(spending.due(NOW_MS)).toEqual([2, 3, 4]);
  rate(spending, NOW_MS, 2, 3);
  spending.note(3);
  spending.note(1);
  expect(spending.due(NOW_MS)).toEqual([4, 3]);
  rate(spending, NOW_MS + 60_000, 4, 3);
  expect(spending.due(NOW_MS + 299_999)).toEqual([]);
  expect(spending.due(NOW_MS + 300_000)).toEqual([2]);
  expect(spending.due(NOW_MS + 360_000)).toEqual([2, 4, 3]);
});

test("a period's end makes its charges unknown, and due at once; so does a clock that was ahead", () => {
  const spending = new RatedSpending();
  list(spending, 1, 2);
  rate(spending, APRIL_MS - 1_000, 1, 2);
  expect([spending.at(1, APRIL_MS - 1)?.amount, spending.due(APRIL_MS - 1)]).toEqual(["10", []]);
  expect([spending.at(1, APRIL_MS), spending.due(APRIL_MS)]).toEqual([undefined, [1, 2]]);
  const april = { ...spent("20"), as_of_ms: APRIL_MS, from_ms: APRIL_MS, until_ms: Date.UTC(2026, 4, 1) };
  const rating = spending.begin([1, 2], APRIL_MS);
  for (const id of [1, 2]) spending.put(id, april, rating);
  expect([spending.at(1, APRIL_MS)?.amount, spending.due(APRIL_MS)]).toEqual(["20", []]);
  // Back in March.
  expect([spending.at(1, NOW_MS), spending.due(NOW_MS)]).toEqual([undefined, [1, 2]]);
});

test("what has not begun is known by its first period", () => {
  const spending = new RatedSpending();
  list(spending, 1);
  const rating = spending.begin([1], NOW_MS);
  spending.put(1, { ...spent("31"), from_ms: APRIL_MS, until_ms: Date.UTC(2026, 4, 1) }, rating);
  expect(spending.at(1, NOW_MS)?.amount).toBe("31");
});

test("a list holds until records change, some time is over, or the clock is another", () => {
  const spending = new RatedSpending();
  expect(spending.isListed(NOW_MS)).toBe(false);
  const listing = spending.beginList(NOW_MS);
  expect(spending.isListed(NOW_MS + 59_999)).toBe(true);
  expect([spending.isListed(NOW_MS + 60_000), spending.isListed(NOW_MS - 60_000)]).toEqual([false, false]);
  // What changes while it is read is in the next one.
  spending.forgetList();
  spending.endList(listing);
  expect(spending.isListed(NOW_MS)).toBe(false);
});
