/**
 * Appends batches to the usage store at argv[2] until it is killed, and keeps running totals. It prints `done` after each
 * append. Meanwhile the store compacts and writes down totals all the time, watches are set and closed, and now and then
 * commits fail.
 */
import { writeSync } from "node:fs";
import { AppError } from "../../../src/core/errors.ts";
import { openDatabase } from "../../../src/usage_store/duckdb/engine/database.ts";
import { openStoreOn } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { failNowAndThen } from "./failing_commits.ts";
import { killedEvents, killedWatches } from "./killed_watches.ts";

const path = process.argv[2] ?? "";
const database = await openDatabase(path, { threads: 2, memory_limit: "500MB" });
const { fingerprint_key } = database;
const compaction = {
  hot_rows: 1_000,
  segment_rows: 10_000,
  move_rows: 1_500,
  snapshot_rows: 1_000,
  min_events: 1_000_000,
  max_share: 1,
  retry_ms: 5,
};
const store = await openStoreOn(database, { compaction }, { path: `${path}.ids`, fingerprint_key });
const { running_totals } = store;
running_totals.watch(killedWatches());

async function appendForever(size: number): Promise<void> {
  for (;;) {
    const events = killedEvents(size);
    for (;;) {
      try {
        await store.append(1, events, 1);
        break;
      } catch (error) {
        if (!(error instanceof AppError && error.kind === "unavailable")) throw error;
        await Bun.sleep(1);
      }
    }
    writeSync(1, "done\n");
  }
}

async function watchNowAndThen(): Promise<void> {
  for (;;) {
    const watched = running_totals.watch(killedWatches());
    await running_totals.counted();
    for (const totals of watched) totals.close();
    await Bun.sleep(300);
  }
}

await Promise.all([failNowAndThen(database), watchNowAndThen(), ...[1, 50, 400].map(appendForever)]);
