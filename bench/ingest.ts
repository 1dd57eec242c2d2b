import type { Company } from "./company.ts";
import { batches, type Event, history, recent } from "./events.ts";
import { type Finding, rateFinding } from "./finding.ts";
import { runLoad } from "./load.ts";
import { takeTurns } from "./plan.ts";
import { RawUsage } from "./raw_usage.ts";
import type { Bench, BenchContext } from "./bench.ts";
import type { Measured } from "./stats.ts";
import { round } from "./table.ts";

const EVENTS_PATH = "/usage/events";
const SEED_BATCH = 1_000;

/** A way of sending events: so many in a request, over so many connections. */
export interface Sending {
  size: number;
  connections: number;
  /** The least ratio to the raw rate. */
  least: number;
}

export const BATCHES: Sending = { size: 100, connections: 32, least: 0.5 };
export const SENDINGS: readonly Sending[] = [
  BATCHES,
  { size: 1, connections: 128, least: 0.06 },
  { size: 1_000, connections: 32, least: 0.6 },
];

/** Batches of events of three sizes, each beside the raw rate measured in the same round. */
export const ingest: Bench = {
  name: "ingest",
  summary: "POST /usage/events in batches of 1, 100 and 1,000 against typed chunks in-process",
  needs_events: true,
  async run(context) {
    const raw = await RawUsage.open(context.cleanup);
    const findings: Finding[] = [];
    for (const sending of SENDINGS) {
      context.progress(ingestOf(sending));
      findings.push(await besideRaw(context, raw, sending));
    }
    raw.close();
    return findings;
  },
};

/** What a line of such events is called. */
export function ingestOf({ size, connections }: Sending): string {
  return `ingest in batches of ${size.toLocaleString("en-US")}, ${connections} connections`;
}

/** The events a second that the service stores, and those that the raw engine stores. */
export async function besideRaw(context: BenchContext, raw: RawUsage, sending: Sending): Promise<Finding> {
  const { plan, company } = context;
  const events = sending.size === 1 ? plan.single_events : plan.batched_events;
  const { subject, peer } = await takeTurns(plan, {
    peer: () => raw.write(recentEvents(company, plan.batched_events)),
    subject: () => send(company, recentEvents(company, events), sending),
  });
  const named = { name: "typed chunks in-process", median: peer };
  const { least } = sending;
  return rateFinding(ingestOf(sending), plan.events, { unit: "events", subject, peer: named, least });
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
