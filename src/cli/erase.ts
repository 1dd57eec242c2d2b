import { join } from "node:path";
import { call } from "../app/operation.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { defaultUsageMemory } from "../core/memory.ts";
import { decode } from "../core/validate.ts";
import { JOBS } from "../server/jobs.ts";
import { runJob } from "../server/scheduler.ts";
import { vacuumSqlite } from "../store/vacuum.sqlite.ts";
import { EraseUsage } from "../usage/erasures/model.ts";
import { eraseUsage } from "../usage/erasures/service.ts";
import { clickHousePlace } from "../usage/store_link/link_rules.ts";
import { rewriteStore } from "../usage_store/duckdb/rewrite_store.ts";
import { erasePersonByWords, PERSON_HELP, PERSON_OPTIONS } from "./erase_person.ts";
import { type Arguments, type Command, commandContext, optional, requiredId, withDeps } from "./command.ts";

export const erase: Command = {
  name: "erase",
  summary: "Erase the metadata of usage events, or a person",
  help: `Usage: bun src/main.ts erase --company ID CONDITIONS
       bun src/main.ts erase person --company ID WHO [--yes]
       bun src/main.ts erase --rewrite

Has the metadata erased of a company's events that meet every condition; usage and bills stay. A running server does
it within seconds, one that is stopped when it starts.

  --subscription ID    of these subscriptions, by your own system's ids; may be repeated
  --metadata KEY=VALUE with this metadata; may be repeated, then all must hold
  --id UUID            of this id; may be repeated
  --from INSTANT       from this instant on, 2026-01-31T00:00:00Z
  --until INSTANT      before this instant

${PERSON_HELP}

Files keep erased text until their blocks are used again. --rewrite, with the server stopped, carries out what is still
to be erased, and writes usage.duckdb and meterhouse.sqlite anew, without it. It compares every event, some seconds a
million, and needs as much free disk as the files have.`,
  operands: 1,
  choices: ["person"],
  remote: true,
  options: {
    company: { type: "string" },
    subscription: { type: "string", multiple: true },
    metadata: { type: "string", multiple: true },
    id: { type: "string", multiple: true },
    from: { type: "string" },
    until: { type: "string" },
    rewrite: { type: "boolean" },
    ...PERSON_OPTIONS,
  },
  async run(words) {
    const [what] = words.positionals;
    if (what === "person") return erasePersonByWords(words);
    if (what !== undefined) throw wrongWords("Say `erase person`, or `erase` for the metadata of usage");
    return words.values["rewrite"] === true ? rewrite() : request(words);
  },
};

async function request(words: Arguments): Promise<void> {
  if (words.values["server"] !== undefined) throw wrongWords("--server goes with `erase person` alone");
  const company_id = requiredId(words, "company");
  const pairs = listOf(words, "metadata").map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw wrongWords(`--metadata must be KEY=VALUE, not ${pair}`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  const [subscriptions, ids] = [listOf(words, "subscription"), listOf(words, "id")];
  const input = {
    ...(subscriptions.length > 0 && { external_subscription_ids: subscriptions }),
    ...(pairs.length > 0 && { metadata: Object.fromEntries(pairs) }),
    ...(ids.length > 0 && { ids }),
    ...instantOf(words, "from", "start_time"),
    ...instantOf(words, "until", "end_time"),
  };
  if (Object.keys(input).length === 0)
    throw wrongWords("Say what to erase: --subscription, --metadata, --id, --from or --until");
  await withDeps(
    async (deps) => {
      const { id } = await call(commandContext(deps, company_id), eraseUsage, decode(EraseUsage, input));
      console.log(`Erasure ${id} is on record: the server carries it out within seconds, or when it starts`);
    },
    { without_usage: true },
  );
}

function listOf({ values }: Arguments, name: string): string[] {
  const value = values[name];
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function instantOf(words: Arguments, name: string, field: string): Record<string, number> {
  const text = optional(words, name);
  if (text === undefined) return {};
  try {
    return { [field]: Temporal.Instant.from(text).epochMilliseconds };
  } catch (error) {
    throw wrongWords(`--${name} must be an instant such as 2026-01-31T00:00:00Z, not ${text}`, error);
  }
}

async function rewrite(): Promise<void> {
  const { config } = await withDeps(async (deps) => {
    const failures: unknown[] = [];
    for (const job of JOBS.filter(({ name }) => ["usage_erasures", "person_erasures"].includes(name)))
      await runJob(deps, job, (_, error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
    return deps;
  });
  if (config.usage_url !== null) {
    console.log(`${clickHousePlace(config.usage_url)}: its parts were written anew when metadata was erased`);
    return console.log("PostgreSQL: VACUUM FULL writes its tables anew");
  }
  const path = join(config.data_dir, "usage.duckdb");
  const memory_limit = config.usage_memory_limit ?? defaultUsageMemory();
  const began_ms = performance.now();
  const events = await rewriteStore(path, { memory_limit, threads: 2 });
  const seconds = ((performance.now() - began_ms) / 1_000).toFixed(1);
  console.log(`Wrote ${path} anew: ${events} events, all as they were, in ${seconds} s`);
  if (config.database_url !== null) return console.log("PostgreSQL: VACUUM FULL writes its tables anew");
  const file = join(config.data_dir, "meterhouse.sqlite");
  vacuumSqlite(file);
  console.log(`Wrote ${file} anew`);
}
