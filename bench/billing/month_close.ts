import { Type } from "@sinclair/typebox";
import { sum } from "../../src/core/money.ts";
import type { Report, RunContext } from "../bench.ts";
import type { Company } from "../company.ts";
import { atMost, type Finding, finding } from "../finding.ts";
import { type Watched, watch, watchedFindings } from "../watch.ts";
import { type Month, openMonth } from "./month.ts";

/** The goals, and the events that they are set for. */
const GOALS = { seconds: 20, p99_ms: 50, step_s: 1, at: 10_000_000 };
const POLL_MS = 250;
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

/** How a run went on, as its caller sees it. */
export interface Progressed {
  /** How often a look at the run found it further, and the longest time that it did not. */
  moves: number;
  still_s: number;
}

/** Closes a company's last month. Errors: throws when a bill is missing or wrong. */
export async function measureMonthClose(
  events: number,
  keep: string | undefined,
  { cleanup, progress }: RunContext,
): Promise<Report> {
  const { month, service, company } = await openMonth(cleanup, events, { keep, progress });
  const closeMonth = (periods: number) =>
    watch(service, company, "/clients/1", () => watchRun(company, { month: month.name, periods }));
  progress(`closing ${month.name}`);
  const close = await closeMonth(month.subscriptions);
  progress(`closed in ${close.seconds.toFixed(1)} s; checking the bills`);
  await check(company, month);
  progress("running it again, which changes nothing");
  const again = await closeMonth(0);
  await service.stop();
  progress("done");
  const subscriptions = month.subscriptions.toLocaleString("en-US");
  return {
    preface: `${month.events.toLocaleString("en-US")} events of ${subscriptions} subscriptions in ${month.name}; \
one round. In brackets: the goal is set for another number of events.`,
    findings: findings(month, close, again),
    failed: false,
  };
}

function findings({ events }: Month, close: Watched<Progressed>, again: Watched<Progressed>): Finding[] {
  const { seconds, cpu_s, result } = close;
  const { moves, still_s } = result;
  return [
    finding("month close", events, {
      measured: `${seconds.toFixed(1)} s, ${cpu_s.toFixed(1)} s of processor time`,
      goal: atMost(GOALS.seconds, "s", seconds, GOALS.at),
      figures: [
        { name: "the run", unit: "s", values: [seconds] },
        { name: "processor time", unit: "s", values: [cpu_s] },
      ],
    }),
    finding("progress in the run's record", events, {
      measured: `${moves} steps, the longest ${still_s.toFixed(1)} s`,
      goal: atMost(GOALS.step_s, "s", still_s, GOALS.at),
      figures: [{ name: "longest", unit: "s", values: [still_s] }],
    }),
    ...watchedFindings(close, events, {
      what: "GET one client",
      p99_ms: GOALS.p99_ms,
      step_ms: GOALS.step_s * 1_000,
      at: GOALS.at,
    }),
    finding("the same run again, which finds nothing to do", events, {
      measured: `${again.seconds.toFixed(1)} s`,
      figures: [{ name: "the run", unit: "s", values: [again.seconds] }],
    }),
  ];
}

/**
 * Starts a run of a month, or without one of all that is due, and looks at it until its end. Errors: throws unless it
 * bills so many periods.
 */
export async function watchRun(
  company: Company,
  { month, periods }: { month: string | undefined; periods: number },
): Promise<Progressed> {
  const before = await company.fetchJson(Runs, "GET", "/billing-runs?limit=1");
  const started = performance.now();
  const posted = company.fetchJson(OneRun, "POST", "/billing-runs", { period: month });
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
      if (run.status !== "finished" || run.counts.periods !== periods || run.counts.failed > 0)
        throw new Error(`Cannot go on: the run came to ${JSON.stringify(run)}`);
      return { moves, still_s: still_ms / 1_000 };
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
