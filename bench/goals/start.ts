import { BATCHES, recentEvents, requestsOf } from "../ingest.ts";
import { atMost, type Finding, finding, notMeasured } from "../finding.ts";
import { runLoad } from "../load.ts";
import { Service } from "../service.ts";
import { median } from "../stats.ts";
import type { Part, PartContext } from "./part.ts";

const INDEX_BYTES = "meterhouse_usage_index_bytes";
const RESIDENT = "process_resident_memory_bytes";
const INDEX_ENTRIES = "meterhouse_usage_index_entries";

const BYTES_GOAL = 24;
/** The goals from the command to /ready, by the number of events. */
const START_GOALS = [
  { at: 50_000_000, seconds: 2 },
  { at: 100_000_000, seconds: 4 },
];
const EMPTY_START_S = 0.4;
const IDLE_MB = 130;
/** How long a service without requests has been idle when its memory is read. */
const IDLE_S = 10;

/** What knowing every id that was ever stored costs, and what a service without events does. */
export const start: Part = {
  name: "start",
  summary: "from the command to /ready: after a stop, after kill -9, without events; idle memory",
  async run(context) {
    const { plan, events, progress, deployment } = context;
    const { service, companies } = deployment;
    const findings = [await memory(context)];
    progress("starting after a stop");
    const goal = START_GOALS.find(({ at }) => events <= at) ?? START_GOALS.at(-1);
    const seconds: number[] = [];
    for (let round = 0; round < plan.rounds; round++) seconds.push(await restart(service));
    findings.push(started("start after a stop, up to /ready", events, seconds, goal));
    progress("starting after kill -9 under ingest");
    const recent = recentEvents(companies.writer, plan.batched_events);
    const requests = requestsOf(companies.writer, recent, BATCHES.size);
    await runLoad({ origin: service.origin, connections: BATCHES.connections, requests, status: 201 });
    await service.kill();
    await service.start();
    const killed = [service.ready_ms / 1_000];
    findings.push(started("start after kill -9 under ingest, up to /ready", events, killed, goal));
    await service.stop();
    progress("starting without events");
    return [...findings, ...(await withoutEvents(context))];
  },
};

/** Stops the service and gives the seconds that its start takes. */
async function restart(service: Service): Promise<number> {
  await service.stop();
  await service.start();
  return service.ready_ms / 1_000;
}

/** Starts of a service that stores no events, on a folder of its own, and its memory when nobody asks anything. */
async function withoutEvents(context: PartContext): Promise<Finding[]> {
  const { plan, events, cleanup } = context;
  const service = new Service(cleanup, cleanup.folder());
  await service.start();
  const first = [service.ready_ms / 1_000];
  const seconds: number[] = [];
  const memory_mb: number[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    seconds.push(await restart(service));
    await Bun.sleep(Math.min(IDLE_S, plan.arrival_seconds) * 1_000);
    memory_mb.push(((await service.metric(RESIDENT)) ?? Number.NaN) / 1e6);
  }
  await service.stop();
  const idle_mb = median(memory_mb);
  return [
    started("first start, on an empty folder, up to /ready", events, first),
    started("start without events, up to /ready", events, seconds, { seconds: EMPTY_START_S }),
    finding("memory without events, idle after start", events, {
      measured: `${Math.round(idle_mb)} MB`,
      goal: atMost(IDLE_MB, "MB", idle_mb),
      figures: [{ name: "resident", unit: "MB", values: memory_mb }],
    }),
  ];
}

async function memory({ deployment: { service }, events }: PartContext): Promise<Finding> {
  const what = "memory for deduplication";
  const bytes = await service.metric(INDEX_BYTES);
  const stored = await service.metric(INDEX_ENTRIES);
  if (bytes === undefined || stored === undefined)
    return notMeasured(what, `/metrics has no ${INDEX_BYTES} or ${INDEX_ENTRIES}`);
  const rss = await service.metric(RESIDENT);
  const each = bytes / stored;
  return finding(what, events, {
    measured: `${each.toFixed(1)} bytes an event (${mebibytes(bytes)} of ${mebibytes(rss ?? 0)} MiB resident)`,
    goal: atMost(BYTES_GOAL, "bytes", each),
    figures: [{ name: "each", unit: "bytes", values: [each] }],
  });
}

function started(
  what: string,
  events: number,
  seconds: readonly number[],
  goal?: { at?: number; seconds: number },
): Finding {
  const middle = median(seconds);
  return finding(what, events, {
    measured: `${middle.toFixed(2)} s`,
    goal: goal && atMost(goal.seconds, "s", middle, goal.at),
    figures: [{ name: "start", unit: "s", values: seconds }],
  });
}

function mebibytes(bytes: number): string {
  return Math.round(bytes / 2 ** 20).toLocaleString("en-US");
}
