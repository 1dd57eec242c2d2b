import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { compare, currencyDigits, toBig, multiply, subtract, sum } from "../../../src/core/money.ts";
import {
  daysOf,
  type Period,
  periodContaining,
  periodsBetween,
  periodStartingIn,
} from "../../../src/core/periods.ts";
import { instant } from "../../../src/core/time.ts";
import { creditMonth } from "../../../src/billing/rating/credit_month.ts";
import { overageLines, type Rating, rate, total } from "../../../src/billing/rating/charges.ts";
import { segments, type TimelineEntry } from "../../../src/billing/rating/segments.ts";
import type { PriceTerms } from "../../../src/billing/billing_models/price_terms.ts";
import { propertyCases } from "../../support/properties.ts";
import { charge, MARCH, model, NO_EVENTS, rateSegment, used, wholeMarch } from "./fixtures.ts";

// What holds of every bill, whatever the calendar.

/** Summer time in halves of an hour, at midnight and at night; a quarter-hour zone; one that skipped a day. */
const ZONES = [
  "Europe/Berlin",
  "America/Sao_Paulo",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "Pacific/Apia",
] as const;
const EPOCH = instant("2000-01-01T00:00:00Z");
const always = (timezone: string) => [{ timezone, from: null }];

interface Event {
  readonly at: Temporal.Instant;
  readonly units: number;
}

const someZone = fc.constantFrom(...ZONES);
const someAnchor = fc.integer({ min: 1, max: 31 });
const someCurrency = fc.constantFrom("JPY", "EUR", "BHD", "CLF");
const somePrice = fc.nat(10 ** 7).map((thousandths) => multiply(String(thousandths), "0.001"));
/** A period that starts in the ten years from June 2008 on. */
const somePeriod = fc
  .tuple(someZone, someAnchor, fc.nat(119))
  .map(([timezone, anchor, months]) =>
    periodStartingIn(
      Temporal.PlainYearMonth.from("2008-06").add({ months }).toString(),
      anchor,
      always(timezone),
    ),
  );

/** The instant at so many millionths of the way through a period. */
function within({ from, to }: Period, millionths: number): Temporal.Instant {
  const length = to.epochMilliseconds - from.epochMilliseconds;
  return from.add({ milliseconds: Math.floor((length * millionths) / 1_000_000) });
}
const somePlaces = fc.uniqueArray(fc.nat(999_999), { maxLength: 6 });

/** Rates a period from events, as a bill does. */
function billOf(
  period: Period,
  timeline: readonly TimelineEntry[],
  events: readonly Event[],
  life: { started_at?: Temporal.Instant; ends_at?: Temporal.Instant } = {},
): Rating {
  const { started_at = EPOCH, ends_at = null } = life;
  const parts = segments(period, timeline, { started_at, ends_at }).map((segment) => {
    const own = events.filter(({ at }) => isWithin(at, segment));
    const units = sum(own.map((event) => String(event.units)));
    return { segment, usage: { units, event_count: own.length, usage_digest: NO_EVENTS } };
  });
  return rate(parts, timeline[0]?.model.currency ?? "EUR", null);
}

function isWithin(
  at: Temporal.Instant,
  { from, to }: { from: Temporal.Instant; to: Temporal.Instant },
): boolean {
  return Temporal.Instant.compare(from, at) <= 0 && Temporal.Instant.compare(at, to) < 0;
}

/** Whether two amounts differ by no more than the rounding of so many lines. */
function expectWithinRounding(a: string, b: string, lines: number, currency: string): void {
  const half_unit = toBig(`5e-${currencyDigits(currency) + 1}`).toFixed();
  const off = toBig(subtract(a, b)).abs().toFixed();
  const context = `${a} and ${b}, ${lines} lines`;
  expect(compare(off, multiply(String(lines), half_unit)), context).not.toBe(1);
}

