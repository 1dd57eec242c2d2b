import type { DuckDBConnection } from "@duckdb/node-api";
import { asNumber, query } from "./sql.ts";

/**
 * The sequence number of the last commit, or `known` where none came after that: the sums by hour hold it, written in
 * the transaction of the events. It is the store's, not a company's: the last event of a commit keeps it for good,
 * whatever is made of the sums. Blocks of sums with lower numbers are skipped. It is at least the floor that a
 * database has set, whatever usage was lost.
 */
export async function lastSeq(connection: DuckDBConnection, known: number): Promise<number> {
  const [[seq = 0] = []] = await query(
    connection,
    `SELECT greatest(${known}::BIGINT, (SELECT max(seq) FROM usage_hours WHERE seq > ${known}),
      (SELECT max(value::BIGINT) FROM usage_meta WHERE name = 'seq_floor'))`,
  );
  return asNumber(seq);
}
