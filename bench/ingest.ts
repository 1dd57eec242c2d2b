import type { Company } from "./company.ts";
import { batches, type Event, history, recent } from "./events.ts";
import { runLoad } from "./load.ts";
import { takeTurns, type Turns } from "./plan.ts";
import { RawUsage } from "./raw_usage.ts";
import type { Bench, BenchContext } from "./bench.ts";
import type { Measured } from "./stats.ts";
import { type Goal, rateRow, round, type Row } from "./table.ts";

const EVENTS_PATH = "/usage/events";
const SEED_BATCH = 1_000;

/** Goals are ratios, so that they hold on every machine: 15,000 single events where the raw rate is 487,000. */
export const SINGLE_GOAL = 15_000 / 487_000;
const BATCH_GOAL = 0.35;

/** A way of sending events: so many in a request, over so many connections. */
export interface Sending {
  size: number;
  connections: number;
}

export const SINGLES: Sending = { size: 1, connections: 128 };
export const BATCHES: Sending = { size: 100, connections: 32 };
const LARGE_BATCHES: Sending = { size: 1_000, connections: 32 };

/** Batches of events of three sizes, each beside the raw rate measured in the same round. */
export const ingest: Bench = {
  name: "ingest",
  summary: "POST /usage/events in batches of 1, 100 and 1,000 against typed chunks in-process",
  needs_events: true,
  async run(context) {
    const raw = await RawUsage.open(context.cleanup);
    const rows: Row[] = [];
    for (const { sending, goal } of [
      { sending: BATCHES, goal: BATCH_GOAL },
      { sending: SINGLES, goal: SINGLE_GOAL },
      { sending: LARGE_BATCHES, goal: undefined },
    ]) {
      context.progress(ingestOf(sending));
      const { subject, peer } = await compareIngest(context, raw, sending);
      const cell = { name: "typed chunks in-process", per_s: peer.per_s };
      const reached = goal === undefined ? {} : { goal: atLeast(goal, subject.per_s / peer.per_s) };
      rows.push(rateRow(ingestOf(sending), "events", { subject, peer: cell, ...reached }));
    }
    raw.close();
    return rows;
  },
};

/** What a row of such events is called. */
export function ingestOf({ size, connections }: Sending): string {
  return `ingest in batches of ${size.toLocaleString("en-US")}, ${connections} connections`;
}

/** The events a second that the service stores, and those that the raw engine stores. */
export function compareIngest(context: BenchContext, raw: RawUsage, sending: Sending): Promise<Turns> {
  const { plan, company } = context;
  const events = sending.size === 1 ? plan.single_events : plan.batched_events;
  return takeTurns(plan, {
    peer: () => raw.write(recentEvents(company, plan.batched_events)),
    subject: () => send(company, recentEvents(company, events), sending),
  });
}

/** A goal for the ratio of two rates. */
export function atLeast(goal: number, reached: number): Goal {
  return { text: `≥ ${goal.toPrecision(2)} ×`, met: reached >= goal };
}

/** Stores the plan's events over the service's API. */
export async function seedEvents({ plan, company, progress }: BenchContext): Promise<void> {
  progress(`storing ${plan.events.toLocaleString("en-US")} events`);
  const events = history(company.subscriptions, plan.events, Temporal.Now.instant().epochMilliseconds);
  const { origin } = company;
  const requests = requestsOf(company, events, SEED_BATCH);
  const { per_s } = await runLoad({ origin, connections: 8, requests, status: 201 });
  progress(`stored at ${round(per_s * SEED_BATCH)} events/s (making them took its share)`);
}

/** The bytes of the requests that store the events, made on demand. */
export function* requestsOf(company: Company, events: Iterable<Event>, size: number): Generator<Uint8Array> {
  for (const body of batches(events, size)) yield company.request("POST", EVENTS_PATH, body);
}

/** Events of the last hour that no earlier call gave. */
export function recentEvents(company: Company, count: number): Iterable<Event> {
  return recent(company.subscriptions, count, Temporal.Now.instant().epochMilliseconds);
}

async function send(
  company: Company,
  events: Iterable<Event>,
  { size, connections }: Sending,
): Promise<Measured> {
  const requests = [...requestsOf(company, events, size)];
  const load = await runLoad({ origin: company.origin, connections, requests, status: 201 });
  return { ...load, per_s: load.per_s * size };
}
