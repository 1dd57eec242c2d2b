/**
 * Appends batches to the usage store at argv[2], which compacts all the time, for as long as it lives, each again until
 * it is stored. Prints `done <ids>` for each, `refused <kind>` for a refusal, and `told <what>` for failures.
 */
import { writeSync } from "node:fs";
import { AppError } from "../../../src/core/errors.ts";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { modelEvent } from "../arbitrary_events.ts";

const compaction = {
  hot_rows: 5_000,
  segment_rows: 1e9,
  move_rows: 5_000,
  snapshot_rows: 1e9,
  min_events: 1,
  max_share: 1,
  retry_ms: 100,
};
const print = (line: string) => writeSync(1, `${line}\n`);
const store = await openDuckDb({
  path: process.argv[2] ?? "",
  compaction,
  on_failure: (_, message) => print(`told ${message}`),
});

for (;;) {
  const events = Array.from({ length: 1_000 }, () => modelEvent({ object: { text: crypto.randomUUID() } }));
  for (;;) {
    try {
      await store.append(1, events, 1);
      break;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      print(`refused ${error.kind}`);
      await Bun.sleep(50);
    }
  }
  print(`done ${events.map(({ id }) => id).join(" ")}`);
}
