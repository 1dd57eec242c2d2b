import type { Period } from "../../core/periods.ts";
import { type IsoInstant, instant } from "../../core/time.ts";
import { priceTermsOf } from "../billing_models/price_terms.ts";
import type { StoredBillingModel } from "../billing_models/model.ts";
import { type AddOnStretch, addOnStretches, type BookedAddOn } from "../rating/add_on_lines.ts";
import { type Segment, segments, type TimelineEntry } from "../rating/segments.ts";

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

/** A period of a subscription to bill; the subscription as it was read. */
export interface DuePeriod {
  readonly subscription: BillableSubscription;
  readonly period: Period;
  /** Whether an adjustment that moves no money waits for the next bill. */
  readonly is_quiet?: boolean;
}

/** The models of a subscription and from when each is in force. */
export function timelineOf({ timeline }: Pick<BillableSubscription, "timeline">): TimelineEntry[] {
  return timeline.map(({ billing_model, from }) => ({
    model: priceTermsOf(billing_model),
    from: instant(from),
  }));
}

/** The segments of a period: its stretches under one model each. */
export function segmentsOf({ subscription, period }: DuePeriod): Segment[] {
  const { started_at, ends_at, trial_days } = subscription;
  return segments(period, timelineOf(subscription), {
    trial_days,
    started_at: instant(started_at),
    ends_at: ends_at === null ? null : instant(ends_at),
  });
}

/** The segments of a period, and its stretches with add-ons. */
export function stretchesIn(due: DuePeriod): { segments: Segment[]; add_ons: AddOnStretch[] } {
  const of_plans = segmentsOf(due);
  return { segments: of_plans, add_ons: addOnStretches(due.period, due.subscription.add_ons, of_plans) };
}
