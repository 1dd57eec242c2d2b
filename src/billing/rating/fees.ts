import { isZero, multiply, roundMoney, roundQuotient, type Decimal } from "../../core/money.ts";
import { daysOf, type Period } from "../../core/periods.ts";
import type { BillingType } from "../billing_models/billing_types.ts";
import { type FeeInterval, MONTHS_OF } from "../billing_models/fee_terms.ts";
import { billLine, type BillLine } from "./bill_line.ts";
import {
  joinStretches,
  type Life,
  type Proration,
  type Segment,
  segments,
  stretchesOf,
  type TimelineEntry,
} from "./segments.ts";

/** The field of the fee; `price` is that of one unit or package where it is not the fee. */
export const FEE_FIELDS: Readonly<Record<BillingType, "price" | "recurring_fee">> = {
  flat: "price",
  per_unit: "recurring_fee",
  graduated: "price",
  volume: "price",
  package: "recurring_fee",
  credit: "price",
};

const INTERVAL_NAMES: Readonly<Record<FeeInterval, string>> = {
  month: "monthly",
  quarter: "quarterly",
  half_year: "half-yearly",
  year: "yearly",
};

/** value × days / days of the period, rounded once. */
export function prorated(value: Decimal, { numerator, denominator }: Proration, currency: string): Decimal {
  return roundQuotient(multiply(value, String(numerator)), String(denominator), currency);
}

/** The fee by its days, none without a day. A flat or credit plan shows its fee even when it is zero. */
export function feeLine(segment: Segment): BillLine | null {
  const { model, proration, is_trial } = segment;
  const { billing_type, fee_interval, currency } = model;
  const fee = model[FEE_FIELDS[billing_type]];
  const is_plan = billing_type === "flat" || billing_type === "credit";
  if (proration.numerator === 0 || (isZero(fee) && !is_plan)) return null;
  const { numerator, denominator } = proration;
  const days = numerator < denominator ? `, ${numerator} of ${denominator} days` : "";
  const charged = is_trial ? "0" : fee;
  return billLine(segment, {
    kind: "fee",
    description: `${INTERVAL_NAMES[fee_interval]} fee${days}`,
    unit_price: charged,
    amount: prorated(charged, proration, currency),
    proration,
    ...(fee_interval === "month" ? {} : { fee_interval }),
  });
}

/** The setup fee of the plan under which a subscription begins: the first that owns a day. Decision 0242. */
export function setupLines(
  stretches: readonly (readonly [{ segment: Segment }, ...{ segment: Segment }[]])[],
) {
  if (!stretches[0]?.[0].segment.is_first) return [];
  const first = stretches.map(joinStretches).find(({ proration }) => proration.numerator > 0);
  if (!first || isZero(first.model.setup_fee)) return [];
  const { model, from, to } = first;
  const { setup_fee: unit_price, currency } = model;
  const amount = roundMoney(unit_price, currency);
  return [billLine({ model, from, to }, { kind: "setup", description: "setup fee", unit_price, amount })];
}

/** The intervals beyond a month of which one begins with a period, so many periods after the first. */
export function intervalsBeginning(
  timeline: readonly TimelineEntry[],
  months_before: number,
): Exclude<FeeInterval, "month">[] {
  return (["quarter", "half_year", "year"] as const).filter(
    (interval) =>
      months_before % MONTHS_OF[interval] === 0 &&
      timeline.some(({ model }) => model.fee_interval === interval),
  );
}

/**
 * The fees of an interval beyond a month, by the days of its months: each plan's for the days that it is in force.
 * `months`: the periods of the interval. Decision 0243.
 */
export function intervalFees(
  interval: FeeInterval,
  months: readonly Period[],
  timeline: readonly TimelineEntry[],
  life: Life,
): BillLine[] {
  const denominator = months.reduce((days, month) => days + daysOf(month), 0);
  const parts = months.flatMap((month) =>
    segments(month, timeline, life).map(({ proration, ...segment }) => ({
      segment: { ...segment, proration: { ...proration, denominator } },
    })),
  );
  return stretchesOf(parts)
    .map(joinStretches)
    .filter(({ model }) => model.fee_interval === interval)
    .flatMap((stretch) => feeLine(stretch) ?? []);
}
