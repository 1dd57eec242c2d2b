// Bills of plans with charges, worked out from docs/billing.md in whole numbers, without the program's rating.

import { creditsOver, type Facts, joined, type Month, type Slice, slicesOf } from "../../sim/bill_model.ts";
import {
  chargesOf,
  type SoldCharge,
  type SoldMeter,
  type SoldPlan,
  type UnitTerms,
  type UnitType,
} from "./sold_plans.ts";

/** A line of a bill. Quantities are in trillionths, amounts in minor units of the currency. */
export interface ModelLine {
  kind: string;
  plan_id: number;
  from_ms: number;
  to_ms: number;
  days: number | null;
  code: string | null;
  match: string;
  quantity: bigint;
  unit_price: bigint | null;
  minor: bigint;
  events: number;
  skipped: number;
  digest: bigint;
}

/** What is counted of a slice: by the position of the price that fits, -1 where none does. */
export interface Counted {
  part: number;
  /** Trillionths; corrections may bring it below zero. */
  quantity: bigint;
  events: number;
  corrections: number;
  skipped: number;
  /** Two sums modulo 2^64, as one number of 128 bits. */
  digest: bigint;
}

/** Counts the events of a slice by a meter, or all usage where there is none. */
export type Count = (
  meter: SoldMeter | null,
  matches: readonly Record<string, string>[],
  slice: Slice<SoldPlan>,
) => readonly Counted[];

type Stretch = readonly [Slice<SoldPlan>, ...Slice<SoldPlan>[]];

const ONE = 10n ** 12n;
const NOTHING: Counted = { part: -1, quantity: 0n, events: 0, corrections: 0, skipped: 0, digest: 0n };

/** Trillionths of a decimal text. */
export function dec(text: string): bigint {
  const [, sign = "", whole = "0", part = ""] = /^(-?)(\d+)\.?(\d*)$/.exec(text) ?? [];
  const size = BigInt(whole + part.padEnd(12, "0"));
  return sign === "-" ? -size : size;
}

const most = (a: bigint, b: bigint) => (a > b ? a : b);
const least = (a: bigint, b: bigint) => (a < b ? a : b);
/** a / b to the nearest whole, halves away from zero. */
const nearest = (a: bigint, b: bigint): bigint => (a < 0n ? -nearest(-a, b) : (2n * a + b) / (2n * b));
const started = (units: bigint, size: bigint) => (units + size - 1n) / size;

/** Whether what is counted of two slices adds up to what is counted of both. */
const addsUp = (meter: SoldMeter | null) =>
  meter === null || ["count", "sum", "weighted_sum"].includes(meter.aggregation);

/** Rates months in a currency of so many digits. */
export class MonthRating {
  readonly #minor: bigint;
  readonly #month_days: bigint;
  readonly #count: Count;

  constructor(digits: number, month_days: number, count: Count) {
    this.#minor = 10n ** BigInt(digits);
    this.#month_days = BigInt(month_days);
    this.#count = count;
  }

