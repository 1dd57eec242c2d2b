import { DAY_MS, HOUR_MS } from "../../time_buckets.ts";

/** A time; without a bound it has no beginning, or no end. */
export interface Window {
  start_ms?: number | undefined;
  end_ms?: number | undefined;
}

/** Time that is made of whole hours of UTC, or of days that all begin `day_start_ms` after UTC's. */
export interface WholeSpans extends Window {
  day_start_ms?: number | undefined;
}

/** How a window is made of whole hours or days, and of the rests that these leave: no two of all these overlap. */
export interface Cover {
  whole: readonly WholeSpans[];
  rests: readonly Window[];
}

/** Covers a window by whole hours. */
export function coverByHours({ start_ms, end_ms }: Window): Cover {
  const from_ms = start_ms === undefined ? undefined : Math.ceil(start_ms / HOUR_MS) * HOUR_MS;
  const until_ms = end_ms === undefined ? undefined : Math.floor(end_ms / HOUR_MS) * HOUR_MS;
  if (from_ms !== undefined && until_ms !== undefined && from_ms >= until_ms)
    return { whole: [], rests: [{ start_ms, end_ms }] };
  const rests: Window[] = [];
  if (start_ms !== undefined && from_ms !== undefined && start_ms < from_ms)
    rests.push({ start_ms, end_ms: from_ms });
  if (end_ms !== undefined && until_ms !== undefined && until_ms < end_ms)
    rests.push({ start_ms: until_ms, end_ms });
  return { whole: [{ start_ms: from_ms, end_ms: until_ms }], rests };
}

/** Rests that are read one by one, from the events: with more of them days save little. */
const MAX_RESTS = 16;

/**
 * Covers buckets by whole days that begin at one of `day_starts`, each day within a bucket: where the clock changes the
 * days before begin at another time than those after, and a day of 23 or 25 hours is a rest, or a day and a rest.
 * Undefined where more than `max_rest_share` of all time is left.
 */
export function coverByDays(
  edges: readonly number[],
  day_starts: readonly number[],
  max_rest_share: number,
): Cover | undefined {
  const whole: WholeSpans[] = [];
  const rests: Window[] = [];
  let [rest_ms, whole_ms] = [0, 0];
  const addRest = (start_ms: number, end_ms: number) => {
    if (start_ms >= end_ms) return;
    rest_ms += end_ms - start_ms;
    const last = rests.at(-1);
    if (last !== undefined && last.end_ms === start_ms) last.end_ms = end_ms;
    else rests.push({ start_ms, end_ms });
  };
  for (const [i, end_ms] of edges.entries()) {
    const start_ms = edges[i - 1] ?? end_ms;
    if (start_ms >= end_ms) continue;
    const days = mostDays(start_ms, end_ms, day_starts);
    if (days === undefined) {
      addRest(start_ms, end_ms);
      continue;
    }
    addRest(start_ms, days.start_ms);
    const last = whole.at(-1);
    if (last?.end_ms === days.start_ms && last.day_start_ms === days.day_start_ms) last.end_ms = days.end_ms;
    else whole.push(days);
    // Time without an end holds a day at least, and nobody knows how many more.
    const days_ms = days.end_ms - days.start_ms;
    whole_ms += Number.isFinite(days_ms) ? days_ms : DAY_MS;
    addRest(days.end_ms, end_ms);
  }
  const leaves_much = rests.length > MAX_RESTS || rest_ms > max_rest_share * (rest_ms + whole_ms);
  if (whole.length === 0 || leaves_much) return undefined;
  return { whole: whole.map(withoutInfinity), rests: rests.map(withoutInfinity) };
}

/** The days of one beginning that leave the least of a bucket; undefined when none fits. */
function mostDays(
  start_ms: number,
  end_ms: number,
  day_starts: readonly number[],
): { start_ms: number; end_ms: number; day_start_ms: number } | undefined {
  const restOf = (days: { start_ms: number; end_ms: number }) =>
    gap(start_ms, days.start_ms) + gap(days.end_ms, end_ms);
  return day_starts
    .map((day_start_ms) => ({
      start_ms: firstStart(start_ms, day_start_ms),
      end_ms: lastStart(end_ms, day_start_ms),
      day_start_ms,
    }))
    .filter((days) => days.start_ms < days.end_ms)
    .toSorted((a, b) => restOf(a) - restOf(b))[0];
}

/** From one instant to another; nothing at an end of all time. */
const gap = (from_ms: number, until_ms: number) => (from_ms === until_ms ? 0 : until_ms - from_ms);

/** The first day's beginning from an instant on; the last one by then. */
const firstStart = (at_ms: number, day_start_ms: number) =>
  Number.isFinite(at_ms) ? Math.ceil((at_ms - day_start_ms) / DAY_MS) * DAY_MS + day_start_ms : at_ms;
const lastStart = (at_ms: number, day_start_ms: number) =>
  Number.isFinite(at_ms) ? Math.floor((at_ms - day_start_ms) / DAY_MS) * DAY_MS + day_start_ms : at_ms;

function withoutInfinity<W extends Window>(window: W): W {
  const { start_ms = Number.NEGATIVE_INFINITY, end_ms = Number.POSITIVE_INFINITY } = window;
  return {
    ...window,
    start_ms: Number.isFinite(start_ms) ? start_ms : undefined,
    end_ms: Number.isFinite(end_ms) ? end_ms : undefined,
  };
}
