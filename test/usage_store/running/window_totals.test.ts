import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { MeterReader } from "../../../src/usage_store/meter_reader.ts";
import { parseMetadata } from "../../../src/usage_store/metadata.ts";
import { GroupBudget } from "../../../src/usage_store/running/group_budget.ts";
import { memberHash, MemberSet } from "../../../src/usage_store/running/member_set.ts";
import { readTotals, writeTotals } from "../../../src/usage_store/running/stored_totals.ts";
import {
  MAX_GROUP_LENGTH,
  MAX_GROUPS,
  TotalsRule,
  WindowTotals,
} from "../../../src/usage_store/running/window_totals.ts";
import { propertyCases } from "../../support/properties.ts";
import { anyInstant } from "../arbitrary_events.ts";
import { eventsWithNumbers } from "../arbitrary_meters.ts";
import type { ModelEvent } from "../reference_model.ts";
import { anyWatch, everyMs, expectedTotals, inOrder } from "../watches.ts";

const ruleOf = (watch: ConstructorParameters<typeof TotalsRule>[0]) =>
  new TotalsRule(watch, new MeterReader(watch.meter, watch.per), "secret");

function add(totals: WindowTotals, { timestamp, id, millionths, metadata }: ModelEvent): void {
  const small = Number(millionths);
  const usage = Number.isSafeInteger(small) ? small : millionths;
  totals.add({ timestamp, id, usage }, metadata === null ? null : parseMetadata(metadata));
}

test("totals are what the plain model measures, added in any order, in two parts, with windows forgotten", () => {
  fc.assert(
    fc.property(
      eventsWithNumbers,
      anyWatch(1),
      fc.array(anyInstant, { minLength: 1, maxLength: 4 }),
      fc.nat(60),
      fc.option(anyInstant, { nil: 0 }),
      (events, watch, instants, cut, forgotten_ms) => {
        const rule = ruleOf(watch);
        const own = events.filter(({ subscription_id }) => subscription_id === watch.subscription_id);
        const [totals, others] = [new WindowTotals(watch, rule), new WindowTotals(watch, rule)];
        for (const event of own.slice(0, cut)) add(others, event);
        for (const event of own.slice(cut, cut * 2)) add(totals, event);
        if (forgotten_ms > watch.from_ms) totals.forgetBefore(forgotten_ms);
        for (const cell of others.cells) totals.addCell(cell);
        for (const event of own.slice(cut * 2)) add(totals, event);
        for (const ms of [watch.from_ms, ...instants]) {
          if (ms < totals.floor_ms) continue;
          const expected = expectedTotals(events, watch, ms);
          expect(inOrder(totals.quantities(ms))).toEqual(expected);
          for (const [group, quantity] of expected) expect(totals.quantity(ms, group)).toBe(quantity);
        }
      },
    ),
    propertyCases(300),
  );
});

