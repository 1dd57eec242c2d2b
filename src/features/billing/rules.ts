import { dayOf, daysOf, type Period } from "../../core/periods.ts";
import { earlier, later } from "../../core/time.ts";
import type { BillingModelFacts } from "../billing_models/facts.ts";

/** A model and the instant from which it is in force, until the next one's. */
export interface TimelineEntry {
  readonly model: BillingModelFacts;
  readonly from: Temporal.Instant;
}

/** Days charged of the days of the period. */
export interface Proration {
  readonly numerator: number;
  readonly denominator: number;
}

/** A stretch of a period under one model: usage counts in `[from, to)`, the fee by `proration`. */
export interface Segment {
  readonly model: BillingModelFacts;
  readonly from: Temporal.Instant;
  readonly to: Temporal.Instant;
  /** The first day that this segment owns, `first_day + numerator` is the first one after it. */
  readonly first_day: Temporal.PlainDate;
  readonly proration: Proration;
}

/**
 * Cuts a period by the models in force, within the subscription's life. Usage goes by exact instants. Days:
 * the first day is charged, the day of cancellation is charged, the day of a change belongs to the new model,
 * and of several changes on a day the last one owns it (the others keep their usage, and no day). A
 * cancellation at the period's end charges no day of the next. The denominator is always the whole period.
 * `timeline` may come in any order. Source: billing.md, Principles and Rating rules.
 */
export function segments(
  period: Period,
  timeline: readonly TimelineEntry[],
  subscription: { readonly started_at: Temporal.Instant; readonly ends_at: Temporal.Instant | null },
): Segment[] {
  const from = later(period.from, subscription.started_at);
  const to = earlier(period.to, subscription.ends_at ?? period.to);
  const ordered = timeline.toSorted((a, b) => Temporal.Instant.compare(a.from, b.from));
  const slices = ordered
    .map((entry, index) => ({
      model: entry.model,
      from: later(entry.from, from),
      to: earlier(ordered[index + 1]?.from ?? to, to),
    }))
    .filter((slice) => Temporal.Instant.compare(slice.from, slice.to) < 0);

  const ends_inside = Temporal.Instant.compare(to, period.to) < 0;
  const day_after_last = ends_inside ? dayOf(to, period).add({ days: 1 }) : period.end_date;
  return slices.map((slice, index) => {
    const next = slices[index + 1];
    const first_day = dayOf(slice.from, period);
    const end_day = next ? dayOf(next.from, period) : day_after_last;
    const proration = { numerator: first_day.until(end_day).days, denominator: daysOf(period) };
    return { ...slice, first_day, proration };
  });
}
