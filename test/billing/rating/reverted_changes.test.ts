import { describe, expect, test } from "bun:test";
import { sum } from "../../../src/core/money.ts";
import { rate } from "../../../src/billing/rating/charges.ts";
import type { PriceTerms } from "../../../src/billing/billing_models/price_terms.ts";
import { amounts, cut, GRADUATED, MARCH, model, used, VOLUME } from "./fixtures.ts";

describe("usage", () => {
  const tiers = model({ ...GRADUATED, id: 1, charge_flat_on_zero: true });
  const other = model({ ...GRADUATED, id: 2, price: "31", charge_flat_on_zero: true });

  /** What the parts of March cost that models are in force in, each used for so many units. */
  function marchOf(...changes: [from: string, model: PriceTerms, units: string][]) {
    const parts = cut(
      MARCH,
      changes.map(([from, facts]) => [from, facts] as const),
    );
    return rate(
      parts.map((segment, i) => ({ segment, usage: used(changes[i]?.[2] ?? "0") })),
      "EUR",
      null,
    );
  }

  test("goes on through tiers, free units and limits where a change is taken back on its day", () => {
    const limited = model({
      billing_type: "per_unit",
      price: "1",
      recurring_fee: "31",
      free_units: "10",
      minimum_charge: "15",
      maximum_charge: "20",
    });
    for (const [facts, units] of [
      [tiers, ["0", "0"]],
      [tiers, ["0", "4"]],
      [tiers, ["7", "8"]],
      [model({ ...VOLUME, charge_flat_on_zero: true }), ["90", "30"]],
      [limited, ["12", "7"]],
      [limited, ["20", "60"]],
      [model({ billing_type: "package", price: "9", package_size: "10" }), ["3", "4"]],
    ] as const) {
      const [before, after] = units;
      const whole = marchOf(["2024-01-01T00:00:00Z", facts, sum(units)]);
      const corrected = marchOf(
        ["2024-01-01T00:00:00Z", facts, before],
        ["2024-03-15T10:00:00Z", other, "0"],
        ["2024-03-15T10:05:00Z", facts, after],
      );
      expect(corrected.total).toBe(whole.total);
      expect(corrected.lines.map(({ proration }) => proration).filter((days) => days !== null)).toEqual(
        whole.lines.map(({ proration }) => proration).filter((days) => days !== null),
      );
    }
  });

  test("is one line a segment also then, so that each proves its own events", () => {
    const { lines } = marchOf(
      ["2024-01-01T00:00:00Z", tiers, "7"],
      ["2024-03-15T10:00:00Z", other, "1"],
      ["2024-03-15T10:05:00Z", tiers, "8"],
    );
    expect(
      lines.map(({ description, from, quantity, amount }) => [description, from, quantity, amount]),
    ).toEqual([
      ["Plan: usage, graduated tiers", "2024-03-01T00:00:00.000Z", "7", "72.00"],
      // A unit of the other plan, without its flat fee.
      ["Plan: usage, graduated tiers", "2024-03-15T10:00:00.000Z", "1", "10.00"],
      ["Plan: usage, graduated tiers, continued", "2024-03-15T10:05:00.000Z", "8", "58.00"],
    ]);
  });

  test("of a segment without a day has no flat fee, with and without units", () => {
    const third = model({ id: 3, price: "31" });
    const cost = (units: string) =>
      amounts(
        marchOf(
          ["2024-01-01T00:00:00Z", model({ id: 4, price: "31" }), "0"],
          ["2024-03-15T10:00:00Z", tiers, units],
          ["2024-03-15T18:00:00Z", third, "0"],
        ).lines,
      );
    expect(cost("0")).toEqual(["fee 14.00", "usage 0.00", "usage 0.00", "fee 17.00", "usage 0.00"]);
    expect(cost("12")).toEqual(["fee 14.00", "usage 0.00", "usage 110.00", "fee 17.00", "usage 0.00"]);
  });

  test("of a segment that corrections bring below zero is zero, also where tiers go on", () => {
    const { lines } = marchOf(
      ["2024-01-01T00:00:00Z", tiers, "7"],
      ["2024-03-15T10:00:00Z", other, "0"],
      ["2024-03-15T10:05:00Z", tiers, "-9"],
    );
    expect(amounts(lines)).toEqual(["usage 72.00", "usage 0.00", "usage 0.00"]);
  });

  test("begins anew where another plan owned a day between", () => {
    const { lines } = marchOf(
      ["2024-01-01T00:00:00Z", tiers, "7"],
      ["2024-03-15T10:00:00Z", model({ id: 2, price: "31" }), "0"],
      ["2024-03-16T10:00:00Z", tiers, "8"],
    );
    expect(amounts(lines)).toEqual(["usage 72.00", "fee 1.00", "usage 0.00", "usage 82.00"]);
  });
});
