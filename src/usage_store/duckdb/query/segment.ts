import type { DuckDBConnection } from "@duckdb/node-api";
import { asNumber, Parameters, query, quoteText } from "../engine/sql.ts";
import { EVENT_COLUMNS } from "../engine/schema.ts";

/** Writes the events of a range of numbers to a Parquet file; see `UsageStore.exportSegment`. */
export async function exportSegment(
  connection: DuckDBConnection,
  { from, to, path }: { from: number; to: number; path: string },
): Promise<number> {
  const parameters = new Parameters();
  const [[events] = []] = await query(
    connection,
    `COPY (SELECT ${Object.keys(EVENT_COLUMNS).join(", ")} FROM usage_events
      WHERE seq > ${parameters.integer(from)} AND seq <= ${parameters.integer(to)} ORDER BY seq)
    TO ${quoteText(path)} (FORMAT parquet, COMPRESSION zstd)`,
  );
  return asNumber(events);
}
