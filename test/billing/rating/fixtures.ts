import { type Period, periodStartingIn } from "../../../src/core/periods.ts";
import { instant } from "../../../src/core/time.ts";
import type { BillLine } from "../../../src/billing/rating/bill_line.ts";
import { rateStretch, total, type Usage, type UsedSegment } from "../../../src/billing/rating/charges.ts";
import { type PriceTerms } from "../../../src/billing/billing_models/price_terms.ts";
import { type Segment, segments, type TimelineEntry } from "../../../src/billing/rating/segments.ts";

/** A flat model of 31.00 EUR, but for what is given. */
export function model(given: Partial<PriceTerms> = {}): PriceTerms {
  return {
    id: 1,
    name: "Plan",
    billing_type: "flat",
    price: "31",
    currency: "EUR",
    recurring_fee: "0",
    free_units: "0",
    usage_tiers: [],
    package_size: null,
    minimum_charge: null,
    maximum_charge: null,
    charge_flat_on_zero: false,
    credit_plan: null,
    meter_id: null,
    charges: [],
    commitment: null,
    setup_fee: "0",
    trial_days: 0,
    fee_interval: "month",
    fee_timing: "in_arrears",
    ...given,
  };
}

/** The calendar month in UTC. */
export function utcMonth(year_month: string): Period {
  return periodStartingIn(year_month, 1, [{ timezone: "UTC", from: null }]);
}

export const MARCH = utcMonth("2024-03");

/** Segments of a period under models in force from the given instants; the first one is the start. */
export function cut(
  period: Period,
  models: readonly (readonly [from: string, model: PriceTerms])[],
  ends_at: string | null = null,
): Segment[] {
  const timeline = models.map(
    ([from, in_force]): TimelineEntry => ({ model: in_force, from: instant(from) }),
  );
  const [first] = timeline;
  if (!first) return [];
  return segments(period, timeline, {
    started_at: first.from,
    ends_at: ends_at === null ? null : instant(ends_at),
  });
}

/** One segment: the model through all of March 2024, 31 days. */
export function wholeMarch(given: Partial<PriceTerms> = {}): Segment {
  const [segment] = cut(MARCH, [["2024-01-01T00:00:00Z", model(given)]]);
  if (!segment) throw new Error("March has no segment");
  return segment;
}

export const NO_EVENTS = "0".repeat(32);

/** Units in one event; its digest does not matter. */
export function used(units: string): Usage {
  return { units, event_count: 1, usage_digest: `${"0".repeat(31)}1` };
}

export const UNUSED: Usage = { units: "0", event_count: 0, usage_digest: NO_EVENTS };

/** The tiers of the graduated worked example: ≤ 10 at 10 + flat 2; ≤ 20 at 5 + 3; rest 5 + 3. */
export const GRADUATED: Partial<PriceTerms> = {
  billing_type: "graduated",
  price: "0",
  usage_tiers: [
    { up_to: "10", unit_price: "10", flat_fee: "2" },
    { up_to: "20", unit_price: "5", flat_fee: "3" },
    { up_to: null, unit_price: "5", flat_fee: "3" },
  ],
};

/** The tiers of the volume worked example: ≤ 100 at 2 + 10; ≤ 200 at 1; rest 0.5 + 50. */
export const VOLUME: Partial<PriceTerms> = {
  billing_type: "volume",
  price: "0",
  usage_tiers: [
    { up_to: "100", unit_price: "2", flat_fee: "10" },
    { up_to: "200", unit_price: "1", flat_fee: "0" },
    { up_to: null, unit_price: "0.5", flat_fee: "50" },
  ],
};

/** A stretch of one segment. */
export function rateSegment(segment: Segment, usage: Usage): BillLine[] {
  return rateStretch([{ segment, usage }]);
}

export function amounts(lines: readonly BillLine[]): string[] {
  return lines.map(({ kind, amount }) => `${kind} ${amount}`);
}

export function unused(parts: readonly Segment[]): UsedSegment[] {
  return parts.map((segment) => ({ segment, usage: UNUSED }));
}

/** What units cost under a model that has no fee. */
export function charge(given: Partial<PriceTerms>, units: string): string {
  const segment = wholeMarch(given);
  return total(rateSegment(segment, used(units)), segment.model.currency);
}
