import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { decide, remainingOf, type UsedLimit } from "../../../src/entitlements/checks/rules.ts";

const units = fc.integer({ min: 0, max: 40 }).map(String);
const limit: fc.Arbitrary<UsedLimit> = fc.record({
  limit: fc.option(units),
  hard: fc.boolean(),
  used: fc.integer({ min: -5, max: 40 }).map(String),
  reserved: units,
  certain: fc.constant(true),
  resets_ms: fc.constant(null),
});

describe("a decision", () => {
  test("allows what fits into every hard limit, and tells of every limit that is passed", () => {
    fc.assert(
      fc.property(fc.array(limit, { maxLength: 4 }), units, (limits, asked) => {
        const isPassed = ({ limit: bound, used, reserved }: UsedLimit) =>
          bound !== null && Number(used) + Number(reserved) + Number(asked) > Number(bound);
        const decision = decide(limits, asked, "deny");
        expect(decision.allowed).toBe(!limits.some((one) => one.hard && isPassed(one)));
        expect(decision.reason).toBe(limits.some(isPassed) ? "limit" : null);
        expect(decision.shown === null).toBe(limits.length === 0);
        if (decision.shown !== null && decision.reason !== null) {
          expect(isPassed(decision.shown)).toBe(true);
          expect(decision.shown.hard).toBe(!decision.allowed);
        }
      }),
    );
  });

  test("shows the limit with the least left where none is passed", () => {
    fc.assert(
      fc.property(fc.array(limit, { minLength: 1, maxLength: 4 }), (limits) => {
        const { shown, reason } = decide(limits, "0", "deny");
        fc.pre(reason === null && shown !== null);
        const leftOf = (one: UsedLimit) => Number(remainingOf(one) ?? Number.POSITIVE_INFINITY);
        expect(leftOf(shown)).toBe(Math.min(...limits.map(leftOf)));
      }),
    );
  });

  test("is the company's while any total is not certain", () => {
    fc.assert(
      fc.property(fc.array(limit, { maxLength: 3 }), limit, units, (limits, one, asked) => {
        const all = [...limits, { ...one, certain: false }];
        for (const if_uncertain of ["allow", "deny"] as const)
          expect(decide(all, asked, if_uncertain)).toMatchObject({
            allowed: if_uncertain === "allow",
            reason: if_uncertain === "allow" ? null : "uncertain",
            certain: false,
          });
      }),
    );
  });
});