describe("parts sum to the whole", () => {
  test.each(ZONES)("for every anchor day over ten years: %s", (timezone) => {
    const [first, second] = [model({ price: "31.41" }), model({ id: 2, price: "31.41" })];
    let counted = 0;
    for (let anchor = 1; anchor <= 31; anchor++) {
      const months = periodsBetween(
        instant("2008-06-15T12:00:00Z"),
        instant("2018-06-15T12:00:00Z"),
        anchor,
        always(timezone),
      );
      for (const period of months) {
        const whole = billOf(period, [{ model: first, from: EPOCH }], []);
        expect(whole.total).toBe("31.41");
        // Cut at another day each time, so that all of them have their turn.
        const from = period.start_date.add({ days: counted++ % daysOf(period) });
        const change = { model: second, from: from.toZonedDateTime(timezone).toInstant() };
        const { lines, total: split } = billOf(period, [{ model: first, from: EPOCH }, change], []);
        expectWithinRounding(split, "31.41", lines.length, "EUR");
        expect(lines.reduce((days, { proration }) => days + (proration?.numerator ?? 0), 0)).toBe(
          daysOf(period),
        );
      }
    }
    expect(counted).toBeGreaterThanOrEqual(31 * 120);
  });

  test("wherever a period is split, at one price: fee and usage", () => {
    const property = fc.property(
      somePeriod,
      somePlaces,
      fc.array(fc.tuple(fc.nat(999_999), fc.nat(10 ** 6)), { maxLength: 8 }),
      fc.tuple(somePrice, somePrice),
      someCurrency,
      (period, cuts, uses, [price, recurring_fee], currency) => {
        const facts = model({ billing_type: "per_unit", price, recurring_fee, currency });
        const events = uses.map(([place, units]) => ({ at: within(period, place), units }));
        const whole = billOf(period, [{ model: facts, from: EPOCH }], events);
        const changes = cuts.map((place, i) => ({
          model: { ...facts, id: i + 2 },
          from: within(period, place),
        }));
        const split = billOf(period, [{ model: facts, from: EPOCH }, ...changes], events);
        const lines = whole.lines.length + split.lines.length;
        expectWithinRounding(split.total, whole.total, lines, currency);
      },
    );
    fc.assert(property, propertyCases(300));
  });

  test("wherever a period without usage is split, at one minimum", () => {
    const property = fc.property(
      somePeriod,
      somePlaces,
      somePrice,
      someCurrency,
      (period, cuts, minimum, currency) => {
        const facts = model({ billing_type: "per_unit", minimum_charge: minimum, currency });
        const changes = cuts.map((place, i) => ({
          model: { ...facts, id: i + 2 },
          from: within(period, place),
        }));
        const whole = billOf(period, [{ model: facts, from: EPOCH }], []);
        const split = billOf(period, [{ model: facts, from: EPOCH }, ...changes], []);
        expectWithinRounding(split.total, whole.total, whole.lines.length + split.lines.length, currency);
      },
    );
    fc.assert(property, propertyCases(300));
  });

  test("one that ends and one that begins at an instant share its day, and no other", () => {
    const property = fc.property(somePeriod, fc.integer({ min: 1, max: 999_999 }), (period, place) => {
      const at = within(period, place);
      const timeline = [{ model: model(), from: EPOCH }];
      const days = [{ ends_at: at }, { started_at: at }].map((life) => {
        const parts = segments(period, timeline, { started_at: EPOCH, ends_at: null, ...life });
        return parts[0]?.proration.numerator ?? 0;
      });
      expect(sum(days.map(String))).toBe(String(daysOf(period) + 1));
    });
    fc.assert(property, propertyCases(300));
  });

  test("every event of a life is billed in one period and one segment, once", () => {
    const property = fc.property(
      fc.tuple(someZone, someAnchor, fc.nat(119)),
      fc.array(fc.tuple(fc.nat(365 * 24 * 3600), fc.integer({ min: 1, max: 10 ** 6 })), { maxLength: 12 }),
      fc.array(fc.nat(365 * 24 * 3600), { maxLength: 4 }),
      ([timezone, anchor, months], uses, cuts) => {
        const first_month = Temporal.PlainYearMonth.from("2008-06").add({ months });
        const { from } = periodStartingIn(first_month.toString(), anchor, always(timezone));
        const events = uses.map(([seconds, units]) => ({ at: from.add({ seconds }), units }));
        const facts = model({ billing_type: "per_unit", price: "1" });
        const changes = cuts.map((seconds, i) => ({
          model: { ...facts, id: i + 2 },
          from: from.add({ seconds }),
        }));
        const timeline = [{ model: facts, from: EPOCH }, ...changes];
        const until = from.add({ hours: 366 * 24 });
        const bills = [...periodsBetween(from, until, anchor, always(timezone))].map((period) =>
          billOf(period, timeline, events),
        );
        expect(
          total(
            bills.flatMap(({ lines }) => lines),
            "EUR",
          ),
        ).toBe(total(billOf(spanOf(from, until), [{ model: facts, from: EPOCH }], events).lines, "EUR"));
        const counted = bills.flatMap(({ lines }) => lines.map(({ event_count }) => event_count ?? 0));
        expect(counted.reduce((all, count) => all + count, 0)).toBe(events.length);
        for (const { at } of events) {
          expect(isWithin(at, periodContaining(at, anchor, always(timezone)))).toBe(true);
        }
      },
    );
    fc.assert(property, propertyCases(100));
  });
});

