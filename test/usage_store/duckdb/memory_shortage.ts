/** What writers that run short of memory send, and how their files are read. */
import { openDatabase } from "../../../src/usage_store/duckdb/engine/database.ts";
import { asNumber, query } from "../../../src/usage_store/duckdb/engine/sql.ts";

/** The key of metadata whose values differ in all events. */
export const UNIQUE = "trace";
/** Over how many hours the events lie. */
export const HOURS = 48;

/** The id of a batch's event, from which both can be told. */
export function batchId(batch: number, event: number): string {
  return `${batch.toString(16).padStart(8, "0")}-0000-4000-8000-${event.toString(16).padStart(12, "0")}`;
}

/** What a closed store's file holds: the events of each batch, and how many there are more than once. */
export async function readBatches(path: string): Promise<{ batches: Map<number, number>; doubled: number }> {
  const database = await openDatabase(path, { threads: 2, memory_limit: "1GB" });
  const connection = await database.instance.connect();
  try {
    const rows = await query(
      connection,
      `SELECT ('0x' || left(id::VARCHAR, 8))::BIGINT, count(DISTINCT id), count(*) FROM usage_events GROUP BY 1`,
    );
    const batches = new Map<number, number>();
    let doubled = 0;
    for (const [batch, distinct, all] of rows) {
      batches.set(asNumber(batch), asNumber(distinct));
      doubled += asNumber(all) - asNumber(distinct);
    }
    return { batches, doubled };
  } finally {
    connection.closeSync();
    database.close();
  }
}
