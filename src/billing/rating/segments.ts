import { dayOf, daysOf, type Period } from "../../core/periods.ts";
import { earlier, later } from "../../core/time.ts";
import type { PriceTerms } from "../billing_models/price_terms.ts";

/** A model and the instant from which it is in force, until that of the next one. */
export interface TimelineEntry {
  readonly model: PriceTerms;
  readonly from: Temporal.Instant;
}

/** Days charged of the days of the period. */
export interface Proration {
  readonly numerator: number;
  readonly denominator: number;
}

/** A part of a period under one model: usage counts in `[from, to)`, the fee by `proration`. */
export interface Segment {
  readonly model: PriceTerms;
  readonly from: Temporal.Instant;
  readonly to: Temporal.Instant;
  /** The first day that this segment owns, `first_day + numerator` is the first one after it. */
  readonly first_day: Temporal.PlainDate;
  readonly proration: Proration;
  /** Whether it is part of the subscription's trial, which costs nothing. */
  readonly is_trial?: true;
  /** Whether the subscription starts with it. */
  readonly is_first?: true;
}

/** The life of a subscription; `trial_days`: its own, in place of its model's. */
export interface Life {
  readonly started_at: Temporal.Instant;
  readonly ends_at: Temporal.Instant | null;
  readonly trial_days?: number | null;
}

/**
 * Cuts a period into segments: by the models in force, within the subscription's life. Usage goes by exact instants.
 * Days: the first day is charged, the day of cancellation is charged, the day of a change belongs to the new model,
 * and of several changes on a day the last one owns it (the others keep their usage, and no day). A
 * cancellation at the period's end charges no day of the next. The denominator is always the whole period. The end of
 * the trial cuts, too.
 * `timeline` may come in any order. See docs/billing.md#rounding-and-time.
 */
export function segments(period: Period, timeline: readonly TimelineEntry[], subscription: Life): Segment[] {
  const from = later(period.from, subscription.started_at);
  const to = earlier(period.to, subscription.ends_at ?? period.to);
  const ordered = timeline.toSorted((a, b) => Temporal.Instant.compare(a.from, b.from));
  const slices = ordered
    .map(
      (entry, index): Slice => ({
        model: entry.model,
        from: later(entry.from, from),
        to: earlier(ordered[index + 1]?.from ?? to, to),
      }),
    )
    .filter((slice) => Temporal.Instant.compare(slice.from, slice.to) < 0)
    .flatMap(cutAtTrialEnd(period, ordered, subscription));

  const ends_inside = Temporal.Instant.compare(to, period.to) < 0;
  const day_after_last = ends_inside ? dayOf(to, period).add({ days: 1 }) : period.end_date;
  return slices.map((slice, index) => {
    const next = slices[index + 1];
    const first_day = dayOf(slice.from, period);
    const end_day = next ? dayOf(next.from, period) : day_after_last;
    const proration = { numerator: first_day.until(end_day).days, denominator: daysOf(period) };
    const is_first = index === 0 && slice.from.equals(subscription.started_at);
    return { ...slice, first_day, proration, ...(is_first ? { is_first } : {}) };
  });
}

type Slice = Pick<Segment, "model" | "from" | "to" | "is_trial">;

/**
 * Cuts slices where the trial ends: so many local days after the first one, both counted. How many the subscription
 * says, or the model that owns its first day. Decision 0242.
 */
function cutAtTrialEnd(
  period: Period,
  ordered: readonly TimelineEntry[],
  { started_at, ends_at, trial_days }: Life,
): (slice: Slice) => Slice[] {
  const dateOf = (at: Temporal.Instant) => at.toZonedDateTimeISO(period.time_zone).toPlainDate();
  const first_day = dateOf(started_at);
  const owner = ordered.findLast(
    ({ from }) =>
      Temporal.PlainDate.compare(dateOf(from), first_day) <= 0 &&
      (ends_at === null || Temporal.Instant.compare(from, ends_at) < 0),
  );
  const days = trial_days ?? owner?.model.trial_days ?? 0;
  if (days === 0) return (slice) => [slice];
  const end = first_day.add({ days });
  if (Temporal.PlainDate.compare(end, period.start_date) <= 0) return (slice) => [slice];
  if (Temporal.PlainDate.compare(end, period.end_date) >= 0) return (slice) => [{ ...slice, is_trial: true }];
  const at = end.toZonedDateTime(period.time_zone).toInstant();
  return (slice) =>
    [
      { ...slice, to: earlier(slice.to, at), is_trial: true as const },
      { ...slice, from: later(slice.from, at) },
    ].filter(({ from, to }) => Temporal.Instant.compare(from, to) < 0);
}

/** Anything that belongs to a segment. */
interface Part {
  readonly segment: Segment;
}

/**
 * The stretches of a period under one plan each, in the order of time: segments of one model that at most segments
 * without a day lie between are one stretch, so that a change which is taken back on its day leaves the plan as it
 * was. The trial is a stretch of its own. Decisions 0130, 0242.
 */
export function stretchesOf<P extends Part>(parts: readonly P[]): [P, ...P[]][] {
  const stretches: [P, ...P[]][] = [];
  /** The stretches that a segment of their model would continue. */
  let open = new Map<string, [P, ...P[]]>();
  for (const part of parts.toSorted((a, b) => Temporal.Instant.compare(a.segment.from, b.segment.from))) {
    const { model, proration, is_trial } = part.segment;
    const plan = `${model.id} ${is_trial ?? false}`;
    const own = open.get(plan);
    const stretch = own ?? [part];
    if (own) own.push(part);
    else stretches.push(stretch);
    open = new Map(proration.numerator > 0 ? [] : open).set(plan, stretch);
  }
  return stretches;
}

/** The segments of a stretch as one, with the days of all of them. */
export function joinStretches(parts: readonly [Part, ...Part[]]): Segment {
  const [{ segment: first }, ...rest] = parts;
  return rest.reduce(
    (whole, { segment: { to, proration } }) => ({
      ...whole,
      to,
      proration: { ...whole.proration, numerator: whole.proration.numerator + proration.numerator },
    }),
    first,
  );
}