/** A stretch of time as if it were one period, to hold many against one. */
function spanOf(from: Temporal.Instant, to: Temporal.Instant): Period {
  const [start_date, end_date] = [from, to].map((at) => at.toZonedDateTimeISO("UTC").toPlainDate());
  if (!start_date || !end_date) throw new Error("no dates");
  return { from, to, start_date, end_date, time_zone: "UTC" };
}

/** One to four tiers, the last one open. */
const someTiers = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 400 }), fc.nat(500), fc.nat(500)), { minLength: 1, maxLength: 4 })
  .map((steps) => {
    let bound = 0;
    return steps.map(([width, price, flat], i) => {
      bound += width;
      const up_to = i === steps.length - 1 ? null : multiply(String(bound), "0.1");
      return { up_to, unit_price: multiply(`${price}`, "0.01"), flat_fee: multiply(`${flat}`, "0.01") };
    });
  });

/** Limits that do not cross, or none. */
const someLimits = fc
  .tuple(fc.option(fc.nat(10_000)), fc.option(fc.nat(10_000)))
  .map(([low, more]): Partial<PriceTerms> => {
    const minimum_charge = low === null ? null : multiply(`${low}`, "0.01");
    const maximum_charge = more === null ? null : sum([minimum_charge ?? "0", multiply(`${more}`, "0.01")]);
    return { minimum_charge, maximum_charge };
  });

/** Types under which more units never cost less; volume is not one of them. */
const someRising: fc.Arbitrary<Partial<PriceTerms>> = fc
  .tuple(
    fc.constantFrom("per_unit", "graduated", "package"),
    somePrice,
    fc.nat(300),
    fc.integer({ min: 1, max: 200 }),
    someTiers,
    fc.tuple(someLimits, fc.boolean()),
  )
  .map(([billing_type, price, free, size, usage_tiers, [limits, charge_flat_on_zero]]) => {
    if (billing_type === "graduated") {
      return { billing_type, price: "0", usage_tiers, charge_flat_on_zero, ...limits };
    }
    const free_units = multiply(`${free}`, "0.1");
    const package_size = billing_type === "package" ? multiply(`${size}`, "0.1") : null;
    return { billing_type, price, free_units, package_size, ...limits };
  });

const someUnits = fc.integer({ min: -500, max: 3_000 }).map((tenths) => multiply(`${tenths}`, "0.1"));
const someMore = fc.nat(1_000).map((hundredths) => multiply(`${hundredths}`, "0.01"));

