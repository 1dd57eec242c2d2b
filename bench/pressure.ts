import { recentEvents, requestsOf } from "./ingest.ts";
import { repeat, runArrivals, runLoad } from "./load.ts";
import { SEARCH_PATH } from "./search.ts";
import type { Bench, BenchContext } from "./bench.ts";
import { medianOf, type Measured } from "./stats.ts";
import { figureRow, type Goal, ms, spread } from "./table.ts";

const AGGREGATES = 6;
const READERS = 4;
const BATCH = 100;
const EVENTS_PER_S = 20_000;

const READ_P99_MS = 15;
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
    const read = await readUnderAggregates(context);
    context.progress(`${STEADY_INGEST}, ${context.plan.arrival_seconds} s`);
    const ingest = await steadyIngest(context);
    return [
      figureRow(READ_UNDER_AGGREGATES, `${ms(read.p99_ms)} ms p99`, spread(read), readGoal(read)),
      figureRow(STEADY_INGEST, `${ms(ingest.max_ms)} ms longest`, spread(ingest), stallGoal(ingest)),
    ];
  },
};

/** The time that a GET of a small record takes while aggregates run all the time. */
export async function readUnderAggregates({ plan, company }: BenchContext): Promise<Measured> {
  const { origin } = company;
  const aggregate = company.request("POST", SEARCH_PATH, { aggregate: true, group_by: "client" });
  const get = company.request("GET", `/clients/${company.subscriptions[0]?.client_id}`);
  const rounds: Measured[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    const { seconds } = plan;
    const [read] = await Promise.all([
      runLoad({ origin, connections: READERS, requests: repeat(get), status: 200, seconds }),
      runLoad({ origin, connections: AGGREGATES, requests: repeat(aggregate), status: 200, seconds }),
    ]);
    rounds.push(read);
  }
  return medianOf(rounds);
}

/** The time that an ingest request takes at a steady rate, from when it should have gone out. */
export function steadyIngest({ plan, company }: BenchContext): Promise<Measured> {
  const events = recentEvents(company, EVENTS_PER_S * plan.arrival_seconds);
  return runArrivals({
    origin: company.origin,
    connections: 64,
    // Made beforehand: making them would take from the server while it is measured.
    requests: [...requestsOf(company, events, BATCH)],
    status: 201,
    per_s: EVENTS_PER_S / BATCH,
  });
}

export function readGoal({ p99_ms }: Measured): Goal {
  return { text: `p99 ≤ ${READ_P99_MS} ms`, met: p99_ms <= READ_P99_MS };
}

export function stallGoal({ max_ms }: Measured): Goal {
  return { text: `longest ≤ ${STALL_MS} ms`, met: max_ms <= STALL_MS };
}
