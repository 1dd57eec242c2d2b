import { parseArgs } from "node:util";
import { resolve } from "node:path";
import { serveBare } from "./bare_server.ts";
import { measureMonthClose } from "./billing/month_close.ts";
import { Cleanup } from "./cleanup.ts";
import { measureCollections } from "./collections/collecting.ts";
import { Company } from "./company.ts";
import { measureGoals, PARTS } from "./goals/goals.ts";
import { seed } from "./goals/seed.ts";
import { ingest, seedEvents } from "./ingest.ts";
import { FULL, GOALS, MANDATES, MONTH_EVENTS, type Plan, QUICK, QUICK_GOALS, readCount } from "./plan.ts";
import { callTool } from "./mcp.ts";
import { pressure } from "./pressure.ts";
import { createClient, getClient, listSubscriptions, signIn } from "./rest.ts";
import { search } from "./search.ts";
import { FIRST_EMAIL, Service } from "./service.ts";
import type { Bench, Progress, BenchContext } from "./bench.ts";
import { machine, printRows, type Row } from "./table.ts";

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

/** Measures the goals for usage instead, on a deployment of its own. */
const USAGE = "usage";
/** Measures the close of a company's month instead. */
const BILLING = "billing";
/** Measures the collection of a company's mandates instead. */
const COLLECTIONS = "collections";

const list = (entries: readonly { name: string; summary: string }[]) => {
  const width = Math.max(...entries.map(({ name }) => name.length));
  return entries.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join("\n");
};

const HELP = `Usage: bun run bench [NAME …] [OPTIONS]
       bun run bench usage [PART …] [OPTIONS]
       bun run bench billing [OPTIONS]
       bun run bench collections [OPTIONS]

Starts the service as a process of its own on a temporary folder, loads it over HTTP and prints each figure
beside that of a peer measured in the same run. Without a NAME it measures everything in this list:

${list(BENCHES)}

\`usage\` measures the goals for usage on a deployment of many companies, beside other engines with the same
events; ClickHouse's takes part once \`bun install --cwd bench/peers/clickhouse\` was run. Without a PART all:

${list(PARTS)}

\`billing\` bills a company's last month in one run, a subscription for every thousand events, and checks the
bills; the goal is set for 10m.

\`collections\` collects a company's mandates, all due on one day, in one run, and checks the debits; the goal is
set for 100k.

  --mandates N  for \`collections\`: how many (${MANDATES / 1e3}k)
  --events N  usage events stored before anything is measured (${FULL.events / 1e6}m, for \`usage\` ${GOALS.events / 1e6}m,
              for \`billing\` ${MONTH_EVENTS / 1e6}m)
  --keep DIR  for \`usage\` and \`billing\`: keep the events in DIR, or use those stored there
  --quick     less than a minute in all, to see that everything works; its figures mean little
  --help      this text

Progress goes to standard error, the table to standard output as markdown.`;

const OPTIONS = {
  events: { type: "string" },
  mandates: { type: "string" },
  keep: { type: "string" },
  quick: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  // What the bench starts as processes of their own.
  "serve-bare": { type: "string" },
  "serve-clickhouse": { type: "string" },
  seed: { type: "string" },
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

/** Runs the work with progress on standard error, and cleans up however it ends. */
async function withCleanup<T>(work: (cleanup: Cleanup, progress: Progress) => Promise<T>): Promise<T> {
  const cleanup = new Cleanup();
  cleanup.onSignals();
  const started = performance.now();
  const progress = (doing: string) => {
    const seconds = ((performance.now() - started) / 1_000).toFixed(0).padStart(4);
    process.stderr.write(`${seconds} s  ${doing}\n`);
  };
  try {
    return await work(cleanup, progress);
  } finally {
    await cleanup.run();
  }
}

async function measure(
  benches: readonly Bench[],
  plan: Plan,
  { cleanup, progress }: { cleanup: Cleanup; progress: Progress },
): Promise<Row[]> {
  progress("starting the service");
  const service = new Service(cleanup, cleanup.folder());
  await service.start();
  const company = new Company(service, 1, FIRST_EMAIL);
  await company.signIn();
  await company.makeRecords({ clients: 20, products: 3, subscriptions: 50 });
  const context: BenchContext = { plan, service, company, cleanup, progress };
  const rows: Row[] = [];
  let seeded = false;
  for (const bench of benches) {
    if (bench.needs_events && !seeded) await seedEvents(context);
    seeded ||= bench.needs_events;
    progress(bench.name);
    rows.push(...(await bench.run(context)));
  }
  progress("done");
  return rows;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const { quick = false, keep } = values;
  const bare_answer = values["serve-bare"];
  const clickhouse = values["serve-clickhouse"];
  if (values.help === true) return console.log(HELP);
  if (bare_answer !== undefined) return serveBare(bare_answer);
  if (values.seed !== undefined) return seed(values.seed);
  // Imported only now: its engine need not be installed.
  if (clickhouse !== undefined)
    return (await import("./peers/clickhouse/engine.ts")).serveClickHouse(clickhouse);

  const sized = (plan: Plan) =>
    values.events === undefined ? plan : { ...plan, events: readCount(values.events) };
  const [first, ...names] = positionals;
  if (first === USAGE) {
    const plan = sized(quick ? QUICK_GOALS : GOALS);
    const options = { parts: pick(PARTS, names), keep: keep && resolve(keep), write: !quick };
    const whole = await withCleanup((cleanup, progress) =>
      measureGoals(plan, options, { cleanup, progress }),
    );
    if (!whole) process.exitCode = 1;
    return;
  }
  if (first === BILLING) {
    const events = values.events === undefined ? MONTH_EVENTS : readCount(values.events);
    return withCleanup((cleanup, progress) =>
      measureMonthClose(events, keep && resolve(keep), { cleanup, progress }),
    );
  }
  if (first === COLLECTIONS) {
    const mandates = values.mandates === undefined ? MANDATES : readCount(values.mandates);
    return withCleanup((cleanup, progress) => measureCollections(mandates, { cleanup, progress }));
  }
  if (keep !== undefined) throw new Error("Cannot use --keep: it is for `usage` and `billing`");
  const benches = pick(BENCHES, positionals);
  const plan = sized(quick ? QUICK : FULL);
  const rows = await withCleanup((cleanup, progress) => measure(benches, plan, { cleanup, progress }));
  console.log(`${machine()}
${plan.rounds === 1 ? "One round" : `Medians of ${plan.rounds} rounds`}, subject and peer in turns on the same machine, \
the load included; ${plan.events.toLocaleString("en-US")} events stored before ingest and search.

${printRows(rows)}`);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