describe("groups beyond the most", () => {
  const watch = {
    company_id: 1,
    subscription_id: 1,
    meter: {
      aggregation: "count" as const,
      value: [],
      filters: [],
      percentile: null,
      carry_over: false,
    },
    per: "key",
    since_ms: 0,
    from_ms: 0,
    calendar: { name: "all", at: () => ({ start_ms: 0, end_ms: 1e15, whole_ms: 1e15 }) },
  };
  const rule = ruleOf(watch);
  const addKey = (totals: WindowTotals, key: string) =>
    totals.add({ timestamp: 1, id: "", usage: 0 }, { key });
  /** Totals of so many groups, from key 0 on. */
  const filled = (groups: number) => {
    const totals = new WindowTotals(watch, rule);
    for (let i = 0; i < groups; i++) addKey(totals, `key ${i}`);
    return totals;
  };
  const seen = (totals: WindowTotals, key: string) => [totals.quantity(1, key), totals.lacks(1, key)];

  test("have no total and are never counted in part; the others are exact", () => {
    const totals = filled(MAX_GROUPS);
    expect([seen(totals, "new"), totals.hasAllGroups(1)]).toEqual([["0", false], true]);
    addKey(totals, "new");
    addKey(totals, "key 7");
    expect([seen(totals, "new"), seen(totals, "key 7"), totals.hasAllGroups(1)]).toEqual([
      ["0", true],
      ["2", false],
      false,
    ]);
    expect([...totals.quantities(1)]).toHaveLength(MAX_GROUPS);
  });

  test("also of two parts that are put together, and of what was written down", () => {
    const [few, full] = [filled(2), filled(MAX_GROUPS + 1)];
    addKey(few, "only here");
    for (const [one, other] of [
      [few, full],
      [filled(MAX_GROUPS + 1), filled(2)],
    ] as const) {
      const stored = readTotals(watch, rule, JSON.parse(JSON.stringify(writeTotals(one, 1))));
      for (const cell of other.cells) stored.addCell(cell);
      expect(seen(stored, "key 1")).toEqual(["2", false]);
      // What the other part left out of this group nobody knows.
      expect(seen(stored, "only here")).toEqual(["0", true]);
      addKey(stored, "only here");
      expect(seen(stored, "only here")).toEqual(["0", true]);
    }
  });

  test("also where those of a company's other windows take the places, until these are forgotten", () => {
    const budget = new GroupBudget(3);
    const hourly = { ...watch, calendar: everyMs(1_000) };
    const [one, other] = [0, 0].map((floor_ms) => new WindowTotals(hourly, rule, floor_ms, budget));
    const addAt = (totals: WindowTotals | undefined, timestamp: number, key: string) =>
      totals?.add({ timestamp, id: "", usage: 0 }, { key });
    addAt(one, 1, "a");
    addAt(one, 1_001, "a");
    addAt(other, 1, "b");
    addAt(other, 1, "c");
    addAt(other, 1, "b");
    expect(budget.left).toBe(0);
    expect([other?.quantity(1, "b"), other?.lacks(1, "b"), other?.lacks(1, "c")]).toEqual(["2", false, true]);
    one?.forgetBefore(1_000);
    expect([budget.left, one?.quantity(1_001, "a")]).toEqual([1, "1"]);
    // Counted in part it would be wrong.
    addAt(other, 1, "c");
    expect([other?.lacks(1, "c"), budget.left]).toEqual([true, 1]);
    addAt(one, 1_001, "d");
    addAt(one, 2_001, "e");
    expect([one?.lacks(1_001, "d"), one?.lacks(2_001, "e"), budget.left]).toEqual([false, true, 0]);
  });

  test("what is put together takes no more places than it has groups", () => {
    const budget = new GroupBudget(4);
    const totals = new WindowTotals(watch, rule, 0, budget);
    addKey(totals, "key 0");
    for (const cell of filled(3).cells) totals.addCell(cell);
    expect([budget.left, seen(totals, "key 0"), seen(totals, "key 2")]).toEqual([
      1,
      ["2", false],
      ["1", false],
    ]);
    for (const cell of filled(6).cells) totals.addCell(cell);
    expect([budget.left, seen(totals, "key 2"), seen(totals, "key 5")]).toEqual([
      0,
      ["2", false],
      ["0", true],
    ]);
  });

  test("a text that nobody may ask for has no total, and takes no place", () => {
    const totals = filled(1);
    addKey(totals, "x".repeat(MAX_GROUP_LENGTH + 1));
    addKey(totals, "new");
    expect([seen(totals, "new"), [...totals.quantities(1)].length, totals.hasAllGroups(1)]).toEqual([
      ["1", false],
      2,
      false,
    ]);
  });
});

test("a set of texts counts each once, in some 15 bytes a member", () => {
  const set = new MemberSet();
  for (let i = 0; i < 20_000; i++) set.add(memberHash("secret", `user ${i % 10_000}`));
  const copy = MemberSet.from(set.words());
  copy.addAll(set);
  expect([set.size, copy.size]).toEqual([10_000, 10_000]);
  expect(set.bytes / set.size).toBeLessThan(17);
  expect(memberHash("secret", "a")).not.toEqual(memberHash("other", "a"));
});
