import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { serveBare } from "./bare_server.ts";
import { measureMonthClose } from "./billing/month_close.ts";
import { Cleanup } from "./cleanup.ts";
import { measureCollections } from "./collections/collecting.ts";
import { compare, refuseOther } from "./compare.ts";
import { Company } from "./company.ts";
import { type Finding, printFindings } from "./finding.ts";
import { measureGoals, PARTS } from "./goals/goals.ts";
import { measureInStore } from "./goals/in_store.ts";
import { seed } from "./goals/seed.ts";
import { ingest, seedEvents } from "./ingest.ts";
import {
  FULL,
  GOALS,
  MANDATES,
  MONTH_EVENTS,
  type Plan,
  QUICK,
  QUICK_GOALS,
  QUICK_MANDATES,
  readCount,
} from "./plan.ts";
import { measureMoving } from "./moving/moving.ts";
import { callTool } from "./mcp.ts";
import { writePlots } from "./plot.ts";
import { pressure } from "./pressure.ts";
import { measurePricing, PRICING_PARTS } from "./pricing/pricing.ts";
import { measureQuestions, QUESTION_PARTS } from "./questions/questions.ts";
import { storeEvents } from "./questions/store_events.ts";
import { defaultFile, readResults, ResultsFile } from "./results.ts";
import { createClient, getClient, listSubscriptions, signIn } from "./rest.ts";
import { search } from "./search.ts";
import { FIRST_EMAIL, Service } from "./service.ts";
import type { Bench, BenchContext, Report, RunContext } from "./bench.ts";
import { machine } from "./table.ts";

/** In this order: what writes events before what reads them. */
const BENCHES: readonly Bench[] = [
  signIn,
  getClient,
  listSubscriptions,
  createClient,
  callTool,
  ingest,
  search,
  pressure,
];

/** Words that measure something else instead, or nothing. */
const USAGE = "usage";
const BILLING = "billing";
const COLLECTIONS = "collections";
const PRICING = "pricing";
const QUESTIONS = "questions";
const MOVING = "moving";
const COMPARE = "compare";
const PLOT = "plot";

const list = (entries: readonly { name: string; summary: string }[]) => {
  const width = Math.max(...entries.map(({ name }) => name.length));
  return entries.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join("\n");
};

const HELP = `Usage: bun run bench [NAME …] [OPTIONS]
       bun run bench usage [PART …] [OPTIONS]
       bun run bench billing [OPTIONS]
       bun run bench collections [OPTIONS]
       bun run bench pricing [PART …] [OPTIONS]
       bun run bench questions [PART …] [OPTIONS]
       bun run bench moving [OPTIONS]
       bun run bench compare BEFORE AFTER
       bun run bench plot

Starts the service as a process of its own on a temporary folder, loads it over HTTP and prints each figure
beside that of a peer measured in the same run. Without a NAME it measures everything in this list:

${list(BENCHES)}

\`usage\` measures the goals for usage on a deployment of many companies, beside other engines with the same
events; ClickHouse's takes part once \`bun install --cwd bench/peers/clickhouse\` was run. Without a PART all:

${list(PARTS)}

\`billing\` bills a company's last month in one run, a subscription for every thousand events, and checks the
bills; the goals are set for 10m.

\`collections\` collects a company's mandates, all due on one day, in one run, and checks the debits; the goals
are set for 100k.

\`pricing\` starts a service that keeps limits, checks them while events come in, closes months with a plan of five
charges, and tries other prices on them: 10,000 subscriptions; the goals are set for 10m, a month, and for 100m, a year. Without a PART all:

${list(PRICING_PARTS)}

\`questions\` asks a company of 1,000 subscriptions and a year of bills what people and agents ask, holds each answer to
plain code over all events and bills, and measures how long it takes; the goals are set for 10m. Without a PART all:

${list(QUESTION_PARTS)}

\`moving\` moves the deployment of \`usage\`, once it is billed, to PostgreSQL and ClickHouse's engine, proves all bills
there, asks both the same, stores events on two instances, and goes back by a backup. It takes \`bun install --cwd
test/support/clickhouse_engine\`.

\`compare\` sets two files of results beside each other and measures nothing. \`plot\` draws the plots of
docs/benchmarks.md again, from the results in docs/benchmarks.

  --mandates N    for \`collections\`: how many (${MANDATES / 1e3}k)
  --events N      usage events stored before anything is measured (${FULL.events / 1e6}m, for \`usage\` ${GOALS.events / 1e6}m,
                  for \`moving\`, \`billing\`, \`pricing\` and \`questions\` ${MONTH_EVENTS / 1e6}m)
  --keep DIR      for \`usage\`, \`billing\`, \`pricing\`, \`questions\` and \`moving\`: keep the events in DIR, or
                  use those stored there
  --save FILE     write the results to FILE as JSON, beside those of the same bench, size and hardware that it
                  holds; without it to bench/results, but not with --quick
  --compare FILE  print the run beside that of FILE: before, after, their ratio, and whether they differ by more
                  than the rounds of either run do
  --quick         less than a minute in all, to see that everything works; its figures mean little
  --help          this text

Progress goes to standard error, tables to standard output as markdown.`;

