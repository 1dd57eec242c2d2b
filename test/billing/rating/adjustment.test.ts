import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { roundMoney, sum } from "../../../src/core/money.ts";
import { instant } from "../../../src/core/time.ts";
import { creditMonth } from "../../../src/billing/rating/credit_month.ts";
import { adjustmentLines } from "../../../src/billing/rating/adjustment.ts";
import type { BillLine } from "../../../src/billing/rating/bill_line.ts";
import { billedUnits, rate, total, type Usage } from "../../../src/billing/rating/charges.ts";
import { type PriceTerms } from "../../../src/billing/billing_models/price_terms.ts";
import { segments } from "../../../src/billing/rating/segments.ts";
import { GRADUATED, MARCH, model, NO_EVENTS, utcMonth, VOLUME } from "./fixtures.ts";
import { propertyCases } from "../../support/properties.ts";

interface Event {
  readonly at: Temporal.Instant;
  readonly units: number;
  readonly mark: bigint;
}

/** All that a bill follows from: models in force from day 1, events, and an end. */
interface Facts {
  readonly timeline: readonly { readonly model: PriceTerms; readonly from: Temporal.Instant }[];
  readonly events: readonly Event[];
  readonly ends_at: Temporal.Instant | null;
}

/** Like the usage store's: two sums modulo 2^64, 32 hex digits. */
function usageOf(events: readonly Event[]): Usage {
  const half = (factor: bigint) => {
    const marks = events.reduce((all, { mark }) => all + mark * factor, 0n);
    return BigInt.asUintN(64, marks).toString(16).padStart(16, "0");
  };
  return {
    units: sum(events.map(({ units }) => String(units))),
    event_count: events.length,
    usage_digest: half(1n) + half(0x9e3779b97f4a7c15n),
  };
}

const START = instant("2024-01-01T00:00:00Z");

function expectedOf({ timeline, events, ends_at }: Facts): readonly BillLine[] {
  const parts = segments(MARCH, timeline, { started_at: START, ends_at });
  const used_parts = parts.map((segment) => {
    const within = events.filter(
      ({ at }) =>
        Temporal.Instant.compare(at, segment.from) >= 0 && Temporal.Instant.compare(at, segment.to) < 0,
    );
    return { segment, usage: usageOf(within) };
  });
  return rate(used_parts, "EUR", creditMonth(used_parts, MARCH)).lines;
}

const shown = (lines: readonly BillLine[]) =>
  lines.map(({ description, quantity, amount, event_count }) => [description, quantity, amount, event_count]);

const metered = model({
  id: 1,
  name: "Metered",
  billing_type: "per_unit",
  price: "0.1",
  recurring_fee: "31",
});
const bigger = model({ id: 2, name: "Bigger", billing_type: "per_unit", price: "0.05", recurring_fee: "62" });
const UNPRICED = model({ id: 1, billing_type: "per_unit", price: "1" });
const event = (at: string, units: number, mark: bigint): Event => ({ at: instant(at), units, mark });
const from_start: Facts = { timeline: [{ model: metered, from: START }], events: [], ends_at: null };

