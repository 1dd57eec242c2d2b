import { Type } from "@sinclair/typebox";
import { sum } from "../../src/core/money.ts";
import type { Cleanup } from "../cleanup.ts";
import type { Company } from "../company.ts";
import { type Finding, finding, printFindings } from "../goals/finding.ts";
import { runArrivals } from "../load.ts";
import { watchMemory } from "../memory.ts";
import type { Service } from "../service.ts";
import type { Progress } from "../bench.ts";
import type { Measured } from "../stats.ts";
import { machine, spread } from "../table.ts";
import { type Month, openMonth } from "./month.ts";

const GOAL = { text: "≤ 60 s at 10 M", seconds: 60, at: 10_000_000 };
const POLL_MS = 250;
/** Reads of one client that arrive while the run goes on. */
const READS = { connections: 8, per_s: 20 };
const VERIFIED = 20;
const PAGE = 200;
const READ_AT_ONCE = 8;

const Run = Type.Object({
  id: Type.Integer(),
  status: Type.String(),
  counts: Type.Object({
    subscriptions: Type.Integer(),
    periods: Type.Integer(),
    failed: Type.Integer(),
  }),
});
const OneRun = Type.Object({ data: Run });
const Runs = Type.Object({ data: Type.Array(Run) });
const Records = Type.Object({ data: Type.Array(Type.Object({ id: Type.Integer() })) });
const Record = Type.Object({
  data: Type.Object({
    lines: Type.Array(
      Type.Object({
        kind: Type.String(),
        quantity: Type.String(),
        event_count: Type.Union([Type.Integer(), Type.Null()]),
      }),
    ),
  }),
});
const Verified = Type.Object({ data: Type.Object({ matches: Type.Boolean() }) });
const Totals = Type.Object({
  data: Type.Array(Type.Object({ total_usage: Type.Number(), event_count: Type.Integer() })),
});

/** The outcome of a run, as its caller sees it. */
interface Close {
  seconds: number;
  /** The processor time that the server took, on all cores. */
  cpu_s: number;
  grown: number;
  /** How often a look at the run found it further, and the longest time that it did not. */
  moves: number;
  still_s: number;
  reads: Measured;
}

/** Closes a company's last month and prints how that went. Errors: throws when a bill is missing or wrong. */
export async function measureMonthClose(
  events: number,
  keep: string | undefined,
  { cleanup, progress }: { cleanup: Cleanup; progress: Progress },
): Promise<void> {
  const { month, service, company } = await openMonth(cleanup, events, { keep, progress });
  progress(`closing ${month.name}`);
  const close = await closeMonth(service, company, month);
  progress(`closed in ${close.seconds.toFixed(1)} s; checking the bills`);
  await check(company, month);
  progress("running it again, which changes nothing");
  const again = await closeMonth(service, company, { ...month, subscriptions: 0 });
  await service.stop();
  progress("done");
  console.log(`${machine()}
${month.events.toLocaleString("en-US")} events of ${month.subscriptions.toLocaleString("en-US")} subscriptions in \
${month.name}; one round. In brackets: the goal is set for another number of events.

${printFindings(findings(month, close, again))}`);
}

function findings({ events, subscriptions }: Month, close: Close, again: Close): Finding[] {
  const { seconds, cpu_s, grown, moves, still_s, reads } = close;
  return [
    finding(`month close of ${subscriptions.toLocaleString("en-US")} subscriptions`, events, {
      measured: `${seconds.toFixed(1)} s, ${cpu_s.toFixed(1)} s of processor time`,
      goal: { text: GOAL.text, met: seconds <= GOAL.seconds, at: GOAL.at },
    }),
    finding("growth of the server's memory meanwhile, at most", events, {
      measured: `${Math.round(grown / 2 ** 20)} MiB`,
    }),
    finding("progress in the run's record", events, {
      measured: `${moves} steps, the longest ${still_s.toFixed(1)} s`,
    }),
    finding(`GET one client meanwhile, ${READS.per_s} a second, from arrival`, events, {
      measured: `p50 / p99 ${spread(reads)}, longest ${Math.round(reads.max_ms)} ms`,
    }),
    finding("the same run again, which finds nothing to do", events, {
      measured: `${again.seconds.toFixed(1)} s`,
    }),
  ];
}

