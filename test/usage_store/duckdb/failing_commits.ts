import type { Database } from "../../../src/usage_store/duckdb/engine/database.ts";

/**
 * Makes commits fail for a moment, again and again: a change of the table that is not committed. It ends when the store
 * has opened its file anew, and holds no connection that would keep it from that.
 */
export async function failNowAndThen(database: Database): Promise<void> {
  for (;;) {
    await Bun.sleep(300);
    const other = await database.instance.connect().catch(() => undefined);
    if (other === undefined) return;
    try {
      await other.run("BEGIN; ALTER TABLE usage_hour_deltas ADD COLUMN extra INTEGER");
      await Bun.sleep(3);
    } catch {
      // A commit was quicker: the next time.
    }
    await other.run("ROLLBACK").catch(() => undefined);
    other.closeSync();
  }
}
