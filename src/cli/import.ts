import { existsSync, rmSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { Deps } from "../app/deps.ts";
import { call } from "../app/operation.ts";
import type { Company } from "../tenancy/companies/model.ts";
import { listCompanies } from "../billing/companies/service.ts";
import { ROLES } from "../usage/import/columns_sql.ts";
import type { RoleSources } from "../usage/import/column_sources.ts";
import { openUsageFile, type UsageFile } from "../usage/import/file.ts";
import { engineReason, FILE_FORMATS, type FileFormat } from "../usage/import/file_head.ts";
import {
  importUsage,
  listSubscriptionKeys,
  recognizeImport,
  stageUsageImport,
  startUsageImport,
} from "../usage/import/service.ts";
import type { ImportSource } from "../usage/import/model.ts";
import type { EventRows } from "../usage_store/event_rows.ts";
import { wrongWords } from "../core/exit_codes.ts";
import {
  type Command,
  commandContext,
  operatorContext,
  optional,
  requiredId,
  type Arguments,
  withDeps,
} from "./command.ts";

export const importCommand: Command = {
  name: "import",
  summary: "Import usage events from a CSV, NDJSON or Parquet file",
  help: `Usage: bun src/main.ts import usage FILE [OPTIONS]

  --company ID         the company; may be left out when there is only one
  --subscription EXPR  its external id (external_subscription_id, else subscription_id as <company>:<external id>)
  --timestamp EXPR     Unix ms or a date-time, UTC when it has no offset (timestamp)
  --usage EXPR         the amount (usage)
  --id EXPR            a UUID (id; without one it follows from the file's content and the row's number)
  --metadata EXPR      a JSON object (metadata)
  --format FORMAT      ${FILE_FORMATS.join(", ")}; else by the file's name, .gz aside
  --rejects FILE       where rejected rows go (FILE.rejects.ndjson); replaced by every run

EXPR is a column, or an expression in DuckDB's SQL: --usage "input_tokens + output_tokens",
--subscription "'tokens'", --timestamp "strptime(day, '%d/%m/%Y')", --id "md5('b' || line)::UUID".
What is in brackets is the column by default. One row is one event, by the rules of POST /usage/events.
Importing a file again stores nothing twice, importing one that has grown its new rows only. Two imports that take different things from one file need --id.
The server must be stopped: one process at a time may open the embedded usage store.`,
  operands: 2,
  choices: ["usage"],
  options: {
    company: { type: "string" },
    format: { type: "string" },
    rejects: { type: "string" },
    ...Object.fromEntries(ROLES.map((role) => [role, { type: "string" as const }])),
  },
  async run(words) {
    const [what, path, ...others] = words.positionals;
    if (what !== "usage" || path === undefined || others.length > 0)
      throw wrongWords("Say `import usage FILE`");
    const rejects = optional(words, "rejects") ?? `${path}.rejects.ndjson`;
    checkPaths(path, rejects);
    const format = formatOf(words, path);
    const file = await openUsageFile(path, format, sourcesOf(words));
    try {
      await withDeps(async (deps) => {
        const company = await chooseCompany(deps, words);
        await call(commandContext(deps, company.id), startUsageImport, { file: basename(path), format });
        await importFile(deps, company, path, file, new Rejects(rejects));
      });
    } finally {
      file.close();
    }
  },
};

function checkPaths(path: string, rejects: string): void {
  if (!existsSync(path)) throw new Error(`Cannot read ${path}: there is no such file`);
  // The engine would read them as a pattern for many files.
  if (/[*?[\]]/.test(path)) throw new Error(`Cannot read ${path}: its name holds one of * ? [ ]`);
  if (resolve(path) === resolve(rejects)) throw wrongWords("--rejects must not be the file that is imported");
}

function formatOf(words: Arguments, path: string): FileFormat {
  const option = optional(words, "format");
  const extension = /\.([a-z]+)$/.exec(path.toLowerCase().replace(/\.gz$/, ""))?.[1] ?? "";
  const meant =
    option ?? { tsv: "csv", jsonl: "ndjson", json: "ndjson", pq: "parquet" }[extension] ?? extension;
  const format = FILE_FORMATS.find((known) => known === meant);
  if (format !== undefined) return format;
  if (option !== undefined) throw wrongWords(`--format must be one of ${FILE_FORMATS.join(", ")}`);
  throw wrongWords(`Cannot tell the format of ${path}: say --format ${FILE_FORMATS.join(", ")}`);
}

function sourcesOf(words: Arguments): RoleSources {
  const sources: RoleSources = {};
  for (const role of ROLES) {
    const option = optional(words, role);
    if (option !== undefined) sources[role] = option;
  }
  return sources;
}

async function chooseCompany(deps: Deps, words: Arguments): Promise<Company> {
  const companies = await call(operatorContext(deps), listCompanies, {});
  if (words.values.company !== undefined) {
    const id = requiredId(words, "company");
    const named = companies.find((company) => company.id === id);
    if (named) return named;
    throw wrongWords(`--company ${id} is no company`);
  }
  const [only] = companies;
  if (only !== undefined && companies.length === 1) return only;
  throw wrongWords(`--company is required: there are ${companies.length} companies`);
}

async function importFile(
  deps: Deps,
  company: Company,
  path: string,
  file: UsageFile,
  rejects: Rejects,
): Promise<void> {
  const started = performance.now();
  const endProgress = openProgress(path, company, file);
  const { subscription_field } = file;
  const done = { rows: 0, accepted: 0, duplicates: 0, rejected: 0 };
  try {
    const keys = await call(commandContext(deps, company.id), listSubscriptionKeys, { subscription_field });
    const source = once(() => recognize(deps, company, path));
    const shared = { subscription_field, keys, source };
    // A context a block: `now` must keep up with a long import.
    const context = () => commandContext(deps, company.id);
    const stage = async (block: EventRows) => {
      const input = { ...shared, block };
      await call(context(), stageUsageImport, input);
      return input;
    };
    for await (const input of prefetch(file.readBlocks(keys), stage)) {
      const { block } = input;
      const result = await call(context(), importUsage, input);
      for (const row of result.rejected) await rejects.write(row);
      done.rows += block.rows;
      done.accepted += result.accepted;
      done.duplicates += result.duplicates;
      done.rejected += result.rejected.length;
    }
    for await (const lines of file.readBrokenLines()) {
      for (const line of lines) await rejects.write(line);
      done.rejected += lines.length;
    }
  } catch (error) {
    throw new Error(
      `Stopped after ${done.rows} rows: ${engineReason(error)}; importing the file again goes on from there`,
      {
        cause: error,
      },
    );
  } finally {
    endProgress();
    await rejects.close();
  }
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  const { accepted, duplicates, rejected } = done;
  console.log(`${accepted} accepted, ${duplicates} duplicates, ${rejected} rejected in ${seconds} s`);
  if (rejected > 0) console.log(`Rejected rows and their reasons: ${rejects.path}`);
  if (rejected > 0 && accepted + duplicates === 0) throw new Error(`Imported nothing: ${rejects.first}`);
}

/** Facts about the file that are shown where rows might count twice. */
async function recognize(deps: Deps, company: Company, path: string): Promise<ImportSource> {
  const file_name = basename(path);
  const source = await call(commandContext(deps, company.id), recognizeImport, { path, file_name });
  const before = source.beginnings.at(-1);
  if (before !== undefined && before.bytes < source.bytes)
    console.log(`It begins with a file that was imported before: its rows up to ${before.rows} count once`);
  if (source.was_other) {
    console.error(
      `Warning: another ${file_name} was imported before, and rows without an id that stood in it count again; ` +
        "import new rows only, or name rows by --id",
    );
  }
  return source;
}

/** Computes a value at its first use. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= work());
}

/** The items as `prepare` makes them, each fetched and prepared while the one before is used. */
async function* prefetch<T, R>(
  items: AsyncGenerator<T>,
  prepare: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const prepareNext = async () => {
    const { value, done } = await items.next();
    return done === true ? undefined : { item: await prepare(value) };
  };
  const fetch = () => {
    const fetched = prepareNext();
    // It is awaited later, and may fail before.
    fetched.catch(() => undefined);
    return fetched;
  };
  for (let next = fetch(); ; ) {
    const fetched = await next;
    if (fetched === undefined) return;
    next = fetch();
    yield fetched.item;
  }
}

/** How often a bar on a terminal is drawn anew, and a line is written elsewhere. */
const BAR_MS = 250;
const LINE_MS = 10_000;

/** Shows how far the file is read, until the result is called. */
function openProgress(path: string, { id, name }: Company, file: UsageFile): () => void {
  const is_terminal = process.stderr.isTTY;
  const title = `Importing ${basename(path)} for company ${id} (${name})`;
  if (is_terminal) process.stderr.write(`${title}\n`);
  else console.log(title);
  const show = () => {
    const bar = progressBar(file.share, file.rows_read);
    if (is_terminal) process.stderr.write(`\r${bar}`);
    else console.log(bar);
  };
  const timer = setInterval(show, is_terminal ? BAR_MS : LINE_MS);
  return () => {
    clearInterval(timer);
    if (is_terminal) process.stderr.write("\r\u001B[K");
  };
}

const BAR_WIDTH = 30;

/** `[#########·····] 30 %  300 rows` */
export function progressBar(share: number, rows: number): string {
  const filled = Math.floor(Math.min(share, 1) * BAR_WIDTH);
  const bar = `${"#".repeat(filled)}${"·".repeat(BAR_WIDTH - filled)}`;
  return `[${bar}] ${Math.floor(Math.min(share, 1) * 100)} %  ${rows} rows`;
}

/** The side file of rejected rows, one JSON object a line; there is none when nothing is rejected. */
class Rejects {
  readonly path: string;
  /** The first reason. */
  first = "";
  #writer: Bun.FileSink | undefined;

  constructor(path: string) {
    this.path = path;
    rmSync(path, { force: true });
  }

  async write(rejected: { reason: string; row?: number; line?: number }): Promise<void> {
    this.first ||= `${rejected.row === undefined ? `line ${rejected.line}` : `row ${rejected.row}`}: ${rejected.reason}`;
    this.#writer ??= Bun.file(this.path).writer();
    await this.#writer.write(`${JSON.stringify(rejected)}\n`);
  }

  async close(): Promise<void> {
    await this.#writer?.end();
  }
}