  /** The lines of a month that is cut into slices, in no order. */
  lines(slices: readonly Slice<SoldPlan>[]): ModelLine[] {
    const lines = joined(slices).flatMap((stretch) => this.#stretch(stretch));
    return [...lines, ...this.#overage(slices)];
  }

  #stretch(stretch: Stretch): ModelLine[] {
    const [{ plan }] = stretch;
    const { type, fee, minimum, maximum, commitment } = plan;
    const days = stretch.reduce((sum, slice) => sum + slice.days, 0);
    const whole = wholeOf(stretch);
    const lines: ModelLine[] = [];
    const add = (kind: string, minor: bigint, by_days = false) =>
      void lines.push({ ...whole, kind, minor, days: by_days ? days : null });

    const used = this.#usage(stretch, days > 0);
    lines.push(...used);
    let charged = sumOf(used);
    if (maximum !== null && charged > this.#money(maximum)) {
      add("maximum_cap", this.#money(maximum) - charged);
      charged = this.#money(maximum);
    }
    if (minimum !== null && charged < this.#share(minimum, days)) {
      add("minimum_true_up", this.#share(minimum, days) - charged, true);
      charged = this.#share(minimum, days);
    }
    const charges = chargesOf(plan).flatMap((charge) =>
      charge.type === "fixed" ? this.#fixed(charge, stretch, days) : this.#metered(charge, stretch, days > 0),
    );
    lines.push(...charges);
    charged += sumOf(charges);
    const { minimum: least_of_all = null, maximum: most_of_all = null } =
      commitment?.interval === "month" ? commitment : {};
    if (most_of_all !== null && charged > this.#money(most_of_all)) {
      add("commitment_cap", this.#money(most_of_all) - charged);
      charged = this.#money(most_of_all);
    }
    if (least_of_all !== null && charged < this.#share(least_of_all, days))
      add("commitment_true_up", this.#share(least_of_all, days) - charged, true);
    if (days > 0 && (dec(fee) > 0n || type === "flat" || type === "credit"))
      lines.push({ ...whole, kind: "fee", unit_price: dec(fee), minor: this.#share(fee, days), days });
    return lines;
  }

  /** The lines of the own type: of each slice, which goes on where the one before ended. */
  #usage(stretch: Stretch, owns_a_day: boolean): ModelLine[] {
    const [{ plan }] = stretch;
    const { type, meter } = plan;
    const is_free = type === "flat" || type === "credit";
    let [units, before] = [0n, 0n];
    return stretch.flatMap((slice, i) => {
      const counted = this.#count(meter, [], slice)[0] ?? NOTHING;
      const quantity = most(0n, counted.quantity);
      if (!addsUp(meter)) [units, before] = [0n, 0n];
      units += quantity;
      const so_far = is_free ? 0n : this.#cost(type, plan, units, ONE, owns_a_day);
      const minor = so_far - before;
      before = so_far;
      if (is_free && counted.events === 0) return [];
      const has_price = (type === "per_unit" || type === "package") && (i === 0 || !addsUp(meter));
      const unit_price = has_price ? dec(plan.price) : null;
      const skipped = meter === null ? 0 : counted.skipped;
      const facts = { quantity, minor, unit_price, events: counted.events, skipped, digest: counted.digest };
      return [{ ...wholeOf([slice]), kind: "usage", ...facts }];
    });
  }

  /** A month's price × quantity, by days. */
  #fixed({ code, price, quantity }: SoldCharge, stretch: Stretch, days: number): ModelLine[] {
    if (days === 0) return [];
    const month = dec(price) * dec(quantity) * BigInt(days) * this.#minor;
    const minor = nearest(month, ONE * ONE * this.#month_days);
    const facts = { quantity: dec(quantity), unit_price: dec(price), minor, days, code, match: "null" };
    return [{ ...wholeOf(stretch), kind: "charge", ...facts }];
  }

  #metered(charge: SoldCharge, stretch: Stretch, owns_a_day: boolean): ModelLine[] {
    const { type, meter, prices, per, unmatched_is_free } = charge;
    if (type === "fixed") return [];
    const matches = prices.map(({ match }) => match);
    const is_tiered = type === "graduated" || type === "volume";
    const tariffs: { part: number; match: Record<string, string> | null; terms: UnitTerms | null }[] = [
      ...prices.map((price, part) => ({
        part,
        match: price.match,
        terms: { ...price, flat_on_zero: charge.flat_on_zero },
      })),
      { part: -1, match: null, terms: unmatched_is_free ? null : charge },
    ];
    return tariffs.flatMap(({ part, match, terms }) => {
      let [units, before, is_first] = [0n, 0n, true];
      return stretch.flatMap((slice) => {
        const counted = this.#count(meter, matches, slice).find((one) => one.part === part) ?? NOTHING;
        const quantity = most(0n, counted.quantity);
        if (!addsUp(meter)) [units, before, is_first] = [0n, 0n, true];
        units += quantity;
        const so_far = terms === null ? 0n : this.#cost(type, terms, units, dec(per), owns_a_day);
        const minor = so_far - before;
        before = so_far;
        const { events, skipped, digest } = counted;
        if (events === 0 && skipped === 0 && minor === 0n) return [];
        const unit_price = terms === null ? 0n : is_tiered || !is_first ? null : dec(terms.price);
        is_first = false;
        const facts = { quantity, minor, unit_price, events, skipped, digest };
        const key = { code: charge.code, match: matchText(match) };
        return [{ ...wholeOf([slice]), kind: "charge", ...facts, ...key }];
      });
    });
  }

  #overage(slices: readonly Slice<SoldPlan>[]): ModelLine[] {
    const over = creditsOver(slices, this.#month_days, (slice) => {
      const counted = this.#count(slice.plan.meter, [], slice)[0] ?? NOTHING;
      const { events, corrections, quantity } = counted;
      const by_rates = slice.plan.rates.map(({ meter, credits }) => {
        const units = this.#count(meter, [], slice)[0]?.quantity ?? 0n;
        return units * BigInt(credits);
      });
      const units = by_rates.length === 0 ? quantity : by_rates.reduce((sum, one) => sum + one, 0n);
      return { calls: BigInt(events - 2 * corrections), units: units / 10n ** 6n };
    });
    return joined(slices.filter((slice) => over.has(slice))).flatMap((stretch) => {
      const { overage_rate } = stretch[0].plan;
      const credits = stretch.reduce((sum, slice) => sum + (over.get(slice) ?? 0n), 0n);
      if (overage_rate === null || credits === 0n) return [];
      const minor = nearest(credits * dec(overage_rate) * this.#minor, ONE);
      const facts = { quantity: credits * ONE, unit_price: dec(overage_rate), minor };
      return [{ ...wholeOf(stretch), kind: "overage", ...facts }];
    });
  }

  /** What so many units cost, rounded once. Unit prices are per so many, flat fees are not. */
  #cost(type: UnitType, terms: UnitTerms, units: bigint, per: bigint, owns_a_day: boolean): bigint {
    return nearest(unitCost(type, terms, units, per, owns_a_day) * this.#minor, ONE * per);
  }

  #money(text: string): bigint {
    return nearest(dec(text) * this.#minor, ONE);
  }

  /** A month's amount by days. */
  #share(text: string, days: number): bigint {
    return nearest(dec(text) * BigInt(days) * this.#minor, ONE * this.#month_days);
  }
}

/** What units cost, times `per` and trillionths. */
function unitCost(
  type: UnitType,
  { price, free_units, tiers, flat_on_zero, package_size }: UnitTerms,
  units: bigint,
  per: bigint,
  owns_a_day: boolean,
): bigint {
  const billable = most(0n, units - dec(free_units));
  if (type === "per_unit") return billable * dec(price);
  if (type === "package") return started(billable, dec(package_size)) * dec(price) * per;
  const flat = (tier: { flat_fee: string } | undefined) =>
    owns_a_day && tier ? dec(tier.flat_fee) * per : 0n;
  if (units === 0n) return flat_on_zero ? flat(tiers[0]) : 0n;
  if (type === "volume") {
    const tier = tiers.find(({ up_to }) => up_to === null || units <= dec(up_to));
    return units * dec(tier?.unit_price ?? "0") + flat(tier);
  }
  let [cost, below] = [0n, 0n];
  for (const tier of tiers) {
    if (units <= below) break;
    const top = tier.up_to === null ? units : least(units, dec(tier.up_to));
    cost += (top - below) * dec(tier.unit_price) + flat(tier);
    below = top;
  }
  return cost;
}

/** The lines of a subscription's month. */
export function linesOfMonth(
  facts: Facts<SoldPlan>,
  month: Month,
  digits: number,
  count: Count,
): ModelLine[] {
  const rating = new MonthRating(digits, month.first.until(month.next).days, count);
  return rating.lines(slicesOf(facts, month));
}

/** A line of a stretch, still without what it is of. */
function wholeOf(stretch: Stretch): ModelLine {
  const [{ plan, from_ms }] = stretch;
  return {
    kind: "",
    plan_id: plan.id,
    from_ms,
    to_ms: Math.max(...stretch.map(({ to_ms }) => to_ms)),
    days: null,
    code: null,
    match: "",
    quantity: ONE,
    unit_price: null,
    minor: 0n,
    events: 0,
    skipped: 0,
    digest: 0n,
  };
}

const sumOf = (lines: readonly ModelLine[]) => lines.reduce((sum, { minor }) => sum + minor, 0n);

/** The text of a match, whatever the order of its keys. */
export function matchText(match: Record<string, string> | null): string {
  return match === null
    ? "null"
    : JSON.stringify(Object.entries(match).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
