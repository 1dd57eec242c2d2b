import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { toBig } from "../../../src/core/money.ts";
import { roundUsage } from "../../../src/usage/ingest/rules.ts";
import { propertyCases } from "../../support/properties.ts";

describe("roundUsage()", () => {
  test.each<[number | string, string | undefined]>([
    [1, "1"],
    [-0, "0"],
    [0.5, "0.5"],
    [1e-7, "0"],
    [-1e-7, "0"],
    [5e-7, "0.000001"],
    [-5e-7, "-0.000001"],
    [1.2345675, "1.234568"],
    [999_999_999_999.9999, "999999999999.9999"],
    [1e12, undefined],
    [Number.NaN, undefined],
    [Number.POSITIVE_INFINITY, undefined],
    ["12.50", "12.5"],
    ["1e3", "1000"],
    ["-.5", "-0.5"],
    ["5.", "5"],
    ["0.12345649999999999999999999", "0.123456"],
    ["999999999999.9999994", "999999999999.999999"],
    ["999999999999.9999995", undefined],
    ["1e999", undefined],
    ["abc", undefined],
    ["", undefined],
    ["1,5", undefined],
    ["0x10", undefined],
    ["Infinity", undefined],
  ])("%p → %p", (usage, rounded) => {
    expect(roundUsage(usage)).toBe(rounded);
  });

  test("rounds a number as its text", () => {
    const millionths = fc.bigInt(-(10n ** 16n), 10n ** 16n).map((value) => Number(value) / 1e6);
    fc.assert(
      fc.property(
        fc.oneof(millionths, fc.double({ noNaN: true }), fc.double({ min: -10, max: 10 })),
        (usage) => {
          expect(roundUsage(usage)).toBe(roundUsage(String(usage)));
        },
      ),
      propertyCases(300),
    );
  });

  test("is within half a millionth, has at most six decimals, and rounds nothing twice", () => {
    fc.assert(
      fc.property(fc.double({ min: -1e11, max: 1e11, noNaN: true }), (usage) => {
        const rounded = roundUsage(usage) ?? "";
        expect(rounded).toMatch(/^-?\d+(\.\d{1,6})?$/);
        expect(toBig(rounded).minus(toBig(usage)).abs().lte("0.0000005")).toBe(true);
        expect(roundUsage(rounded)).toBe(rounded);
      }),
    );
  });
});
