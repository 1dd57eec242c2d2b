import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { multiply, sum } from "../../../src/core/money.ts";
import { instant } from "../../../src/core/time.ts";
import { billLine, type BillLine } from "../../../src/billing/rating/bill_line.ts";
import { missingRecord } from "../../../src/billing/rating/billed_parts.ts";
import { yearlyCommitmentLines } from "../../../src/billing/rating/commitment_years.ts";
import { propertyCases } from "../../support/properties.ts";
import { cut, model, utcMonth } from "./fixtures.ts";

// Whatever is billed or adjusted first, the records of a year add up to its commitment.

const MONTHS = Array.from({ length: 12 }, (_, i) => utcMonth(`2024-${String(i + 1).padStart(2, "0")}`));
const START = "2024-01-01T00:00:00Z";
const LAST = 11;

interface Recorded {
  readonly id: number;
  readonly kind: "period" | "adjustment";
  readonly month: number;
  readonly lines: readonly BillLine[];
}

test("records of a year written in any order add up to what it comes to", () => {
  const bills = fc.array(fc.tuple(fc.nat(LAST), fc.integer({ min: -20_000, max: 60_000 })), {
    maxLength: 30,
  });
  const limit = fc.option(fc.nat(300_000));
  fc.assert(
    fc.property(bills, limit, limit, (usages, minimum, maximum) => {
      const cents = (value: number | null) => (value === null ? null : multiply(String(value), "0.01"));
      const of = model({
        recurring_fee: "7",
        commitment: { minimum: cents(minimum), maximum: cents(maximum), interval: "year" },
      });
      const records: Recorded[] = [];
      const used = new Map<number, number>();
      const bill = (month: number) => {
        const period = MONTHS[month];
        const [segment] = period ? cut(period, [[START, of]]) : [];
        if (!segment) throw new Error(`There is no month ${month}`);
        const amount = (used.get(month) ?? 0) / 100;
        const own = [
          billLine(segment, { kind: "fee", description: "fee", amount: "7.00" }),
          billLine(segment, { kind: "usage", description: "usage", amount: amount.toFixed(2) }),
        ];
        const others = records.filter((record) => record.month !== month);
        const year = {
          months: MONTHS,
          recorded: others.flatMap(({ lines }) => lines),
          is_over: month === LAST || others.some((record) => record.month === LAST),
        };
        const life = { started_at: instant(START), ends_at: null };
        const lines = yearlyCommitmentLines(own, year, [{ model: of, from: instant(START) }], life);
        const mine = records.filter((record) => record.month === month);
        const expected = { expected: [...own, ...lines], records: mine, currency: "EUR" };
        const missing = missingRecord("whole", expected, () => false);
        if (missing === null) return;
        const kind = mine.length === 0 ? "period" : "adjustment";
        records.push({ id: records.length + 1, kind, month, lines: missing.lines });
      };
      for (const [month, amount] of usages) {
        used.set(month, (used.get(month) ?? 0) + amount);
        bill(month);
      }
      bill(LAST);
      const charged = [...used.values()].reduce((all, one) => all + one, 0);
      const capped = maximum === null ? charged : Math.min(charged, maximum);
      // Whoever gives a minimum above the maximum is refused; the minimum would win.
      const due = minimum === null ? capped : Math.max(capped, minimum);
      const all = records.flatMap(({ lines }) => lines).filter(({ kind }) => kind !== "fee");
      expect(Math.round(Number(sum(all.map(({ amount }) => amount))) * 100)).toBe(due);
      const [before, months] = [records.length, new Set(records.map(({ month }) => month))];
      for (const month of months) bill(month);
      expect(records).toHaveLength(before);
    }),
    propertyCases(100),
  );
});