describe("difference()", () => {
  test("with nothing on record is every expected line, the zero ones too", () => {
    const expected = expectedOf(from_start);
    expect(adjustmentLines(expected, [], "EUR")).toEqual([...expected]);
    expect(shown(expected)).toEqual([
      ["Metered: monthly fee", "1", "31.00", null],
      ["Metered: usage", "0", "0.00", 0],
    ]);
  });

  test("with all on record is nothing", () => {
    const expected = expectedOf({ ...from_start, events: [event("2024-03-05T00:00:00Z", 10, 7n)] });
    expect(adjustmentLines(expected, expected, "EUR")).toEqual([]);
    expect(adjustmentLines([], [], "EUR")).toEqual([]);
  });

  test("after late usage is the late events alone: their units, count and digest", () => {
    const early = event("2024-03-05T00:00:00Z", 10, 2n ** 64n - 1n);
    const late = event("2024-03-06T00:00:00Z", 4, 5n);
    const recorded = expectedOf({ ...from_start, events: [early] });
    const lines = adjustmentLines(expectedOf({ ...from_start, events: [late, early] }), recorded, "EUR");
    expect(shown(lines)).toEqual([["Adjustment: Metered: usage", "4", "0.40", 1]]);
    expect(lines[0]?.usage_digest).toBe(usageOf([late]).usage_digest);
  });

  test("after a correction that cancels out still accounts for its events", () => {
    const events = [event("2024-03-05T00:00:00Z", 10, 1n)];
    const corrections = [event("2024-03-06T00:00:00Z", 5, 2n), event("2024-03-06T00:00:00Z", -5, 3n)];
    const lines = adjustmentLines(
      expectedOf({ ...from_start, events: [...events, ...corrections] }),
      expectedOf({ ...from_start, events }),
      "EUR",
    );
    expect(shown(lines)).toEqual([["Adjustment: Metered: usage", "0", "0.00", 2]]);
  });

  test("after a retroactive change reverses the vanished segment and adds the new ones", () => {
    const events = [event("2024-03-05T00:00:00Z", 10, 1n), event("2024-03-20T00:00:00Z", 20, 2n)];
    const change = { model: bigger, from: instant("2024-03-15T12:00:00Z") };
    const changed = { ...from_start, events, timeline: [...from_start.timeline, change] };
    const lines = adjustmentLines(expectedOf(changed), expectedOf({ ...from_start, events }), "EUR");
    expect(shown(lines)).toEqual([
      ["Metered: monthly fee, 14 of 31 days", "1", "14.00", null],
      ["Metered: usage", "10", "1.00", 1],
      ["Reversal: Metered: monthly fee", "-1", "-31.00", null],
      ["Reversal: Metered: usage", "-30", "-3.00", -2],
      ["Bigger: monthly fee, 17 of 31 days", "1", "34.00", null],
      ["Bigger: usage", "20", "1.00", 1],
    ]);
    expect(total(lines, "EUR")).toBe("16.00");
    expect(billedUnits(lines)).toBe("0");
  });

  test.each([
    ["usage that is not there", UNPRICED],
    ["a fee of zero", model({ price: "0" })],
  ])("after a change that moves no money, units or events is nothing: %s", (_, free) => {
    const timeline = [{ model: free, from: START }];
    const change = { model: { ...free, id: 2 }, from: instant("2024-03-15T12:00:00Z") };
    const recorded = expectedOf({ ...from_start, timeline });
    const expected = expectedOf({ ...from_start, timeline: [...timeline, change] });
    expect(expected).not.toEqual(recorded);
    expect(adjustmentLines(expected, recorded, "EUR")).toEqual([]);
  });

  test("reverses a fee whose days changed, so that every line is its price by its days", () => {
    // The same stretch, once ended by a cancellation (its day is charged), once by a change (it is not).
    const at = instant("2024-03-15T12:00:00Z");
    const recorded = expectedOf({ ...from_start, ends_at: at });
    const changed = { ...from_start, timeline: [...from_start.timeline, { model: bigger, from: at }] };
    const [charged, reversed] = adjustmentLines(expectedOf(changed), recorded, "EUR");
    expect(charged).toMatchObject({ quantity: "1", amount: "14.00", proration: { numerator: 14 } });
    expect(reversed).toMatchObject({ quantity: "-1", amount: "-15.00", proration: { numerator: 15 } });
  });

  test("drops a true-up that late usage has made up for", () => {
    const floor = model({ name: "Floor", billing_type: "per_unit", price: "1", minimum_charge: "5" });
    const facts = { ...from_start, timeline: [{ model: floor, from: START }] };
    const late = { ...facts, events: [event("2024-03-05T00:00:00Z", 8, 1n)] };
    const lines = adjustmentLines(expectedOf(late), expectedOf(facts), "EUR");
    expect(shown(lines)).toEqual([
      ["Adjustment: Floor: usage", "8", "8.00", 1],
      ["Reversal: Floor: minimum usage charge 5", "-1", "-5.00", null],
    ]);
  });

  test("reverses everything when the period is found to be outside the subscription", () => {
    const recorded = expectedOf({ ...from_start, events: [event("2024-03-05T00:00:00Z", 10, 9n)] });
    const lines = adjustmentLines(
      expectedOf({ ...from_start, ends_at: utcMonth("2024-03").from }),
      recorded,
      "EUR",
    );
    expect(total(lines, "EUR")).toBe("-32.00");
    expect(adjustmentLines([], [...recorded, ...lines], "EUR")).toEqual([]);
  });
});

