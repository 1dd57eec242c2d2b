import type { DuckDBConnection, DuckDBDataChunk } from "@duckdb/node-api";

/** The number of rows in a chunk of the engine. */
export const CHUNK_ROWS = 2048;

/** Appends rows to a table, within the open transaction, in chunks made by `fill`. */
export async function appendChunks(
  connection: DuckDBConnection,
  table: string,
  rows: number,
  fill: (start: number, end: number) => DuckDBDataChunk,
): Promise<void> {
  const appender = await connection.createAppender(table);
  try {
    for (let start = 0; start < rows; start += CHUNK_ROWS) {
      appender.appendDataChunk(fill(start, Math.min(start + CHUNK_ROWS, rows)));
    }
    appender.flushSync();
  } catch (error) {
    // Closing would flush again, after the flush that failed.
    appender.clear();
    throw error;
  } finally {
    appender.closeSync();
  }
}
