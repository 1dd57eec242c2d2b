import { recentEvents, requestsOf } from "./ingest.ts";
import { repeat, runArrivals, runLoad } from "./load.ts";
import { SEARCH_PATH } from "./search.ts";
import type { Bench, Stage } from "./stage.ts";
import { medianOf, type Measured } from "./stats.ts";
import { figureRow, type Goal, ms, type Row } from "./table.ts";

const AGGREGATES = 6;
const READERS = 4;
const BATCH = 100;
const EVENTS_PER_S = 20_000;

const READ_P99_MS = 15;
const STALL_MS = 100;

/** What one kind of work does to another: figures against a goal, without a peer. */
export const pressure: Bench = {
  name: "pressure",
  summary: "GET one client while aggregates run at full load; the longest wait under a steady ingest",
  needs_events: true,
  async run(stage) {
    return [await readUnderAggregates(stage), await steadyIngest(stage)];
  },
};

async function readUnderAggregates({ plan, house, progress }: Stage): Promise<Row> {
  progress("GET one client while aggregates run");
  const { origin } = house;
  const aggregate = house.request("POST", SEARCH_PATH, { aggregate: true, group_by: "client" });
  const get = house.request("GET", "/clients/1");
  const rounds: Measured[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    const { seconds } = plan;
    const [read] = await Promise.all([
      runLoad({ origin, connections: READERS, requests: repeat(get), status: 200, seconds }),
      runLoad({ origin, connections: AGGREGATES, requests: repeat(aggregate), status: 200, seconds }),
    ]);
    rounds.push(read);
  }
  const { p50_ms, p99_ms } = medianOf(rounds);
  const what = `GET one client while ${AGGREGATES} aggregates run all the time, ${READERS} connections`;
  return figureRow(
    what,
    `${ms(p99_ms)} ms p99`,
    `${ms(p50_ms)} / ${ms(p99_ms)}`,
    atMost(READ_P99_MS, p99_ms, "p99"),
  );
}

async function steadyIngest({ plan, house, progress }: Stage): Promise<Row> {
  progress(`ingest at a steady rate for ${plan.arrival_seconds} s`);
  const requests = [...requestsOf(house, recentEvents(house, EVENTS_PER_S * plan.arrival_seconds), BATCH)];
  const { p50_ms, p99_ms, max_ms } = await runArrivals({
    origin: house.origin,
    connections: 64,
    requests,
    status: 201,
    per_s: EVENTS_PER_S / BATCH,
  });
  const what = `ingest of ${EVENTS_PER_S.toLocaleString("en-US")} events/s in batches of ${BATCH}, from arrival`;
  return figureRow(
    what,
    `${ms(max_ms)} ms longest`,
    `${ms(p50_ms)} / ${ms(p99_ms)}`,
    atMost(STALL_MS, max_ms, "longest"),
  );
}

function atMost(limit_ms: number, reached_ms: number, figure: string): Goal {
  return { text: `${figure} ≤ ${limit_ms} ms`, met: reached_ms <= limit_ms };
}