/** Starts a run, watches it to its end, and lets others read meanwhile. */
async function closeMonth(service: Service, company: Company, month: Month): Promise<Close> {
  const watch = { on: true };
  const request = company.request("GET", "/clients/1");
  const requests = (function* () {
    while (watch.on) yield request;
  })();
  const memory = watchMemory(service);
  const cpu_s = () => service.metric("process_cpu_seconds_total").then((value) => value ?? Number.NaN);
  const cpu_before_s = await cpu_s();
  const reading = runArrivals({ ...READS, origin: company.origin, requests, status: 200 });
  try {
    const ran = await watchRun(company, month);
    const taken_s = (await cpu_s()) - cpu_before_s;
    watch.on = false;
    return { ...ran, cpu_s: taken_s, grown: await memory.stop(), reads: await reading };
  } finally {
    watch.on = false;
    await memory.stop();
  }
}

async function watchRun(
  company: Company,
  { name, subscriptions }: Month,
): Promise<Pick<Close, "seconds" | "moves" | "still_s">> {
  const before = await company.fetchJson(Runs, "GET", "/billing-runs?limit=1");
  const started = performance.now();
  const posted = company.fetchJson(OneRun, "POST", "/billing-runs", { period: name });
  let [moves, still_ms, moved_at, seen] = [0, 0, started, 0];
  while (true) {
    const { data } = await company.fetchJson(Runs, "GET", "/billing-runs?limit=1");
    const run = data.find(({ id }) => id !== before.data[0]?.id);
    const now = performance.now();
    if (run && run.counts.periods !== seen) {
      still_ms = Math.max(still_ms, now - moved_at);
      [seen, moved_at, moves] = [run.counts.periods, now, moves + 1];
    }
    if (run && run.status !== "running") {
      await posted;
      if (run.status !== "finished" || run.counts.periods !== subscriptions || run.counts.failed > 0)
        throw new Error(`Cannot go on: the run came to ${JSON.stringify(run)}`);
      return { seconds: (now - started) / 1_000, moves, still_s: still_ms / 1_000 };
    }
    await Bun.sleep(POLL_MS);
  }
}

/** Holds the bills against the events, all by their sums and some by their digests. */
async function check(company: Company, { from, to, events, subscriptions }: Month): Promise<void> {
  const ids: number[] = [];
  for (let page = 1; ids.length === (page - 1) * PAGE; page++) {
    const path = `/billing-records?limit=${PAGE}&page=${page}`;
    const { data } = await company.fetchJson(Records, "GET", path);
    if (data.length === 0) break;
    ids.push(...data.map(({ id }) => id));
  }
  if (new Set(ids).size !== subscriptions)
    throw new Error(`Cannot go on: ${ids.length} records for ${subscriptions} subscriptions`);

  const billed = { events: 0, units: "0" };
  for (let start = 0; start < ids.length; start += READ_AT_ONCE) {
    const some = ids.slice(start, start + READ_AT_ONCE);
    const records = await Promise.all(
      some.map((id) => company.fetchJson(Record, "GET", `/billing-records/${id}`)),
    );
    const lines = records.flatMap(({ data }) => data.lines.filter(({ kind }) => kind === "usage"));
    billed.events += lines.reduce((all, { event_count }) => all + (event_count ?? 0), 0);
    billed.units = sum([billed.units, ...lines.map(({ quantity }) => quantity)]);
  }
  const [start_time, end_time] = [from, to].map((text) => Temporal.Instant.from(text).epochMilliseconds);
  const range = { start_time, end_time, aggregate: true };
  const [stored] = (await company.fetchJson(Totals, "POST", "/usage/search", range)).data;
  if (
    billed.events !== events ||
    stored?.event_count !== events ||
    Number(billed.units) !== stored.total_usage
  )
    throw new Error(`Cannot go on: billed were ${JSON.stringify(billed)}, stored ${JSON.stringify(stored)}`);

  for (let i = 0; i < VERIFIED; i++) {
    const id = ids[Math.floor(Math.random() * ids.length)];
    const { data } = await company.fetchJson(Verified, "GET", `/billing-records/${id}/verify`);
    if (!data.matches) throw new Error(`Cannot go on: record ${id} does not hold what its events say`);
  }
}
