import type { DuckDBConnection } from "@duckdb/node-api";
import { EventBlock } from "../../usage_store/duckdb/append/event_block.ts";
import { LIMITS } from "../limits.ts";
import { ABSENT, textRows } from "./column_sources.ts";
import type { RoleValues } from "./columns_sql.ts";

// What reading files and reading blocks have in common.

/** The metadata keys of the file's first rows. */
export async function metadataKeys(
  connection: DuckDBConnection,
  from: string,
  values: RoleValues,
): Promise<string[]> {
  const { sql } = values.get("metadata") ?? ABSENT;
  const rows = await textRows(
    connection,
    `SELECT DISTINCT unnest(CASE WHEN json_valid(metadata) THEN json_keys(metadata) END)
    FROM (SELECT (${sql})::VARCHAR AS metadata FROM ${from} LIMIT ${LIMITS.usage_import_sample})`,
  );
  return rows.flatMap(([key]) => key ?? []);
}

/** Lets the engine read on while a block is stored, and say how far it is. */
export async function showProgress(connection: DuckDBConnection): Promise<void> {
  await connection.run(`SET streaming_buffer_size = '${LIMITS.usage_import_buffer}'`);
  await connection.run("SET enable_progress_bar = true; SET enable_progress_bar_print = false");
}

/** The rows of `blockSql` in blocks of a size; `first_row` is the number of the first one, by default 1. */
export async function* blocksOf(
  connection: DuckDBConnection,
  sql: string,
  {
    size,
    first_row = 1,
    countRows,
  }: { size: number; first_row?: number; countRows?: (count: number) => void },
): AsyncGenerator<EventBlock> {
  let block = new EventBlock(first_row, size);
  for await (const chunk of await connection.stream(sql)) {
    block.add(chunk);
    countRows?.(chunk.rowCount);
    if (!block.is_full) continue;
    yield block;
    block = new EventBlock(block.first_row + block.rows, size);
  }
  if (block.rows > 0) yield block;
}
