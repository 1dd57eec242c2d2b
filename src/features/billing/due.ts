import {
  type Period,
  periodContaining,
  periodsBetween,
  periodStartingIn,
  type ZoneTimeline,
} from "../../core/periods.ts";
import { earlier, type IsoInstant, instant, iso, later } from "../../core/time.ts";

/** The life of a subscription as periods are cut from it. */
export interface BilledLife {
  readonly started_at: IsoInstant;
  /** Exclusive; one that ends when it starts, or before, never lives. */
  readonly ends_at: IsoInstant | null;
  readonly billing_anchor_day: number;
}

/** Which of a subscription's periods have a record: how many, and where the last one starts. */
export interface ClosedPeriods {
  readonly count: number;
  readonly last_start: IsoInstant;
}

/** Periods to bill, oldest first, and how many more there are that can't be billed yet. */
export interface DuePeriods {
  readonly due: Period[];
  readonly not_due: number;
}

const NOTHING_DUE: DuePeriods = { due: [], not_due: 0 };

/**
 * Whether the records run without a gap from the subscription's first period to the last one that has a
 * record. An explicit run may have billed a period before those that come before it.
 */
export function isGapless(life: BilledLife, closed: ClosedPeriods, zones: ZoneTimeline): boolean {
  const first = periodContaining(instant(life.started_at), life.billing_anchor_day, zones).start_date;
  const last = periodContaining(instant(closed.last_start), life.billing_anchor_day, zones).start_date;
  return (last.year - first.year) * 12 + last.month - first.month + 1 === closed.count;
}

/**
 * The periods since the subscription's start that ended at least `grace` ago and have no record. Periods that
 * start before `closed_until` have one, and so have those of `closed_starts`.
 * Source: billing.md, One mechanism: reconcile; Wire details.
 */
export function unbilledPeriods(
  life: BilledLife,
  zones: ZoneTimeline,
  closed: { closed_until: Temporal.Instant | null; closed_starts: ReadonlySet<IsoInstant> },
  now: Temporal.Instant,
  grace: Temporal.Duration,
): DuePeriods {
  const started_at = instant(life.started_at);
  const until = life.ends_at === null ? now : earlier(instant(life.ends_at), now);
  if (Temporal.Instant.compare(until, started_at) <= 0) return NOTHING_DUE;
  const from = closed.closed_until ?? started_at;
  if (Temporal.Instant.compare(from, until) >= 0) return NOTHING_DUE;
  const open = [...periodsBetween(from, until, life.billing_anchor_day, zones)].filter(
    (period) => !closed.closed_starts.has(iso(period.from)),
  );
  const due = open.filter((period) => Temporal.Instant.compare(period.to.add(grace), now) <= 0);
  return { due, not_due: open.length - due.length };
}

/**
 * The period that starts in a month, "2026-11", where the subscription lived in it; not due until it has
 * ended. Source: billing.md, Wire details.
 */
export function namedPeriod(
  life: BilledLife,
  zones: ZoneTimeline,
  year_month: string,
  now: Temporal.Instant,
): DuePeriods {
  const period = periodStartingIn(year_month, life.billing_anchor_day, zones);
  const started_at = instant(life.started_at);
  const first = later(period.from, started_at);
  const end = life.ends_at === null ? period.to : earlier(instant(life.ends_at), period.to);
  if (Temporal.Instant.compare(first, end) >= 0) return NOTHING_DUE;
  const has_ended = Temporal.Instant.compare(period.to, now) <= 0;
  return has_ended ? { due: [period], not_due: 0 } : { due: [], not_due: 1 };
}

/** The periods that have a record, by their starts, and ended after an instant. */
export function closedPeriods(
  life: BilledLife,
  zones: ZoneTimeline,
  starts: ReadonlySet<IsoInstant> = new Set(),
  ended_after: Temporal.Instant,
): DuePeriods {
  const periods = [...starts].map((start) =>
    periodContaining(instant(start), life.billing_anchor_day, zones),
  );
  return {
    due: periods.filter((period) => Temporal.Instant.compare(period.to, ended_after) > 0),
    not_due: 0,
  };
}

/**
 * The period that runs at `now`; before a subscription starts its first one, after it has ended its last one.
 */
export function runningPeriod(life: BilledLife, zones: ZoneTimeline, now: Temporal.Instant): Period {
  const { started_at, ends_at, billing_anchor_day } = life;
  const latest = ends_at === null ? now : earlier(instant(ends_at).subtract({ milliseconds: 1 }), now);
  return periodContaining(later(instant(started_at), latest), billing_anchor_day, zones);
}

/** The end of the period that starts at an instant. */
export function endOfPeriodAt(start: IsoInstant, life: BilledLife, zones: ZoneTimeline): Temporal.Instant {
  return periodContaining(instant(start), life.billing_anchor_day, zones).to;
}