const OPTIONS = {
  events: { type: "string" },
  mandates: { type: "string" },
  keep: { type: "string" },
  save: { type: "string" },
  compare: { type: "string" },
  quick: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  // What the bench starts as processes of their own.
  "serve-bare": { type: "string" },
  "serve-clickhouse": { type: "string" },
  "in-store": { type: "string" },
  seed: { type: "string" },
  "store-asked": { type: "string" },
} as const;

/** Those of the names, or all without a name. Errors: throws for a name that is none of them. */
function pick<T extends { name: string }>(known: readonly T[], names: readonly string[]): readonly T[] {
  const unknown = names.filter((name) => !known.some((one) => one.name === name));
  if (unknown.length > 0)
    throw new Error(
      `Cannot measure ${unknown.join(", ")}: known are ${known.map(({ name }) => name).join(", ")}`,
    );
  return names.length === 0 ? known : known.filter(({ name }) => names.includes(name));
}

/** Which run it is, and where its results go beside the table. */
interface Wanted {
  bench: string;
  /** Events, or mandates. */
  size: number;
  /** Files of results: to write to, to compare with. */
  save: string | undefined;
  compare: string | undefined;
}

/**
 * Runs the work with progress on standard error, saves and prints what it found, and cleans up however it ends. Files
 * that can't be used are refused before anything is measured.
 */
async function report(wanted: Wanted, work: (context: RunContext) => Promise<Report>): Promise<void> {
  const { bench, size } = wanted;
  const before = wanted.compare === undefined ? undefined : readResults(wanted.compare);
  const after = new ResultsFile(wanted.save, bench, size);
  if (before) refuseOther(before, bench);
  const cleanup = new Cleanup();
  cleanup.onSignals();
  const started = performance.now();
  const progress = (doing: string) => {
    const seconds = ((performance.now() - started) / 1_000).toFixed(0).padStart(4);
    process.stderr.write(`${seconds} s  ${doing}\n`);
  };
  try {
    const { preface, findings, failed } = await work({ cleanup, progress, save: (some) => after.save(some) });
    after.save(findings);
    if (wanted.save !== undefined) progress(`saved in ${wanted.save}`);
    console.log(`${machine()}\n${preface}\n\n${printFindings(findings)}`);
    if (before) console.log(`\n${compare(before, after.results)}`);
    if (failed) process.exitCode = 1;
  } finally {
    await cleanup.run();
  }
}

async function measure(
  benches: readonly Bench[],
  plan: Plan,
  { cleanup, progress, save }: RunContext,
): Promise<Report> {
  progress("starting the service");
  const service = new Service(cleanup, cleanup.folder());
  await service.start();
  const company = new Company(service, 1, FIRST_EMAIL);
  await company.signIn();
  await company.makeRecords({ clients: 20, products: 3, subscriptions: 50 });
  const context: BenchContext = { plan, service, company, cleanup, progress };
  const findings: Finding[] = [];
  let seeded = false;
  for (const bench of benches) {
    if (bench.needs_events && !seeded) await seedEvents(context);
    seeded ||= bench.needs_events;
    progress(bench.name);
    const found = await bench.run(context);
    findings.push(...found);
    save(found);
  }
  progress("done");
  const rounds = plan.rounds === 1 ? "One round" : `Medians of ${plan.rounds} rounds`;
  const preface = `${rounds}, subject and peer in turns on the same machine, the load included; \
${plan.events.toLocaleString("en-US")} events stored before ingest and search.`;
  return { preface, findings, failed: false };
}

