import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { compare } from "../../../src/core/money.ts";
import { amountSteps, percentSteps, reachedSteps, scaleOf } from "../../../src/entitlements/alerts/scales.ts";
import { LIMITS } from "../../../src/entitlements/limits.ts";
import { ChangedSubscriptions } from "../../../src/entitlements/live/changes.ts";
import { propertyCases } from "../../support/properties.ts";

const NOON_MS = Date.UTC(2026, 2, 10, 12);

describe("what a process remembers of alerts", () => {
  test("a company is told so much on a day, and on the next day again", () => {
    const changes = new ChangedSubscriptions();
    const left = (ms: number, company_id = 1) => changes.leftToTell(company_id, ms);
    changes.countTold(1, NOON_MS, 10);
    changes.countTold(1, NOON_MS + 1, LIMITS.alert_firings_day - 11);
    expect([left(NOON_MS + 2), left(NOON_MS, 2)]).toEqual([1, LIMITS.alert_firings_day]);
    changes.countTold(1, NOON_MS, 5);
    expect(left(NOON_MS)).toBe(-4);
    const next_ms = Date.UTC(2026, 2, 11);
    expect([left(next_ms - 1), left(next_ms)]).toEqual([-4, LIMITS.alert_firings_day]);
    changes.countTold(1, next_ms, 3);
    expect(left(next_ms)).toBe(LIMITS.alert_firings_day - 3);
  });

  test("what was told is known by scale and group, until too many are", () => {
    const changes = new ChangedSubscriptions();
    changes.noteTold("month", null, 2);
    changes.noteTold("month", "large", 1);
    changes.noteTold("month", "large", 3);
    const known = () => [
      changes.stepsTold("month", null),
      changes.stepsTold("month", "large"),
      changes.stepsTold("month", "small"),
      changes.stepsTold("day", null),
      changes.groupsTold("month"),
    ];
    expect(known()).toEqual([2, 3, 0, 0, 2]);
    for (let i = 2; i < LIMITS.alerts_told; i++) changes.noteTold("day", `${i}`, 1);
    expect(known()).toEqual([2, 3, 0, 0, 2]);
    changes.noteTold("day", "one more", 1);
    expect(known()).toEqual([0, 0, 0, 0, 0]);
    expect(changes.stepsTold("day", "one more")).toBe(1);
  });
});

test("steps are reached by amounts or percents of a limit, in any order, as decimals compare", () => {
  const decimal = fc
    .tuple(fc.integer({ min: 0, max: 2_000 }), fc.constantFrom("", ".5", ".000001"))
    .map(([whole, fraction]) => `${whole}${fraction}`);
  const percents = fc.uniqueArray(fc.integer({ min: 1, max: 1_000 }), { maxLength: 4 });
  fc.assert(
    fc.property(decimal, percents, fc.array(decimal, { maxLength: 5 }), (limit, thresholds, values) => {
      const alert = { id: 1, thresholds: thresholds.map(String) } as never;
      const steps = [...percentSteps(limit, null), ...percentSteps(limit, alert), ...amountSteps(alert)];
      const bounds = { start_ms: 0, end_ms: 1 };
      const of = { subscription_id: 1, counted: "x", window: "month" as const, bounds, limit, per: null };
      const scale = scaleOf(of, steps);
      let known = 0;
      let most = "0";
      for (const value of values) {
        known = reachedSteps(scale, value, known);
        most = compare(value, most) > 0 ? value : most;
        const expected =
          compare(most, "0") > 0 ? steps.filter(({ amount }) => compare(most, amount) >= 0) : [];
        expect(known).toBe(expected.length);
      }
    }),
    propertyCases(300),
  );
});
