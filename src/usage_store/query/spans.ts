import { HOUR_MS } from "../time_buckets.ts";

/** A span of time in Unix ms: start inclusive, end exclusive. */
export interface Span {
  start_ms: number;
  end_ms: number;
}

/** The numbers of events in units of time, the latest first; those without any are left out. */
export type Counts = readonly (readonly [unit: number, events: number])[];

export const SECOND_MS = 1_000;

/**
 * Cuts time into spans, the newest first, of at most `max_events` events each, unless one second has more. `hours` are the
 * counts by hour; those by second are asked for where an hour has too many.
 */
export async function cutSpans(
  { start_ms, end_ms }: Span,
  max_events: number,
  hours: Counts,
  secondsOf: (hour: Span) => Promise<Counts>,
): Promise<Span[]> {
  const cuts: number[] = [];
  let events = 0;
  /** Begins a span at the end of this unit of time, if it has no room in the one before. */
  const add = (unit_end_ms: number, count: number): void => {
    if (events > 0 && events + count > max_events) {
      cuts.push(unit_end_ms);
      events = 0;
    }
    events += count;
  };
  for (const [hour, count] of hours) {
    const from_ms = hour * HOUR_MS;
    if (count <= max_events) add(from_ms + HOUR_MS, count);
    else {
      for (const [second, of_second] of await secondsOf({ start_ms: from_ms, end_ms: from_ms + HOUR_MS }))
        add((second + 1) * SECOND_MS, of_second);
    }
  }
  const ends = [end_ms, ...cuts.filter((cut) => cut > start_ms && cut < end_ms)];
  return ends.map((end, i) => ({ start_ms: ends[i + 1] ?? start_ms, end_ms: end }));
}
