/** An instant as on the wire and in storage: `2026-11-21T13:00:00.000Z`, always UTC, always milliseconds. */
export type IsoInstant = string;

/** Tells the time. Tests set it; everything else asks it once a call. */
export interface Clock {
  now(): Temporal.Instant;
}

/** The machine's clock, in whole milliseconds: what is stored is what was compared. */
export const systemClock: Clock = {
  now: () => Temporal.Instant.fromEpochMilliseconds(Temporal.Now.instant().epochMilliseconds),
};

/** Writes an instant the one way that we store and answer it, so that text order is time order. */
export function iso(moment: Temporal.Instant): IsoInstant {
  return moment.toString({ smallestUnit: "millisecond" });
}

/** Reads what `iso` wrote. */
export function instant(text: IsoInstant): Temporal.Instant {
  return Temporal.Instant.from(text);
}

export function later(a: Temporal.Instant, b: Temporal.Instant): Temporal.Instant {
  return Temporal.Instant.compare(a, b) >= 0 ? a : b;
}

export function earlier(a: Temporal.Instant, b: Temporal.Instant): Temporal.Instant {
  return Temporal.Instant.compare(a, b) <= 0 ? a : b;
}

/** The result, or null after `wait_ms`; the work is not cancelled. */
export async function withTimeout<T>(work: Promise<T>, wait_ms: number): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), wait_ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
