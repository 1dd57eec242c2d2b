import { type Static, Type } from "@sinclair/typebox";
import type { Cleanup } from "../cleanup.ts";
import type { Company } from "../company.ts";
import { type Finding, finding, printFindings } from "../goals/finding.ts";
import { runArrivals } from "../load.ts";
import { watchMemory } from "../memory.ts";
import type { Progress } from "../bench.ts";
import type { Measured } from "../stats.ts";
import { machine, round, spread } from "../table.ts";
import { type Mandates, openMandates } from "./mandates.ts";

const GOAL = { text: "≤ 60 s at 100,000", seconds: 60, at: 100_000 };
const POLL_MS = 250;
/** Reads of one mandate that arrive while the run goes on. */
const READS = { connections: 8, per_s: 20 };
/** Lines of one file of results. */
const RESULTS = 10_000;

const Run = Type.Object({
  id: Type.Integer(),
  status: Type.String(),
  error: Type.Union([Type.String(), Type.Null()]),
  counts: Type.Object({ due: Type.Integer(), scheduled: Type.Integer(), submitted: Type.Integer() }),
});
type Run = Static<typeof Run>;
const OneRun = Type.Object({ data: Run });
const Payments = Type.Object({ meta: Type.Object({ total: Type.Integer() }) });
const Results = Type.Object({ data: Type.Object({ applied: Type.Integer(), rejected: Type.Integer() }) });

/** The outcome of a run, as its caller sees it. */
interface Collected {
  run: Run;
  seconds: number;
  cpu_s: number;
  grown: number;
  reads: Measured;
}

/** Collects so many mandates in one run and prints how that went. Errors: throws when a debit is missing. */
export async function measureCollections(
  count: number,
  { cleanup, progress }: { cleanup: Cleanup; progress: Progress },
): Promise<void> {
  const mandates = await openMandates(cleanup, count, progress);
  progress("collecting");
  const first = await collect(mandates);
  progress(`collected in ${first.seconds.toFixed(1)} s; checking the payments`);
  await check(mandates, first.run);
  progress("running it again, which collects nothing");
  const again = await collect(mandates);
  if (again.run.counts.submitted > 0) throw new Error("Cannot go on: debits were sent twice");
  progress("getting the file, and sending a bank's results");
  const results = await sendResults(mandates, first.run.id);
  await mandates.service.stop();
  progress("done");
  console.log(`${machine()}
${count.toLocaleString("en-US")} active mandates of one company, all due on one day; one round. In brackets: the goal \
is set for another number of mandates.

${printFindings(findings(mandates, first, again, results))}`);
}

interface SentResults {
  file_seconds: number;
  lines: number;
  seconds: number;
}

function findings(
  { count }: Mandates,
  { seconds, cpu_s, grown, reads }: Collected,
  again: Collected,
  results: SentResults,
): Finding[] {
  return [
    finding(`collection of ${count.toLocaleString("en-US")} mandates in one run`, count, {
      measured: `${seconds.toFixed(1)} s, ${cpu_s.toFixed(1)} s of processor time, ${round(count / seconds)} debits/s`,
      goal: { text: GOAL.text, met: seconds <= GOAL.seconds, at: GOAL.at },
    }),
    finding("growth of the server's memory meanwhile, at most", count, {
      measured: `${Math.round(grown / 2 ** 20)} MiB`,
    }),
    finding(`GET one run meanwhile, ${READS.per_s} a second, from arrival`, count, {
      measured: `p50 / p99 ${spread(reads)}, longest ${Math.round(reads.max_ms)} ms`,
    }),
    finding("the same run again, which finds nothing to do", count, {
      measured: `${again.seconds.toFixed(1)} s`,
    }),
    finding("the run's file", count, { measured: `${results.file_seconds.toFixed(1)} s` }),
    finding(`a bank's results, ${results.lines.toLocaleString("en-US")} lines in one file`, count, {
      measured: `${results.seconds.toFixed(1)} s, ${round(results.lines / results.seconds)} lines/s`,
    }),
  ];
}

/** Starts a run, waits for its end, and lets others read meanwhile. */
async function collect({ service, company, date }: Mandates): Promise<Collected> {
  const watch = { on: true };
  const request = company.request("GET", "/emandate/collections?limit=1");
  const requests = (function* () {
    while (watch.on) yield request;
  })();
  const memory = watchMemory(service);
  const cpu_s = () => service.metric("process_cpu_seconds_total").then((value) => value ?? Number.NaN);
  const before_s = await cpu_s();
  const reading = runArrivals({ ...READS, origin: company.origin, requests, status: 200 });
  try {
    const started = performance.now();
    const run = await finished(
      company,
      await company.fetchJson(OneRun, "POST", "/emandate/collections/run", { date }),
    );
    const seconds = (performance.now() - started) / 1_000;
    const taken_s = (await cpu_s()) - before_s;
    watch.on = false;
    return { run, seconds, cpu_s: taken_s, grown: await memory.stop(), reads: await reading };
  } finally {
    watch.on = false;
    await memory.stop();
  }
}

async function finished(company: Company, begun: Static<typeof OneRun>): Promise<Run> {
  let { data: run } = begun;
  while (run.status === "running") {
    await Bun.sleep(POLL_MS);
    ({ data: run } = await company.fetchJson(OneRun, "GET", `/emandate/collections/${run.id}`));
  }
  if (run.status === "finished" && run.error === null) return run;
  throw new Error(`Cannot go on: the run came to ${JSON.stringify(run)}`);
}

/** Every mandate has one payment, and every payment was sent. */
async function check({ company, count }: Mandates, { counts }: Run): Promise<void> {
  const total = async (query: string) =>
    (await company.fetchJson(Payments, "GET", `/emandate/payments?limit=1${query}`)).meta.total;
  const found = [
    counts.due,
    counts.scheduled,
    counts.submitted,
    await total(""),
    await total("&status=submitted"),
  ];
  if (found.some((number) => number !== count)) {
    throw new Error(`Cannot go on: of ${count} mandates came ${JSON.stringify(found)}`);
  }
}

async function sendResults({ company }: Mandates, run_id: number): Promise<SentResults> {
  const path = `/emandate/collections/${run_id}`;
  const before = performance.now();
  const file = await (await company.fetch("GET", `${path}/file`)).text();
  const file_seconds = (performance.now() - before) / 1_000;
  const columns = file
    .split("\r\n")
    .slice(1, RESULTS + 1)
    .filter((line) => line !== "")
    .map((line) => line.split(","));
  const lines = columns.map(([order_no = "", , , , , amount = ""]) => `${order_no},${amount},00`);
  const started = performance.now();
  const csv = ["order_no,amount,response_code", ...lines].join("\r\n");
  const answer = await company.fetchJson(Results, "POST", `${path}/results`, csv);
  const { applied } = answer.data;
  if (applied !== lines.length)
    throw new Error(`Cannot go on: the results came to ${JSON.stringify(answer)}`);
  return { file_seconds, lines: lines.length, seconds: (performance.now() - started) / 1_000 };
}
