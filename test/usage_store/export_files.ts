/** What exported files hold, read by others than who wrote them. */
import { DuckDBInstance } from "@duckdb/node-api";
import { canonicalJson } from "../../src/usage_store/metadata.ts";

/** An exported event; usage as the text of its digits, metadata as JSON text. */
export interface ExportedEvent {
  id: string;
  subscription_id: string;
  timestamp: number;
  usage: string;
  metadata: string;
  created_at: string;
}

export const CSV_HEADER = ["id", "subscription_id", "timestamp", "usage", "metadata", "created_at"];

/** The cells of a CSV text, by the letter of RFC 4180. Throws for what is not. */
export function parseCsv(text: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  while (cell.lastIndex < text.length) {
    const at = cell.lastIndex;
    const [, quoted, plain, end] = cell.exec(text) ?? [];
    if (end === undefined) throw new Error(`No CSV from character ${at}: ${text.slice(at, at + 40)}`);
    record.push(quoted?.replaceAll('""', '"') ?? plain ?? "");
    if (end === ",") continue;
    records.push(record);
    record = [];
  }
  return records;
}

export function readCsv(text: string): ExportedEvent[] {
  const [header, ...records] = parseCsv(text);
  if (String(header) !== String(CSV_HEADER)) throw new Error(`Another header: ${String(header)}`);
  return records.map(
    ([id = "", subscription_id = "", timestamp, usage = "", metadata = "", created_at = ""]) => {
      return { id, subscription_id, timestamp: Number(timestamp), usage, metadata, created_at };
    },
  );
}

export function readNdjson(text: string): ExportedEvent[] {
  const lines = text.split("\n");
  if (lines.pop() !== "") throw new Error("The last line has no end");
  return lines.map((line) => {
    const { id, subscription_id, timestamp, metadata, created_at, ...others } = JSON.parse(line);
    // JSON.parse makes a double of the usage: its digits are those of the text.
    const usage = /,"usage":(-?\d+(?:\.\d+)?),"metadata":/.exec(line)?.[1] ?? "";
    if (String(Object.keys(others)) !== "usage" || Number(usage) !== others.usage) throw new Error(line);
    return { id, subscription_id, timestamp, usage, metadata: canonicalJson(metadata), created_at };
  });
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  throw new TypeError(`No text: ${JSON.stringify(value)}`);
}

export async function readParquet(path: string): Promise<ExportedEvent[]> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    const types = await connection.run(`DESCRIBE FROM read_parquet('${path}')`);
    const described = (await types.getRowsJson()).map(([name, type]) => `${textOf(name)} ${textOf(type)}`);
    const expected =
      "id VARCHAR,subscription_id VARCHAR,timestamp BIGINT,usage DECIMAL(18,6),metadata VARCHAR,created_at TIMESTAMP WITH TIME ZONE";
    if (String(described) !== expected) throw new Error(`Other columns: ${described.join()}`);
    const result =
      await connection.run(`SELECT id, subscription_id, timestamp::DOUBLE, usage::VARCHAR, metadata,
      epoch_ms(created_at)::DOUBLE FROM read_parquet('${path}')`);
    return (await result.getRowsJS()).map(
      ([id, subscription_id, timestamp, usage, metadata, created_ms]) => ({
        id: textOf(id),
        subscription_id: textOf(subscription_id),
        timestamp: Number(timestamp),
        usage: textOf(usage).replace(/\.?0+$/, ""),
        metadata: textOf(metadata),
        created_at: new Date(Number(created_ms)).toISOString(),
      }),
    );
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
