/**
 * Appends batches to the usage store at argv[2] until it is killed. Before each append it prints
 * `sent <ids>`, after it `done <ids>`, each line written at once. Meanwhile the store compacts all the time,
 * now and then commits fail and batches are sent again; with argv[3] `collide`, fingerprints are forged so
 * that each is shared by many events.
 */
import { writeSync } from "node:fs";
import { AppError } from "../../../src/core/errors.ts";
import { openDatabase } from "../../../src/usage_store/duckdb/engine/database.ts";
import { openStoreOn } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import type { NewEvent } from "../../../src/usage_store/port.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { failNowAndThen } from "./failing_commits.ts";
import { forgeCollisions } from "./forge_collisions.ts";

const path = process.argv[2] ?? "";
if (process.argv[3] === "collide") forgeCollisions();
const database = await openDatabase(path, { threads: 2, memory_limit: "500MB" });
const { fingerprint_key } = database;
const compaction = {
  hot_rows: 300,
  segment_rows: 2_000,
  move_rows: 250,
  snapshot_rows: 400,
  min_events: 1,
  max_share: 1,
  retry_ms: 5,
};
const store = await openStoreOn(database, { compaction }, { path: `${path}.ids`, fingerprint_key });

async function appendForever(size: number): Promise<void> {
  for (;;) {
    const events = Array.from({ length: size }, () => modelEvent());
    const ids = events.map(({ id }) => id).join(" ");
    writeSync(1, `sent ${ids}\n`);
    while (!(await isStored(events))) await Bun.sleep(1);
    writeSync(1, `done ${ids}\n`);
  }
}

/** False when the commit failed. */
async function isStored(events: readonly NewEvent[]): Promise<boolean> {
  try {
    await store.append(1, events, 1);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.kind === "unavailable") return false;
    throw error;
  }
}

await Promise.all([failNowAndThen(database), ...[1, 1, 7, 50, 50, 400].map(appendForever)]);
