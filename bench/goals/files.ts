import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";

/** The formats in which events are imported and exported. */
export const FORMATS = ["csv", "ndjson", "parquet"] as const;
export type Format = (typeof FORMATS)[number];

/** An event's columns in a file, by the names of the wire, and their types. */
const COLUMNS = {
  id: "UUID",
  external_subscription_id: "VARCHAR",
  timestamp: "BIGINT",
  usage: "DECIMAL(18,6)",
  metadata: "VARCHAR",
};
export const COLUMN_LIST = Object.entries(COLUMNS)
  .map(([name, type]) => `${name} ${type}`)
  .join(", ");

/** What DuckDB reads such a file with. */
export function readerOf(format: Format, file: string): string {
  const columns = JSON.stringify(COLUMNS);
  if (format === "csv") return `read_csv('${file}', header = true, columns = ${columns})`;
  if (format === "ndjson") return `read_json('${file}', format = 'newline_delimited', columns = ${columns})`;
  return `read_parquet('${file}')`;
}

/** Writes one file of each format with the same events of 90 days, spread over a company's subscriptions. */
export async function writeFiles(
  connection: DuckDBConnection,
  folder: string,
  { rows, subscriptions, until_ms }: { rows: number; subscriptions: number; until_ms: number },
): Promise<Record<Format, string>> {
  const files = {
    csv: join(folder, "events.csv"),
    ndjson: join(folder, "events.ndjson"),
    parquet: join(folder, "events.parquet"),
  };
  await connection.run(`CREATE TABLE made AS
    SELECT uuid() AS id, 'subscription-' || (hash(i) % ${subscriptions}) AS external_subscription_id,
      ${until_ms} - (90 * 86400000::BIGINT * (${rows} - i)) // ${rows} AS timestamp,
      ((hash(i + 1) % 100000) / 1000)::DECIMAL(18,6) AS usage,
      '{"path":"/v1/' || ['orders', 'invoices', 'checkout', 'search'][1 + (hash(i) % 4)::INTEGER]
        || '","region":"eu-west-1","status":200,"trace":"' || i || '"}' AS metadata
    FROM range(${rows}) AS numbers(i)`);
  await connection.run(`COPY made TO '${files.csv}' (FORMAT csv)`);
  await connection.run(
    `COPY (SELECT * REPLACE (metadata::JSON AS metadata) FROM made) TO '${files.ndjson}' (FORMAT json)`,
  );
  await connection.run(`COPY made TO '${files.parquet}' (FORMAT parquet)`);
  await connection.run("DROP TABLE made");
  return files;
}
