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
