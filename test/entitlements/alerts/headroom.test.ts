import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { headroomOf } from "../../../src/entitlements/alerts/headroom.ts";
import { type Held, newlyReached } from "../../../src/entitlements/alerts/reached.ts";
import { scaleOf } from "../../../src/entitlements/alerts/scales.ts";
import { LIMITS } from "../../../src/entitlements/limits.ts";
import { ChangedSubscriptions } from "../../../src/entitlements/live/changes.ts";
import { propertyCases } from "../../support/properties.ts";

const NOW_MS = Date.UTC(2026, 2, 10, 12);
const FOREVER_MS = Date.UTC(9999, 0, 1);

/** A value that changes, as a total does. */
interface Kept {
  quantity: string;
  certain: boolean;
}

function heldOf(kept: Kept, amounts: readonly string[], counted = "use", end_ms = FOREVER_MS): Held {
  const bounds = { start_ms: 0, end_ms };
  const of = { subscription_id: 1, counted, window: "month" as const, bounds, limit: null, per: null };
  const steps = amounts.map((amount) => ({ amount, threshold: amount, alert: null }));
  return {
    scale: scaleOf(of, steps),
    values: [{ ...kept, group: null }],
    current: () => kept,
    tellOf: () => ({ type: "alert.reached", told: {} }),
  };
}

/** Looks as alerts do: what is newly reached is told. */
function look(held: readonly Held[], changes: ChangedSubscriptions): number {
  const reached = newlyReached(held, changes)
    .filter((one) => one !== null)
    .toArray();
  for (const { key, group, steps } of reached) changes.noteTold(key, group, steps);
  return reached.length;
}

describe("what is left before the next threshold", () => {
  const quantity = fc.integer({ min: -30, max: 130 }).map((n) => `${n / 10}`);
  const amounts = fc.array(quantity, { maxLength: 4 }).map((all) => [...new Set(all)]);

  test("while some is left, another look tells nothing", () => {
    let spared = 0;
    const values = fc.array(fc.tuple(quantity, amounts, fc.tuple(quantity, quantity), fc.boolean()), {
      minLength: 1,
      maxLength: 3,
    });
    fc.assert(
      fc.property(values, (all) => {
        const changes = new ChangedSubscriptions();
        const kept = all.map(([before]) => ({ quantity: before, certain: true }));
        const held = () => all.map(([, steps], i) => heldOf(kept[i] as Kept, steps, `use ${i}`));
        const looked_at = held();
        look(looked_at, changes);
        // What comes while it is told was not looked at.
        for (const [i, [, , [meanwhile]]] of all.entries())
          Object.assign(kept[i] as Kept, { quantity: meanwhile });
        const headroom = headroomOf(looked_at, NOW_MS);
        for (const [i, [, , [, after], certain]] of all.entries())
          Object.assign(kept[i] as Kept, { quantity: after, certain });
        const is_left = headroom?.isLeft(NOW_MS + 1) ?? false;
        for (const one of kept) if (is_left) expect(one.certain).toBe(true);
        const told = look(held(), changes);
        if (is_left) expect(told).toBe(0);
        if (is_left) spared++;
      }),
      propertyCases(2_000),
    );
    expect(spared).toBeGreaterThan(0);
  });

  test("a limit of 0 is reached by the first unit", () => {
    const kept = { quantity: "0", certain: true };
    const headroom = headroomOf([heldOf(kept, ["0"])], NOW_MS);
    expect(headroom?.isLeft(NOW_MS)).toBe(false);
  });

  test("it is known up to the window's end, for some time, and not by a clock that was set back", () => {
    const kept = { quantity: "1", certain: true };
    const left = (end_ms: number, at_ms: number) =>
      headroomOf([heldOf(kept, ["2"], "use", end_ms)], NOW_MS)?.isLeft(at_ms);
    expect([left(NOW_MS + 10, NOW_MS + 9), left(NOW_MS + 10, NOW_MS + 10)]).toEqual([true, false]);
    // What ended already says nothing of how long.
    expect(left(NOW_MS, NOW_MS + 9)).toBe(true);
    const late_ms = NOW_MS + LIMITS.headroom_ms;
    expect([left(FOREVER_MS, late_ms - 1), left(FOREVER_MS, late_ms)]).toEqual([true, false]);
    expect(left(FOREVER_MS, NOW_MS - 1)).toBe(false);
  });

  test("nothing is known of values by group, and of what is rated", () => {
    const held = { ...heldOf({ quantity: "1", certain: true }, ["2"]), current: null };
    expect(headroomOf([held], NOW_MS)).toBeNull();
  });

  test("what was read before records changed is forgotten with them", () => {
    const changes = new ChangedSubscriptions();
    const headroom = headroomOf([heldOf({ quantity: "1", certain: true }, ["2"])], NOW_MS);
    if (headroom === null) throw new Error("There is headroom");
    const before = changes.headroomsOf(1);
    before.set(7, headroom);
    expect(changes.withoutHeadroom(1, [6, 7], NOW_MS)).toEqual([6]);
    changes.forgetHeadroom(1);
    before.set(8, headroom);
    expect(changes.withoutHeadroom(1, [7, 8], NOW_MS)).toEqual([7, 8]);
    expect(changes.headroomsOf(1)).not.toBe(before);
  });
});