const plan = { monthly_credits: 20, credit_consumption: "per_unit", overage_rate: "0.333" } as const;
const MODELS = [
  metered,
  bigger,
  model({ id: 3, price: "9.99" }),
  model({ ...GRADUATED, id: 4, price: "3", charge_flat_on_zero: true }),
  model({ ...VOLUME, id: 5, minimum_charge: "12.345", maximum_charge: "50" }),
  model({ id: 6, billing_type: "package", price: "0.7", package_size: "3", free_units: "2" }),
  model({ id: 7, billing_type: "credit", price: "19", credit_plan: plan }),
];

const someTime = fc.integer({ min: -48, max: 31 * 24 + 47 }).map((hours) => MARCH.from.add({ hours }));
const someStep = fc.oneof(
  fc.record({
    kind: fc.constant("event"),
    at: someTime,
    units: fc.integer({ min: -20, max: 60 }),
    mark: fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
  }),
  fc.record({ kind: fc.constant("change"), at: someTime, which: fc.nat(MODELS.length - 1) }),
  fc.record({ kind: fc.constant("end"), at: fc.option(someTime) }),
);
type Step = typeof someStep extends fc.Arbitrary<infer S> ? S : never;

/** One more fact learned. A second change at the same instant replaces the first. */
function learn(facts: Facts, step: Step): Facts {
  if ("units" in step) return { ...facts, events: [...facts.events, step] };
  if (!("which" in step)) return { ...facts, ends_at: step.at };
  const others = facts.timeline.filter(({ from }) => !from.equals(step.at));
  const chosen = MODELS[step.which];
  return chosen ? { ...facts, timeline: [...others, { model: chosen, from: step.at }] } : facts;
}

/** One of the two sums in the lines' digests, together. */
function digests(lines: readonly BillLine[], start: number): bigint {
  const halves = lines.map(({ usage_digest }) => (usage_digest ?? NO_EVENTS).slice(start, start + 16));
  return BigInt.asUintN(
    64,
    halves.reduce((all, half) => all + BigInt(`0x${half}`), 0n),
  );
}

/** What lines say together for each charge, zeros left out. */
function balance(lines: readonly BillLine[]): Record<string, unknown> {
  const charges = Map.groupBy(lines, (line) =>
    [line.kind, line.billing_model_id, line.from, line.to, line.proration?.numerator].join(" "),
  );
  const balances = [...charges].map(([key, group]) => {
    const counts_units = /^(usage|overage) /.test(key);
    const quantity = counts_units ? sum(group.map((line) => line.quantity)) : "";
    const amount = roundMoney(sum(group.map((line) => line.amount)), "EUR");
    const events = group.reduce((all, line) => all + (line.event_count ?? 0), 0);
    return [key, `${quantity} ${amount} ${events} ${digests(group, 0)} ${digests(group, 16)}`] as const;
  });
  const says_nothing = /^0? 0\.00 0 0 0$/;
  return Object.fromEntries(balances.filter(([, said]) => !says_nothing.test(said)));
}

describe("reconciling, whatever is learned in whatever order", () => {
  const history = fc.array(someStep, { minLength: 1, maxLength: 10 });

  test("all records together say what is expected, and a second run finds nothing", () => {
    const property = fc.property(history, (steps) => {
      let facts = from_start;
      const recorded: BillLine[] = [];
      for (const step of steps) {
        facts = learn(facts, step);
        const expected = expectedOf(facts);
        const left = adjustmentLines(expected, recorded, "EUR");
        recorded.push(...left);
        expect(adjustmentLines(expected, recorded, "EUR")).toEqual([]);
        expect(total(recorded, "EUR")).toBe(total(expected, "EUR"));
        expect(billedUnits(recorded)).toBe(billedUnits(expected));
        expect(balance(recorded)).toEqual(balance(expected));
        for (const { amount } of left) expect(amount).toMatch(/^(?!-0\.00)-?\d+\.\d\d$/);
      }
    });
    fc.assert(property, propertyCases(200));
  });

  test("learning all at once or bit by bit ends in the same bill, and order of lines does not matter", () => {
    const property = fc.property(history, history, (first_steps, more_steps) => {
      const first = first_steps.reduce(learn, from_start);
      const recorded = expectedOf(first);
      const expected = expectedOf(more_steps.reduce(learn, first));
      const left = adjustmentLines(expected, recorded, "EUR");
      expect(adjustmentLines(expected.toReversed(), recorded.toReversed(), "EUR")).toEqual(left);
      if (recorded.length > 0) expect(balance([...recorded, ...left])).toEqual(balance(expected));
      expect(left.map(({ from }) => from)).toEqual(left.map(({ from }) => from).toSorted());
    });
    fc.assert(property, propertyCases(200));
  });
});