describe("a bill never falls", () => {
  test("when more is used, but for volume tiers: per unit, graduated, packages, with their limits", () => {
    const property = fc.property(
      someRising,
      someUnits,
      someMore,
      someCurrency,
      (given, units, more, currency) => {
        const [less, plenty] = [units, sum([units, more])].map((of) => charge({ ...given, currency }, of));
        expect(compare(plenty ?? "", less ?? "")).not.toBe(-1);
        expect(compare(less ?? "", "0")).not.toBe(-1);
      },
    );
    fc.assert(property, propertyCases(500));
  });

  test("when more is used inside one volume tier", () => {
    const property = fc.property(
      someTiers,
      someLimits,
      someUnits,
      someMore,
      (usage_tiers, limits, units, more) => {
        const tierOf = (of: string) =>
          usage_tiers.findIndex(({ up_to }) => up_to === null || compare(of, up_to) <= 0);
        const plenty = sum([units, more]);
        fc.pre(compare(units, "0") === 1 && tierOf(units) === tierOf(plenty));
        const given = { billing_type: "volume", price: "0", usage_tiers, ...limits } as const;
        expect(compare(charge(given, plenty), charge(given, units))).not.toBe(-1);
      },
    );
    fc.assert(property, propertyCases(300));
  });

  test("when a subscription begins earlier or ends later", () => {
    const property = fc.property(
      somePeriod,
      fc.tuple(fc.nat(999_999), fc.nat(999_999)),
      somePrice,
      (period, [one, other], price) => {
        const [early, late] = [one, other].toSorted((a, b) => a - b).map((place) => within(period, place));
        if (!early || !late) return;
        const timeline = [{ model: model({ price }), from: EPOCH }];
        const cost = (life: { started_at?: Temporal.Instant; ends_at?: Temporal.Instant }) =>
          billOf(period, timeline, [], life).total;
        expect(compare(cost({ started_at: early }), cost({ started_at: late }))).not.toBe(-1);
        expect(compare(cost({ ends_at: late }), cost({ ends_at: early }))).not.toBe(-1);
        expect(compare(cost({}), cost({ started_at: early }))).not.toBe(-1);
        expect(compare(cost({}), cost({ ends_at: late }))).not.toBe(-1);
      },
    );
    fc.assert(property, propertyCases(300));
  });

  test("when more credits are used, and never rises when more are given", () => {
    const credit_plan = { credit_consumption: "per_unit", overage_rate: "0.015" } as const;
    const overage = (consumed: number, monthly_credits: number) => {
      const plan = { ...credit_plan, monthly_credits };
      const segment = wholeMarch({ billing_type: "credit", credit_plan: plan });
      const month = creditMonth([{ segment, usage: used(`${consumed}`) }], MARCH);
      return month ? sum(overageLines(month).map(({ amount }) => amount)) : "0";
    };
    const property = fc.property(
      fc.nat(9_999),
      fc.nat(999),
      fc.nat(9_999),
      fc.nat(999),
      (used_up, more, given, extra) => {
        expect(compare(overage(used_up + more, given), overage(used_up, given))).not.toBe(-1);
        expect(compare(overage(used_up, given + extra), overage(used_up, given))).not.toBe(1);
      },
    );
    fc.assert(property, propertyCases(300));
  });
});

describe("a bill", () => {
  test("does not depend on the order of events and changes", () => {
    const property = fc.property(
      somePeriod,
      fc.array(fc.tuple(fc.nat(999_999), fc.integer({ min: -300, max: 3_000 })), { maxLength: 10 }),
      fc.array(fc.tuple(fc.nat(999_999), someRising), { maxLength: 4 }),
      fc.infiniteStream(fc.nat(1_000)),
      (period, uses, changes, dice) => {
        const events = uses.map(([place, units]) => ({ at: within(period, place), units: units / 10 }));
        const timeline = [
          { model: model(), from: EPOCH },
          ...new Map(changes).entries().map(([place, given], i) => ({
            model: model({ ...given, id: i + 2 }),
            from: within(period, place),
          })),
        ];
        const shuffled = <T>(list: readonly T[]) =>
          list
            .map((item) => ({ item, place: dice.next().value }))
            .toSorted((a, b) => a.place - b.place)
            .map(({ item }) => item);
        expect(billOf(period, shuffled(timeline), shuffled(events))).toEqual(
          billOf(period, timeline, events),
        );
      },
    );
    fc.assert(property, propertyCases(300));
  });

  test("has lines of the currency's digits that sum to its total", () => {
    const property = fc.property(someRising, someUnits, someCurrency, (given, units, currency) => {
      const lines = rateSegment(wholeMarch({ ...given, currency }), used(units));
      const digits = currencyDigits(currency);
      for (const { amount } of lines) {
        expect(amount).toMatch(digits === 0 ? /^-?\d+$/ : new RegExp(`^-?\\d+\\.\\d{${digits}}$`));
      }
      expect(compare(total(lines, currency), sum(lines.map(({ amount }) => amount)))).toBe(0);
    });
    fc.assert(property, propertyCases(300));
  });
});
