import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { quoteText } from "../../usage_store/duckdb/engine/sql.ts";
import { rawWords } from "../../usage_store/duckdb/engine/vector_words.ts";
import { LIMITS } from "../limits.ts";
import { textRows } from "./column_sources.ts";
import { type FileRows, textsSql } from "./columns_sql.ts";
import { showProgress } from "./blocks.ts";
import type { ImportSource } from "./model.ts";
import { derivedIdPrefix } from "./rows.ts";

/** A block of a file's rows as a Parquet file, for a server. */
export interface OutgoingBlock {
  path: string;
  /** The number in the file of its first row. */
  first_row: number;
  rows: number;
  /** Whether some of its rows have ids that derive from the file's content. */
  has_derived_ids: boolean;
  /** Why rows can't be read at all, by their place in the block from 1: the server sees them without values. */
  problems: ReadonlyMap<number, string>;
}

interface Target {
  /** Another connection of the engine that reads. */
  connect: () => Promise<DuckDBConnection>;
  folder: string;
  source: () => Promise<ImportSource>;
  field: "external_subscription_id" | "subscription_id";
  countRows: (count: number) => void;
}

const TEXTS = "id, subscription, timestamp, usage, metadata";
const BYTES_COLUMN = 6;

/**
 * Reads a file's rows, with the expressions of its sources, into blocks of the five columns that `POST /usage/import`
 * takes. A block's file is the caller's to remove. Decision 0191.
 */
export async function* outgoingBlocks(
  connection: DuckDBConnection,
  rows: Pick<FileRows, "from" | "problem" | "values">,
  target: Target,
): AsyncGenerator<OutgoingBlock> {
  await showProgress(connection);
  // Its own table of rows that wait, apart from the connection that reads.
  const writer = await target.connect();
  try {
    let first_row = 1;
    let number = 0;
    let pending = await openTable(writer);
    for await (const chunk of await connection.stream(textsSql(rows))) {
      const sizes = rawWords(chunk.getColumnVector(BYTES_COLUMN));
      for (let row = 0; row < chunk.rowCount; row++) pending.bytes += sizes[row] ?? 0;
      pending.rows += chunk.rowCount;
      pending.appender.appendDataChunk(chunk);
      target.countRows(chunk.rowCount);
      const is_full =
        pending.rows + chunk.rowCount > LIMITS.usage_sent_rows ||
        pending.bytes > LIMITS.usage_sent_text_bytes;
      if (!is_full) continue;
      yield await write(writer, pending, { ...target, first_row, number: number++ });
      first_row += pending.rows;
      pending = await openTable(writer);
    }
    if (pending.rows > 0) yield await write(writer, pending, { ...target, first_row, number });
    else pending.appender.closeSync();
  } finally {
    writer.closeSync();
  }
}

type Pending = Awaited<ReturnType<typeof openTable>>;

async function openTable(writer: DuckDBConnection) {
  await writer.run(
    "CREATE OR REPLACE TEMP TABLE pending (problem VARCHAR, id VARCHAR, subscription VARCHAR, timestamp VARCHAR, usage VARCHAR, metadata VARCHAR, bytes INTEGER)",
  );
  return { appender: await writer.createAppender("pending"), rows: 0, bytes: 0 };
}

async function write(
  writer: DuckDBConnection,
  { appender, rows }: Pending,
  { folder, source, field, first_row, number }: Target & { first_row: number; number: number },
): Promise<OutgoingBlock> {
  appender.closeSync();
  const broken = await textRows(
    writer,
    "SELECT (rowid + 1)::VARCHAR, problem FROM pending WHERE problem IS NOT NULL",
  );
  const [[unnamed] = []] = await textRows(
    writer,
    "SELECT count(*)::VARCHAR FROM pending WHERE id IS NULL AND problem IS NULL",
  );
  const has_derived_ids = unnamed !== "0";
  const id = has_derived_ids ? derivedIdSql(await source(), first_row) : "id";
  const path = join(folder, `${number}.parquet`);
  const texts = TEXTS.replace("id,", `${id} AS id,`).replace("subscription,", `subscription AS ${field},`);
  await writer.run(
    `COPY (SELECT ${texts} FROM pending) TO ${quoteText(path)} (FORMAT parquet, COMPRESSION zstd)`,
  );
  return {
    path,
    first_row,
    rows,
    has_derived_ids,
    problems: new Map(broken.map(([place, problem]) => [Number(place), problem ?? ""])),
  };
}

/** SQL of a row's id, derived as `writeDerivedId` does where it has none. */
function derivedIdSql({ beginnings, digest }: ImportSource, first_row: number): string {
  const row = `(rowid + ${first_row})`;
  const cases = beginnings.map((known) => `WHEN ${row} <= ${known.rows} THEN ${prefixSql(known.digest)}`);
  const of_file = prefixSql(digest);
  const chosen = cases.length === 0 ? of_file : `CASE ${cases.join(" ")} ELSE ${of_file} END`;
  return `coalesce(id, ${chosen} || printf('%010x', ${row}))`;
}

const prefixSql = (digest: string) => quoteText(derivedIdPrefix(Buffer.from(digest, "hex")));
