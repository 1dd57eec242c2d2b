import { expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  addOnLines,
  addOnStretches,
  type AddOnTerms,
  type BookedAddOn,
} from "../../../src/billing/rating/add_on_lines.ts";
import { isZero, multiply, roundQuotient, sum } from "../../../src/core/money.ts";
import { periodStartingIn } from "../../../src/core/periods.ts";
import { iso } from "../../../src/core/time.ts";
import { propertyCases } from "../../support/properties.ts";
import { cut, model } from "./fixtures.ts";

// Europe, where March is an hour short, and Samoa, where December 2011 had no 30th.
const PERIODS = [
  periodStartingIn("2024-03", 1, [{ timezone: "Europe/Berlin", from: null }]),
  periodStartingIn("2011-12", 15, [{ timezone: "Pacific/Apia", from: null }]),
];
const SUPPORT: AddOnTerms = {
  id: 7,
  code: "support",
  name: "Support",
  charge: {
    type: "fixed",
    meter_id: null,
    per: "1",
    price: "10",
    free_units: "0",
    usage_tiers: [],
    package_size: null,
    charge_flat_on_zero: false,
    prices: [],
    unmatched: "price",
  },
};

const someBooking = fc.record({
  /** Quarters of an hour from a week before the period. */
  from: fc.nat(4 * 24 * 40),
  length: fc.option(fc.nat(4 * 24 * 40)),
  quantity: fc.integer({ min: 1, max: 3 }),
});

test("a fixed add-on charges each local day with an instant of it, whatever the plans, and no line twice", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...PERIODS),
      fc.array(someBooking, { minLength: 1, maxLength: 4 }),
      fc.option(fc.nat(4 * 24 * 30)),
      (period, bookings, changed_after) => {
        const at = (quarters: number, start = period.from) => start.add({ minutes: 15 * quarters });
        const begun = period.from.subtract({ hours: 24 * 7 });
        const booked = bookings.map(({ from, length, quantity }): BookedAddOn => {
          const start = at(from, begun);
          const until = length === null ? null : iso(at(length, start));
          return { add_on: SUPPORT, quantity: String(quantity), from: iso(start), until };
        });
        const changes = changed_after === null ? [] : ([[iso(at(changed_after)), model({ id: 2 })]] as const);
        const segments = cut(period, [[iso(begun), model()], ...changes]);
        const lines = addOnStretches(period, booked, segments).flatMap(addOnLines);

        // Day by day.
        const boundsOf = ({ from, until }: BookedAddOn) =>
          [from > iso(period.from) ? from : iso(period.from), until ?? iso(period.to)] as const;
        const daysOf = (booking: BookedAddOn) => {
          const [start, end] = boundsOf(booking);
          let days = 0;
          for (
            let day = period.start_date;
            day.toString() < period.end_date.toString();
            day = day.add({ days: 1 })
          ) {
            const midnight = iso(day.toZonedDateTime(period.time_zone).toInstant());
            const next = iso(day.add({ days: 1 }).toZonedDateTime(period.time_zone).toInstant());
            // A day that the zone skipped has no instant; what lives through it has it.
            const is_touched =
              midnight === next ? start < midnight && end > next : start < next && end > midnight;
            if (is_touched && start < end) days += 1;
          }
          return days;
        };
        const days = sum(
          lines.map(({ proration, quantity }) => multiply(quantity, String(proration?.numerator))),
        );
        expect(days).toBe(sum(booked.map((one) => multiply(one.quantity, String(daysOf(one))))));
        for (const { quantity, amount, proration } of lines) {
          const { numerator, denominator } = proration ?? { numerator: 0, denominator: 1 };
          const month = multiply(multiply(quantity, "10"), String(numerator));
          expect(amount).toBe(roundQuotient(month, String(denominator), "EUR"));
          expect(isZero(amount)).toBe(false);
        }
        expect(new Set(lines.map(({ from, to }) => `${from} ${to}`)).size).toBe(lines.length);
      },
    ),
    propertyCases(60),
  );
});
