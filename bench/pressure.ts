import { atMost, type Finding, finding, figureOf } from "./finding.ts";
import { recentEvents, requestsOf } from "./ingest.ts";
import { repeat, runArrivals, runLoad } from "./load.ts";
import { SEARCH_PATH } from "./search.ts";
import type { Bench, BenchContext } from "./bench.ts";
import { medianOf, type Median, type Measured } from "./stats.ts";
import { ms, spread } from "./table.ts";

const AGGREGATES = 6;
const READERS = 4;
const BATCH = 100;
const EVENTS_PER_S = 20_000;

const READ_P99_MS = 6;
const STALL_MS = 100;

export const READ_UNDER_AGGREGATES = `GET one client while ${AGGREGATES} aggregates run all the time, ${READERS} connections`;
export const STEADY_INGEST = `ingest of ${EVENTS_PER_S.toLocaleString("en-US")} events/s in batches of ${BATCH}, from arrival`;

/** What one kind of work does to another: figures against a goal, without a peer. */
export const pressure: Bench = {
  name: "pressure",
  summary: "GET one client while aggregates run at full load; the longest wait under a steady ingest",
  needs_events: true,
  async run(context) {
    context.progress(READ_UNDER_AGGREGATES);
    const read = await readBeside(context, READ_UNDER_AGGREGATES, () =>
      aggregate(context, { group_by: "client" }),
    );
    context.progress(`${STEADY_INGEST}, ${context.plan.arrival_seconds} s`);
    return [read, await steadyIngest(context)];
  },
};

/** Sends such aggregates all the time, for as long as a round lasts. */
export function aggregate(
  { plan, company }: BenchContext,
  search: Record<string, unknown>,
): Promise<Measured> {
  const request = company.request("POST", SEARCH_PATH, { aggregate: true, ...search });
  return runLoad({
    origin: company.origin,
    connections: AGGREGATES,
    requests: repeat(request),
    status: 200,
    seconds: plan.seconds,
  });
}

/** The time that a GET of a small record takes while other work goes on, which lasts as long as a round. */
export async function readBeside(
  { plan, company }: BenchContext,
  what: string,
  work: () => Promise<unknown>,
): Promise<Finding> {
  const get = company.request("GET", `/clients/${company.subscriptions[0]?.client_id}`);
  const load = { origin: company.origin, connections: READERS, requests: repeat(get), status: 200 };
  const rounds: Measured[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    const [read] = await Promise.all([runLoad({ ...load, seconds: plan.seconds }), work()]);
    rounds.push(read);
  }
  const read = medianOf(rounds);
  return finding(what, plan.events, {
    measured: `p99 ${ms(read.p99_ms)} ms`,
    latency: spread(read),
    goal: atMost(READ_P99_MS, "ms", read.p99_ms),
    figures: [figureOf(read, "p99_ms"), figureOf(read, "p50_ms")],
  });
}

/** The time that an ingest request takes at a steady rate, from when it should have gone out. */
export async function steadyIngest({ plan, company }: BenchContext): Promise<Finding> {
  const events = recentEvents(company, EVENTS_PER_S * plan.arrival_seconds);
  const waited = await runArrivals({
    origin: company.origin,
    connections: 64,
    // Made beforehand: making them would take from the server while it is measured.
    requests: [...requestsOf(company, events, BATCH)],
    status: 201,
    per_s: EVENTS_PER_S / BATCH,
  });
  return finding(STEADY_INGEST, plan.events, {
    ...waitCells(medianOf([waited])),
    goal: atMost(STALL_MS, "ms", waited.max_ms),
  });
}

/** The cells of a line about waits, the longest of which counts. */
export function waitCells(waited: Median) {
  return {
    measured: `longest ${ms(waited.max_ms)} ms`,
    latency: spread(waited),
    figures: [figureOf(waited, "max_ms"), figureOf(waited, "p99_ms"), figureOf(waited, "p50_ms")],
  };
}
