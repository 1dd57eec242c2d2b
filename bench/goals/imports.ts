import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type { Cleanup } from "../cleanup.ts";
import { Company } from "../company.ts";
import { atLeast, type Finding, finding } from "../finding.ts";
import { runProcess } from "../processes.ts";
import { ENGINE } from "../raw_usage.ts";
import { FIRST_EMAIL, Service } from "../service.ts";
import { factor, round } from "../table.ts";
import { COLUMN_LIST, type Format, FORMATS, readerOf, writeFiles } from "./files.ts";
import type { Part } from "./part.ts";

/** The least ratios to the engine's own load. */
const GOALS: Record<Format, number> = { csv: 0.6, ndjson: 0.5, parquet: 0.5 };
const SUBSCRIPTIONS = 50;
/** What the command prints at its end. */
const DONE = /(\d+) accepted, .* in ([\d.]+) s/;

/** `import usage FILE` into an empty store, against the engine's own load of the same file. */
export const imports: Part = {
  name: "import",
  summary: "import of CSV, NDJSON and Parquet against the engine's own load of the same file",
  async run(context) {
    const rows = context.plan.file_rows;
    const { cleanup, deployment } = context;
    const printed_rows = rows.toLocaleString("en-US");
    context.progress(`writing files of ${printed_rows} rows`);
    // The deployment's own server would only take from the cores.
    await deployment.service.stop();
    const folder = cleanup.folder();
    const { data_dir, company_id } = await makeStores(cleanup, join(folder, "data"));
    const instance = await DuckDBInstance.create(join(folder, "raw.duckdb"), ENGINE);
    const connection = await instance.connect();
    const until_ms = Temporal.Now.instant().epochMilliseconds;
    const files = await writeFiles(connection, folder, { rows, subscriptions: SUBSCRIPTIONS, until_ms });
    const findings: Finding[] = [];
    for (const format of FORMATS) {
      const what = `import of ${printed_rows} rows of ${format}`;
      const file = files[format];
      const work = async () => {
        const reader = readerOf(format, file);
        await loadRaw(connection, reader);
        const before_s = await loadRaw(connection, reader);
        const copy = join(folder, `data-${format}`);
        cpSync(data_dir, copy, { recursive: true });
        const rate = rows / (await importFile(cleanup, { data_dir: copy, company_id, file, rows }));
        rmSync(copy, { recursive: true });
        const raw_rate = rows / ((before_s + (await loadRaw(connection, reader))) / 2);
        return finding(what, context.events, {
          measured: `${round(rate)} rows/s`,
          peer: `${round(raw_rate)} rows/s, the engine's own load`,
          ratio: `${factor(rate / raw_rate)} ×`,
          goal: atLeast(GOALS[format], rate / raw_rate),
          figures: [{ name: "rate", unit: "rows/s", values: [rate] }],
          peers: [{ name: "the engine's own load", unit: "rows/s", values: [raw_rate] }],
        });
      };
      findings.push(await context.attempt(what, work));
    }
    connection.closeSync();
    instance.closeSync();
    return findings;
  },
};

/** Loads a file into an empty table, durably, and gives the seconds that it took. */
async function loadRaw(connection: DuckDBConnection, reader: string): Promise<number> {
  await connection.run(`CREATE OR REPLACE TABLE loaded (${COLUMN_LIST})`);
  const before = performance.now();
  await connection.run(`INSERT INTO loaded SELECT * FROM ${reader}`);
  return (performance.now() - before) / 1_000;
}

/** Imports a file on the command line and returns the seconds that the command reports. */
async function importFile(
  cleanup: Cleanup,
  { data_dir, company_id, file, rows }: { data_dir: string; company_id: number; file: string; rows: number },
): Promise<number> {
  const words = ["src/main.ts", "import", "usage", file, "--company", String(company_id)];
  const printed = await runProcess(cleanup, words, { DATA_DIR: data_dir });
  const [, accepted, seconds] = DONE.exec(printed) ?? [];
  if (Number(accepted) !== rows) throw new Error(`of ${rows} rows it imported others: ${printed.trim()}`);
  return Number(seconds);
}

/** A data directory with a company and its subscriptions, whose usage store is empty. */
async function makeStores(
  cleanup: Cleanup,
  data_dir: string,
): Promise<{ data_dir: string; company_id: number }> {
  const service = new Service(cleanup, data_dir);
  await service.start();
  const company = new Company(service, 1, FIRST_EMAIL);
  await company.signIn();
  await company.makeRecords({ clients: 20, products: 3, subscriptions: SUBSCRIPTIONS });
  await service.stop();
  return { data_dir, company_id: company.id };
}
