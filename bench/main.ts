import { parseArgs } from "node:util";
import { serveBare } from "./bare_server.ts";
import { Cleanup } from "./cleanup.ts";
import { House } from "./house.ts";
import { ingest, seedEvents } from "./ingest.ts";
import { FULL, type Plan, QUICK } from "./plan.ts";
import { pressure } from "./pressure.ts";
import { createClient, getClient, listSubscriptions, signIn } from "./rest.ts";
import { search } from "./search.ts";
import type { Bench, Stage } from "./stage.ts";
import { machine, printRows, type Row } from "./table.ts";

/** In this order: what writes events comes before what reads them. */
const BENCHES: readonly Bench[] = [
  signIn,
  getClient,
  listSubscriptions,
  createClient,
  ingest,
  search,
  pressure,
];

const NAME_WIDTH = Math.max(...BENCHES.map(({ name }) => name.length));

const HELP = `Usage: bun run bench [NAME …] [OPTIONS]

Starts the service as a process of its own on a temporary folder, loads it over HTTP and prints each figure
beside that of a peer measured in the same run. Without a NAME it measures everything:

${BENCHES.map(({ name, summary }) => `  ${name.padEnd(NAME_WIDTH)}  ${summary}`).join("\n")}

  --events N  usage events stored before ingest and search are measured (${FULL.events})
  --quick     about 20 seconds in all, to see that everything works; its figures mean little
  --help      this text

Progress goes to standard error, the table to standard output as markdown.`;

const OPTIONS = {
  events: { type: "string" },
  quick: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  "serve-bare": { type: "string" },
} as const;

/** What to measure, how much. Errors: throws for a name or a number that can't be used. */
function readPlan(names: readonly string[], quick: boolean, events: string | undefined) {
  const unknown = names.filter((name) => !BENCHES.some((bench) => bench.name === name));
  if (unknown.length > 0)
    throw new Error(
      `Cannot measure ${unknown.join(", ")}: known are ${BENCHES.map(({ name }) => name).join(", ")}`,
    );
  if (events !== undefined && !/^[1-9]\d{2,8}$/.test(events))
    throw new Error(`Cannot store ${events} events: --events takes a whole number from 100 to 999999999`);
  const plan: Plan = quick ? QUICK : FULL;
  return {
    plan: events === undefined ? plan : { ...plan, events: Number(events) },
    benches: names.length === 0 ? BENCHES : BENCHES.filter(({ name }) => names.includes(name)),
  };
}

async function measure(benches: readonly Bench[], plan: Plan): Promise<Row[]> {
  const cleanup = new Cleanup();
  cleanup.onSignals();
  const started = performance.now();
  const progress = (doing: string) => {
    const seconds = ((performance.now() - started) / 1_000).toFixed(0).padStart(4);
    process.stderr.write(`${seconds} s  ${doing}\n`);
  };
  try {
    progress("starting the service");
    const stage: Stage = { plan, house: await House.open(cleanup), cleanup, progress };
    const rows: Row[] = [];
    let seeded = false;
    for (const bench of benches) {
      if (bench.needs_events && !seeded) await seedEvents(stage);
      seeded ||= bench.needs_events;
      progress(bench.name);
      rows.push(...(await bench.run(stage)));
    }
    progress("done");
    return rows;
  } finally {
    await cleanup.run();
  }
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  if (values.help === true) return console.log(HELP);
  const bare_answer = values["serve-bare"];
  if (bare_answer !== undefined) return serveBare(bare_answer);
  const { plan, benches } = readPlan(positionals, values.quick === true, values.events);
  const rows = await measure(benches, plan);
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