/** Does the work of a process that the bench started; false when there is none to do. */
async function workAsChild(values: Record<string, string | boolean | undefined>): Promise<boolean> {
  const { "serve-bare": bare, "serve-clickhouse": clickhouse, "in-store": in_store, seed: seeded } = values;
  const { "store-asked": asked } = values;
  if (typeof bare === "string") serveBare(bare);
  else if (typeof seeded === "string") await seed(seeded);
  else if (typeof asked === "string") await storeEvents(asked);
  else if (typeof in_store === "string") await measureInStore(in_store);
  // Imported only now: its engine need not be installed.
  else if (typeof clickhouse === "string")
    (await import("./peers/clickhouse/engine.ts")).serveClickHouse(clickhouse);
  else return false;
  return true;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  if (values.help === true) return console.log(HELP);
  if (await workAsChild(values)) return;
  const { quick = false, mandates } = values;
  const keep = values.keep && resolve(values.keep);
  const [first, ...names] = positionals;
  if (first === PLOT) return writePlots();
  if (first === COMPARE) {
    const [before, after, ...more] = names;
    if (before === undefined || after === undefined || more.length > 0)
      throw new Error("Cannot compare: give two files, as in `bun run bench compare BEFORE AFTER`");
    return console.log(compare(readResults(before), readResults(after)));
  }
  const events = (usual: number) => (values.events === undefined ? usual : readCount(values.events));
  const wanted = (bench: string, size: number): Wanted => ({
    bench,
    size,
    save: values.save ?? (quick ? undefined : defaultFile(bench, size)),
    compare: values.compare,
  });
  if (first === USAGE) {
    const usual = quick ? QUICK_GOALS : GOALS;
    const plan = { ...usual, events: events(usual.events) };
    const parts = pick(PARTS, names);
    return report(wanted(USAGE, plan.events), (context) => measureGoals(plan, { parts, keep }, context));
  }
  if (first === BILLING) {
    const size = events(quick ? QUICK.events : MONTH_EVENTS);
    return report(wanted(BILLING, size), (context) => measureMonthClose(size, keep, context));
  }
  if (first === PRICING) {
    const usual = quick ? QUICK : FULL;
    const plan = { ...usual, events: events(usual.events) };
    const parts = pick(PRICING_PARTS, names);
    return report(wanted(PRICING, plan.events), (context) => measurePricing(plan, { parts, keep }, context));
  }
  if (first === QUESTIONS) {
    const usual = quick ? QUICK : FULL;
    const plan = { ...usual, events: events(usual.events) };
    const parts = pick(QUESTION_PARTS, names);
    return report(wanted(QUESTIONS, plan.events), (context) =>
      measureQuestions(plan, { parts, keep }, context),
    );
  }
  if (first === MOVING) {
    const usual = quick ? QUICK : FULL;
    const plan = { ...usual, events: events(usual.events) };
    return report(wanted(MOVING, plan.events), (context) => measureMoving(plan, keep, context));
  }
  if (keep !== undefined)
    throw new Error("Cannot use --keep: it is for `usage`, `billing`, `pricing`, `questions` and `moving`");
  if (first === COLLECTIONS) {
    const size = mandates === undefined ? (quick ? QUICK_MANDATES : MANDATES) : readCount(mandates);
    return report(wanted(COLLECTIONS, size), (context) => measureCollections(size, context));
  }
  const benches = pick(BENCHES, positionals);
  const usual = quick ? QUICK : FULL;
  const plan = { ...usual, events: events(usual.events) };
  return report(wanted("main", plan.events), (context) => measure(benches, plan, context));
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
