import {
  type Bounds,
  monthsBetween,
  type Period,
  periodContaining,
  periodsBetween,
  periodStartingIn,
  recordedPeriod,
  type ZoneTimeline,
} from "../../core/periods.ts";
import { earlier, type IsoInstant, instant, later } from "../../core/time.ts";

/** The life of a subscription, which its periods are cut from. */
export interface BilledLife {
  readonly started_at: IsoInstant;
  /** Exclusive; one that ends when it starts, or before, never lives. */
  readonly ends_at: IsoInstant | null;
  readonly billing_anchor_day: number;
}

/** The periods of a subscription that have a record: how many, where the first one starts, and the last one. */
export interface ClosedPeriods {
  readonly count: number;
  readonly first_start: IsoInstant;
  readonly last: Bounds;
}

/** Bounds of closed periods: of all, or of the last one where there is no gap before it. */
export interface RecordedPeriods {
  readonly bounds: readonly Bounds[];
  readonly is_gapless: boolean;
  /** Bounds of periods that have records, but are not closed. */
  readonly begun?: readonly Bounds[];
}

/** Periods to bill, oldest first, and how many more there are that can't be billed yet. */
export interface DuePeriods {
  readonly due: Period[];
  readonly not_due: number;
  /** The one of these in which the subscription lives now. */
  readonly running: Period | null;
}

const NOTHING_DUE: DuePeriods = { due: [], not_due: 0, running: null };

/**
 * Whether the records run without a gap from the subscription's first period to the last one that has a
 * record. An explicit run may have billed a period before those that come before it.
 */
export function isGapless(
  { started_at, billing_anchor_day }: BilledLife,
  { count, first_start, last }: ClosedPeriods,
  zones: ZoneTimeline,
): boolean {
  if (first_start > started_at) return false;
  const first = recordedPeriod({ ...last, from: instant(first_start) }, billing_anchor_day, zones);
  return monthsBetween(first, recordedPeriod(last, billing_anchor_day, zones)) + 1 === count;
}

/** Whether all of a period that the subscription lives is over: it may end inside. */
function hasEnded({ ends_at }: BilledLife, { to }: Period, now: Temporal.Instant): boolean {
  const end = ends_at === null ? to : earlier(instant(ends_at), to);
  return Temporal.Instant.compare(end, now) <= 0;
}

/**
 * The periods without a record that ended, or in which the subscription ended, at least `grace` ago. They continue
 * from the bounds on record. Decision 0125.
 */
export function unbilledPeriods(
  life: BilledLife,
  zones: ZoneTimeline,
  { bounds, is_gapless, begun = [] }: RecordedPeriods,
  now: Temporal.Instant,
  grace: Temporal.Duration,
): DuePeriods {
  const started_at = instant(life.started_at);
  const until = life.ends_at === null ? now : earlier(instant(life.ends_at), now);
  if (Temporal.Instant.compare(until, started_at) <= 0) return NOTHING_DUE;
  const last = is_gapless ? bounds.at(-1) : undefined;
  const from = last?.to ?? started_at;
  if (Temporal.Instant.compare(from, until) >= 0) return NOTHING_DUE;
  const open = [...periodsBetween(from, until, life.billing_anchor_day, zones, [...bounds, ...begun])].filter(
    (period) =>
      !bounds.some((closed) => closed.from.equals(period.from)) &&
      Temporal.Instant.compare(period.to, started_at) > 0,
  );
  const due = open.filter((period) => hasEnded(life, period, now.subtract(grace)));
  const running = open.find((period) => isRunning(life, period, now)) ?? null;
  return { due, not_due: open.length - due.length, running };
}

/** Whether a subscription lives in a period now. */
function isRunning(life: BilledLife, period: Period, now: Temporal.Instant): boolean {
  const has_begun = Temporal.Instant.compare(later(period.from, instant(life.started_at)), now) <= 0;
  return has_begun && !hasEnded(life, period, now);
}

/**
 * The period that starts in a month, "2026-11", where the subscription lived in it; not due until it has
 * ended, or the subscription has.
 */
export function namedPeriod(
  life: BilledLife,
  zones: ZoneTimeline,
  year_month: string,
  now: Temporal.Instant,
  recorded: readonly Bounds[] = [],
): DuePeriods {
  const period = periodStartingIn(year_month, life.billing_anchor_day, zones, recorded);
  const first = later(period.from, instant(life.started_at));
  const end = life.ends_at === null ? period.to : earlier(instant(life.ends_at), period.to);
  if (Temporal.Instant.compare(first, end) >= 0) return NOTHING_DUE;
  if (hasEnded(life, period, now)) return { due: [period], not_due: 0, running: null };
  return { due: [], not_due: 1, running: isRunning(life, period, now) ? period : null };
}

/** The periods with these bounds on record that ended after an instant. */
export function closedPeriods(
  { billing_anchor_day }: BilledLife,
  zones: ZoneTimeline,
  recorded: readonly Bounds[] = [],
  ended_after: Temporal.Instant,
): Period[] {
  return recorded
    .filter(({ to }) => Temporal.Instant.compare(to, ended_after) > 0)
    .map((bounds) => recordedPeriod(bounds, billing_anchor_day, zones));
}

/**
 * Whether the billing month in which a period's last record was written is still open: until its bill an
 * adjustment that moves no money can wait. Decision 0127.
 */
export function hasNoUsage(
  { billing_anchor_day }: BilledLife,
  zones: ZoneTimeline,
  last_written: Temporal.Instant,
  now: Temporal.Instant,
  grace: Temporal.Duration,
): boolean {
  const { to } = periodContaining(last_written, billing_anchor_day, zones);
  return Temporal.Instant.compare(to.add(grace), now) > 0;
}

/**
 * The period that runs at `now`; before a subscription starts its first one, after it has ended its last one.
 * `recorded`: bounds on record.
 */
export function runningPeriod(
  { started_at, ends_at, billing_anchor_day }: BilledLife,
  zones: ZoneTimeline,
  now: Temporal.Instant,
  recorded: readonly Bounds[] = [],
): Period {
  const latest = ends_at === null ? now : earlier(instant(ends_at).subtract({ milliseconds: 1 }), now);
  return periodContaining(later(instant(started_at), latest), billing_anchor_day, zones, recorded);
}
