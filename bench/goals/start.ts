import { BATCHES, recentEvents, requestsOf } from "../ingest.ts";
import { runLoad } from "../load.ts";
import { type Finding, finding, notMeasured } from "./finding.ts";
import type { Part, PartContext } from "./part.ts";

const INDEX_BYTES = "meterhouse_usage_index_bytes";
const INDEX_ENTRIES = "meterhouse_usage_index_entries";

const BYTES_GOAL = 24;
const START_S = 5;
const START_EVENTS = 50_000_000;

/** What knowing every id that was ever stored costs. */
export const start: Part = {
  name: "start",
  summary: "memory for deduplication, and the time that a start takes, after a stop and after kill -9",
  async run(context) {
    const { service, companies } = context.deployment;
    const findings = [await memory(context)];
    context.progress("starting after a stop");
    await service.stop();
    await service.start();
    findings.push(started(context, "start after a stop"));
    context.progress("starting after kill -9 under ingest");
    const events = recentEvents(companies.writer, context.plan.batched_events);
    const requests = requestsOf(companies.writer, events, BATCHES.size);
    await runLoad({ origin: service.origin, connections: BATCHES.connections, requests, status: 201 });
    await service.kill();
    await service.start();
    findings.push(started(context, "start after kill -9 under ingest"));
    return findings;
  },
};

async function memory({ deployment: { service }, events }: PartContext): Promise<Finding> {
  const what = "memory for deduplication";
  const bytes = await service.metric(INDEX_BYTES);
  const stored = await service.metric(INDEX_ENTRIES);
  if (bytes === undefined || stored === undefined)
    return notMeasured(what, `/metrics has no ${INDEX_BYTES} or ${INDEX_ENTRIES}`);
  const rss = await service.metric("process_resident_memory_bytes");
  const each = bytes / stored;
  return finding(what, events, {
    measured: `${each.toFixed(1)} bytes an event (${mebibytes(bytes)} of ${mebibytes(rss ?? 0)} MiB resident)`,
    goal: { text: `≤ ${BYTES_GOAL} bytes`, met: each <= BYTES_GOAL },
  });
}

function started({ deployment: { service }, events }: PartContext, what: string): Finding {
  const seconds = service.started_ms / 1_000;
  return finding(`${what}, up to the first answered /health`, events, {
    measured: `${seconds.toFixed(2)} s`,
    goal: { text: `≤ ${START_S} s at 50 M`, met: seconds <= START_S, at: START_EVENTS },
  });
}

function mebibytes(bytes: number): string {
  return Math.round(bytes / 2 ** 20).toLocaleString("en-US");
}
