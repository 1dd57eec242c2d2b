import {
  monthsBetween,
  type Period,
  periodContaining,
  periodsFrom,
  recordedPeriod,
  type ZoneTimeline,
} from "../../core/periods.ts";
import { type IsoInstant, instant } from "../../core/time.ts";
import { type FeeInterval, MONTHS_OF } from "../billing_models/fee_terms.ts";
import { namedMeters, priceTermsOf } from "../billing_models/price_terms.ts";
import type { StoredBillingModel } from "../billing_models/model.ts";
import { type AddOnStretch, addOnStretches, type BookedAddOn } from "../rating/add_on_lines.ts";
import type { BilledPart } from "../rating/billed_parts.ts";
import type { BillLine } from "../rating/bill_line.ts";
import { type CommitmentYear, yearlyCommitmentLines } from "../rating/commitment_years.ts";
import { intervalFees, intervalsBeginning } from "../rating/fees.ts";
import { type Life, type Segment, segments, type TimelineEntry } from "../rating/segments.ts";

/** A subscription with the terms that it is billed by. */
export interface BillableSubscription {
  id: number;
  started_at: IsoInstant;
  ends_at: IsoInstant | null;
  billing_anchor_day: number;
  /** Its own; null: its model's. */
  trial_days: number | null;
  /** The model in force now. */
  billing_model: StoredBillingModel;
  /** Every model that was in force, ascending by the instants from which. */
  timeline: readonly { readonly billing_model: StoredBillingModel; readonly from: IsoInstant }[];
  /** In the order of `orderOfBookings`. */
  add_ons: readonly BookedAddOn[];
}

/** A period of a subscription; the subscription as it was read. */
export interface SubscriptionPeriod {
  readonly subscription: BillableSubscription;
  readonly period: Period;
}

/** A period to bill. */
export interface DuePeriod extends SubscriptionPeriod {
  /** The periods of each interval beyond a month that begins with it, where a fee is for so long. */
  readonly intervals: readonly FeeMonths[];
  /** The twelve periods of the year that it is in, counted from the first, where a commitment is to a year. */
  readonly year: readonly Period[];
  /** What is billed of it. */
  readonly part: BilledPart;
  /** Whether an adjustment that moves no money waits for the next bill. */
  readonly is_quiet?: boolean;
}

interface FeeMonths {
  readonly interval: FeeInterval;
  readonly months: readonly Period[];
}

/** A period to bill. Intervals of fees and commitments are counted from the first period. Decisions 0243, 0258. */
export function duePeriod(
  subscription: BillableSubscription,
  period: Period,
  zones: ZoneTimeline,
  part: BilledPart = "whole",
): DuePeriod {
  const intervals = intervalsOf(subscription, period, zones);
  const has_year = subscription.timeline.some(
    ({ billing_model }) => billing_model.commitment?.interval === "year",
  );
  const year = has_year ? yearOf(subscription, period, zones) : [];
  return { subscription, period, part, intervals, year };
}

function yearOf(subscription: BillableSubscription, period: Period, zones: ZoneTimeline): Period[] {
  const { started_at, billing_anchor_day: anchor_day } = subscription;
  const first = periodContaining(instant(started_at), anchor_day, zones);
  const before = monthsBetween(first, period);
  const through = before - (before % MONTHS_OF.year) + MONTHS_OF.year;
  return periodsFrom(first, through, anchor_day, zones).slice(-MONTHS_OF.year);
}

/** A period as it is on record. `lines`: what may be of a year, though the plan that it was of is voided by now. */
interface PeriodOnRecord {
  readonly billingStartAt: IsoInstant;
  readonly billingEndAt: IsoInstant;
  readonly lines?: readonly BillLine[];
}

/** A period on record. */
export function recordedDue(
  subscription: BillableSubscription,
  { billingStartAt, billingEndAt, lines = [] }: PeriodOnRecord,
  zones: ZoneTimeline,
  part: BilledPart = "whole",
): DuePeriod {
  const bounds = { from: instant(billingStartAt), to: instant(billingEndAt) };
  const period = recordedPeriod(bounds, subscription.billing_anchor_day, zones);
  const due = duePeriod(subscription, period, zones, part);
  const is_of_year = lines.some(({ commitment_interval }) => commitment_interval === "year");
  return is_of_year ? { ...due, year: yearOf(subscription, period, zones) } : due;
}

function intervalsOf(subscription: BillableSubscription, period: Period, zones: ZoneTimeline): FeeMonths[] {
  const { started_at, billing_anchor_day: anchor_day } = subscription;
  if (subscription.timeline.every(({ billing_model }) => billing_model.fee_interval === "month")) return [];
  const first = periodContaining(instant(started_at), anchor_day, zones);
  const intervals = intervalsBeginning(timelineOf(subscription), monthsBetween(first, period));
  return intervals.map((interval) => ({
    interval,
    months: periodsFrom(period, MONTHS_OF[interval], anchor_day, zones),
  }));
}

/** The fees of the intervals beyond a month that begin with a period. */
export function intervalFeesOf({ subscription, intervals }: DuePeriod): BillLine[] {
  return intervals.flatMap(({ interval, months }) =>
    intervalFees(interval, months, timelineOf(subscription), lifeOf(subscription)),
  );
}

/** Whether anything of a period may be billed in advance. */
export function mayBillInAdvance({ subscription, intervals }: DuePeriod): boolean {
  return (
    intervals.length > 0 ||
    subscription.timeline.some(
      ({ billing_model: { fee_interval, fee_timing } }) =>
        fee_timing === "in_advance" && fee_interval === "month",
    )
  );
}

/** The models of a subscription and from when each is in force. */
export function timelineOf({ timeline }: Pick<BillableSubscription, "timeline">): TimelineEntry[] {
  return timeline.map(({ billing_model, from }) => ({
    model: priceTermsOf(billing_model),
    from: instant(from),
  }));
}

/** The meters that a subscription was ever billed by: those of its models and of its add-ons. */
export function metersOf(subscription: BillableSubscription): number[] {
  const booked = subscription.add_ons.flatMap(({ add_on }) => add_on.charge.meter_id ?? []);
  return [...namedMeters(timelineOf(subscription).map(({ model }) => model)), ...booked];
}

/** The segments of a period: its stretches under one model each. */
export function segmentsOf({ subscription, period }: SubscriptionPeriod): Segment[] {
  return segments(period, timelineOf(subscription), lifeOf(subscription));
}

/** The lines that a period's bills have of commitments to a year, beside its own. */
export function yearlyCommitmentsOf(
  { subscription, year: months }: DuePeriod,
  own: readonly BillLine[],
  on_record: Omit<CommitmentYear, "months">,
): BillLine[] {
  const year = { months, ...on_record };
  return yearlyCommitmentLines(own, year, timelineOf(subscription), lifeOf(subscription));
}

function lifeOf({ started_at, ends_at, trial_days }: BillableSubscription): Life {
  return {
    trial_days,
    started_at: instant(started_at),
    ends_at: ends_at === null ? null : instant(ends_at),
  };
}

/** The segments of a period, and its stretches with add-ons. */
export function stretchesIn(due: DuePeriod): { segments: Segment[]; add_ons: AddOnStretch[] } {
  const of_plans = segmentsOf(due);
  return { segments: of_plans, add_ons: addOnStretches(due.period, due.subscription.add_ons, of_plans) };
}
