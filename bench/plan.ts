import { type Measured, type Median, medianOf } from "./stats.ts";

/** How much is measured: less of it is quicker and noisier. */
export interface Plan {
  /** Usage events stored before ingest and searches are measured. */
  events: number;
  /** Times that subject and peer take turns; the figures are medians of the rounds. */
  rounds: number;
  /** How long a side of a round lasts, where it is bound by time. */
  seconds: number;
  /** Events that one round sends in batches. */
  batched_events: number;
  /** Events that one round sends one by one. */
  single_events: number;
  /** How often a round repeats each search, if `seconds` allow it. */
  searches: number;
  /** How long events arrive steadily. */
  arrival_seconds: number;
  /** Rows of the files that are imported and exported. */
  file_rows: number;
}

export const FULL: Plan = {
  events: 1_000_000,
  rounds: 3,
  seconds: 1.5,
  batched_events: 200_000,
  single_events: 20_000,
  searches: 30,
  arrival_seconds: 10,
  file_rows: 1_000_000,
};

export const QUICK: Plan = {
  events: 100_000,
  rounds: 1,
  seconds: 0.4,
  batched_events: 30_000,
  single_events: 3_000,
  searches: 4,
  arrival_seconds: 2,
  file_rows: 20_000,
};

/** The goals for usage are set for so many events, and for stalls over a longer time. */
export const GOALS: Plan = { ...FULL, events: 10_000_000, seconds: 3, searches: 20, arrival_seconds: 60 };

export const QUICK_GOALS: Plan = { ...QUICK, events: 200_000 };

/** The events of a month that is closed, to be tried out; the goal is set for ten times as many. */
export const MONTH_EVENTS = 1_000_000;

/** The mandates that are collected, to be tried out; the goal is set for ten times as many. */
export const MANDATES = 10_000;

export const QUICK_MANDATES = 1_000;

/**
 * Reads a number of events: `250000`, `250k`, `10m`. Errors: throws for what is no whole number from 100 to
 * 999,999,999.
 */
export function readCount(text: string): number {
  const [, digits, unit = ""] = /^([1-9]\d{0,8})([km]?)$/i.exec(text) ?? [];
  const count = Number(digits) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
  if (count >= 100 && count < 1e9) return count;
  throw new Error(`Cannot store ${text} events: --events takes 100 to 999999999, also as 250k or 10m`);
}

const UNITS: Record<string, number> = { "": 1, k: 1_000, m: 1_000_000 };

/** Measures one of those that are compared, once. */
export type Side = () => Promise<Measured>;

/** The medians of a subject and its peer. */
export interface Turns {
  subject: Median;
  peer: Median;
}

/** Lets the peer and the subject run in turns. A first turn only warms them up. */
export async function takeTurns(plan: Plan, { subject, peer }: Record<keyof Turns, Side>): Promise<Turns> {
  await peer();
  await subject();
  const [peers = [], subjects = []] = await rotate(plan, [peer, subject]);
  return { subject: medianOf(subjects), peer: medianOf(peers) };
}

/** The median of one that is compared with nothing. A first round only warms it up. */
export async function takeRounds(plan: Plan, side: Side): Promise<Median> {
  await side();
  const [rounds = []] = await rotate(plan, [side]);
  return medianOf(rounds);
}

/** Lets any number of sides, which are warm, run in turns, and gives the median of each by its name. */
export async function takeTurnsAmong(
  plan: Plan,
  sides: ReadonlyMap<string, Side>,
): Promise<Map<string, Median>> {
  const rounds = await rotate(plan, [...sides.values()]);
  return new Map([...sides.keys()].map((name, i) => [name, medianOf(rounds[i] ?? [])]));
}

/** Runs the sides one after the other, again and again, so that a slow moment of the machine meets all. */
async function rotate({ rounds }: Plan, sides: readonly Side[]): Promise<Measured[][]> {
  const results: Measured[][] = sides.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, side] of sides.entries()) results[i]?.push(await side());
  }
  return results;
}
