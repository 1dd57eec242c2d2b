import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { MeterReader } from "../../../src/usage_store/meter_reader.ts";
import { parseMetadata } from "../../../src/usage_store/metadata.ts";
import { memberHash, MemberSet } from "../../../src/usage_store/running/member_set.ts";
import { TotalsRule, WindowTotals } from "../../../src/usage_store/running/window_totals.ts";
import { propertyCases } from "../../support/properties.ts";
import { anyInstant } from "../arbitrary_events.ts";
import { eventsWithNumbers } from "../arbitrary_meters.ts";
import type { ModelEvent } from "../reference_model.ts";
import { anyWatch, expectedTotals, inOrder } from "../watches.ts";

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

test("a set of texts counts each once, in some 15 bytes a member", () => {
  const set = new MemberSet();
  for (let i = 0; i < 20_000; i++) set.add(memberHash("secret", `user ${i % 10_000}`));
  const copy = MemberSet.from(set.words());
  copy.addAll(set);
  expect([set.size, copy.size]).toEqual([10_000, 10_000]);
  expect(set.bytes / set.size).toBeLessThan(17);
  expect(memberHash("secret", "a")).not.toEqual(memberHash("other", "a"));
});
