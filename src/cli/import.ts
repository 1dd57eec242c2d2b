import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { ROLES } from "../usage/import/columns_sql.ts";
import type { RoleSources } from "../usage/import/column_sources.ts";
import { openUsageFile } from "../usage/import/file.ts";
import { FILE_FORMATS, type FileFormat } from "../usage/import/file_head.ts";
import { readConfig } from "../core/config.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { offerDataDir } from "../core/unpack.ts";
import { type Command, optional, type Arguments, withDeps } from "./command.ts";
import { listCompaniesAction } from "./company.ts";
import { importHere } from "./import_here.ts";
import { importThrough } from "./import_through_server.ts";
import { untilStarted } from "./perform.ts";
import { SILENT } from "./progress.ts";
import { findServer, type ServerConnection } from "./server_connection.ts";
import { chooseCompany, usagePlaceAt, whomOf } from "./usage_place.ts";

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
Works beside a running server, and with --server through one elsewhere: the file and its expressions are read here.`,
  operands: 2,
  choices: ["usage"],
  remote: true,
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
    const { data_dir } = readConfig({ LOG_LEVEL: "warn", ...process.env });
    offerDataDir(data_dir);
    const file = await openUsageFile(path, format, sourcesOf(words));
    const work = { path, file, format, rejects, data_dir };
    try {
      const server = await findServer(words);
      if (server !== null) return await importAt(server, words, work);
      try {
        await withDeps(async (deps) => {
          const company = chooseCompany((await listCompaniesAction.run(deps, {}, SILENT)).companies, words);
          await importHere(deps, company.id, { ...work, whom: whomOf(company) });
        });
      } catch (error) {
        await importAt(await untilStarted(words, error), words, work);
      }
    } finally {
      file.close();
    }
  },
};

/** Through a server. */
async function importAt(server: ServerConnection, words: Arguments, work: Work): Promise<void> {
  const place = await usagePlaceAt(server, words);
  await importThrough(place, { ...work, whom: place.whom });
}

type Work = Omit<Parameters<typeof importThrough>[1], "whom">;

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
