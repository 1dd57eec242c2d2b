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
  /** How often a round asks each search, if `seconds` allow it. */
  searches: number;
  /** How long events arrive steadily. */
  arrival_seconds: number;
}

export const FULL: Plan = {
  events: 1_000_000,
  rounds: 3,
  seconds: 1.5,
  batched_events: 200_000,
  single_events: 20_000,
  searches: 30,
  arrival_seconds: 10,
};

export const QUICK: Plan = {
  events: 100_000,
  rounds: 1,
  seconds: 0.4,
  batched_events: 30_000,
  single_events: 3_000,
  searches: 4,
  arrival_seconds: 2,
};

/** The results of a subject and its peer, a round each. */
export interface Turns<S, P> {
  subject: S[];
  peer: P[];
}

/**
 * Lets the peer and the subject run in turns, so that a slow moment of the machine meets both. The first turn
 * only warms them up.
 */
export async function takeTurns<S, P>(
  { rounds }: Plan,
  sides: { subject(): Promise<S>; peer(): Promise<P> },
): Promise<Turns<S, P>> {
  const turns: Turns<S, P> = { subject: [], peer: [] };
  await sides.peer();
  await sides.subject();
  for (let round = 0; round < rounds; round++) {
    turns.peer.push(await sides.peer());
    turns.subject.push(await sides.subject());
  }
  return turns;
}
