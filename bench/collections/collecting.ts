import { type Static, Type } from "@sinclair/typebox";
import type { Report, RunContext } from "../bench.ts";
import type { Company } from "../company.ts";
import { atMost, type Finding, finding } from "../finding.ts";
import { round } from "../table.ts";
import { type Watched, watch, watchedFindings } from "../watch.ts";
import { type Mandates, openMandates } from "./mandates.ts";

/** The goals, and the mandates that they are set for. */
const GOALS = { seconds: 15, p99_ms: 40, at: 100_000 };
const POLL_MS = 250;
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

/** Collects so many mandates in one run. Errors: throws when a debit is missing. */
export async function measureCollections(count: number, { cleanup, progress }: RunContext): Promise<Report> {
  const mandates = await openMandates(cleanup, count, progress);
  progress("collecting");
  const first = await collect(mandates);
  progress(`collected in ${first.seconds.toFixed(1)} s; checking the payments`);
  await check(mandates, first.result);
  progress("running it again, which collects nothing");
  const again = await collect(mandates);
  if (again.result.counts.submitted > 0) throw new Error("Cannot go on: debits were sent twice");
  progress("getting the file, and sending a bank's results");
  const results = await sendResults(mandates, first.result.id);
  await mandates.service.stop();
  progress("done");
  return {
    preface: `${count.toLocaleString("en-US")} active mandates of one company, all due on one day; one round. In \
brackets: the goal is set for another number of mandates.`,
    findings: findings(mandates, first, again, results),
    failed: false,
  };
}

interface SentResults {
  file_seconds: number;
  lines: number;
  seconds: number;
}

function findings(
  { count }: Mandates,
  first: Watched<Run>,
  again: Watched<Run>,
  results: SentResults,
): Finding[] {
  const { seconds, cpu_s } = first;
  const rate = results.lines / results.seconds;
  return [
    finding("collection of all mandates in one run", count, {
      measured: `${seconds.toFixed(1)} s, ${cpu_s.toFixed(1)} s of processor time, ${round(count / seconds)} debits/s`,
      goal: atMost(GOALS.seconds, "s", seconds, GOALS.at),
      figures: [
        { name: "the run", unit: "s", values: [seconds] },
        { name: "processor time", unit: "s", values: [cpu_s] },
      ],
    }),
    ...watchedFindings(first, count, {
      what: "GET the list of runs",
      p99_ms: GOALS.p99_ms,
      at: GOALS.at,
    }),
    finding("the same run again, which finds nothing to do", count, {
      measured: `${again.seconds.toFixed(1)} s`,
      figures: [{ name: "the run", unit: "s", values: [again.seconds] }],
    }),
    finding("the run's file", count, {
      measured: `${results.file_seconds.toFixed(1)} s`,
      figures: [{ name: "the file", unit: "s", values: [results.file_seconds] }],
    }),
    finding(`a bank's results, up to ${RESULTS.toLocaleString("en-US")} lines in one file`, count, {
      measured: `${results.seconds.toFixed(1)} s, ${round(rate)} lines/s`,
      figures: [{ name: "rate", unit: "lines/s", values: [rate] }],
    }),
  ];
}

/** Starts a run and waits for its end. */
function collect({ service, company, date }: Mandates): Promise<Watched<Run>> {
  return watch(service, company, "/emandate/collections?limit=1", async () =>
    finished(company, await company.fetchJson(OneRun, "POST", "/emandate/collections/run", { date })),
  );
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
