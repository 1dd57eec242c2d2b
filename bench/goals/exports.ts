import { rmSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { type Finding, finding } from "../finding.ts";
import { watchMemory } from "../memory.ts";
import { UnexpectedStatus } from "../search.ts";
import { round } from "../table.ts";
import { FORMATS, type Format } from "./files.ts";
import type { Part, PartContext } from "./part.ts";

/** Exports of the large company's last events, and what they take of the server's memory. */
export const exports: Part = {
  name: "export",
  summary: "export of CSV, NDJSON and Parquet: rows a second, and how much the server grows",
  async run(context) {
    const { plan, events } = context;
    const rows = Math.min(plan.file_rows, context.deployment.manifest.companies[0]?.events ?? 0);
    const findings: Finding[] = [];
    for (const format of FORMATS) {
      const what = `export of ${rows.toLocaleString("en-US")} rows as ${format}`;
      findings.push(
        await context.attempt(what, async () => {
          const { per_s, grown } = await exportRows(context, format, rows);
          const grown_mib = Math.round(grown / 2 ** 20);
          return finding(what, events, {
            measured: `${round(per_s)} rows/s, the server grew by ${grown_mib} MiB`,
            figures: [
              { name: "rate", unit: "rows/s", values: [per_s] },
              { name: "growth", unit: "MiB", values: [grown_mib] },
            ],
          });
        }),
      );
    }
    return findings;
  },
};

/** Exports so many of the large company's rows to a file, and reads that they are all there. */
async function exportRows(
  context: PartContext,
  format: Format,
  rows: number,
): Promise<{ per_s: number; grown: number }> {
  const { manifest, companies, service } = context.deployment;
  const { from_ms, until_ms, companies: made } = manifest;
  const span_ms = (until_ms - from_ms) * (rows / (made[0]?.events ?? rows));
  const file = join(context.cleanup.folder(), `export.${format}`);
  const growth = watchMemory(service);
  try {
    const before = performance.now();
    const response = await companies.large.fetch("POST", "/usage/export", {
      start_time: until_ms - Math.round(span_ms),
      end_time: until_ms,
      format,
    });
    if (!response.ok)
      throw new UnexpectedStatus(`export ${format}`, {
        status: response.status,
        body: await response.bytes(),
      });
    await Bun.write(file, response);
    const per_s = (rows / (performance.now() - before)) * 1_000;
    const written = await countRows(format, file);
    if (Math.abs(written - rows) > 1) throw new Error(`the file holds ${written} rows`);
    return { per_s, grown: await growth.stop() };
  } finally {
    await growth.stop();
    rmSync(file, { force: true });
  }
}

async function countRows(format: Format, file: string): Promise<number> {
  const reader = { csv: "read_csv", ndjson: "read_json", parquet: "read_parquet" }[format];
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    const counted = await connection.run(`SELECT count(*) FROM ${reader}('${file}')`);
    return Number((await counted.getRows())[0]?.[0]);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
