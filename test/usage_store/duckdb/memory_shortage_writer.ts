/**
 * Appends batches to the usage store at argv[2], whose engine has argv[3] of memory, until it is killed, and sends each
 * again until it is stored; meanwhile it asks for sums by a key that each event has another value of. Prints
 * `sent <batch> <events>` before a batch is appended first, `done <batch>` once it is answered, and `told <what>` when
 * the store tells of a failure. Batches are numbered from argv[4]. On SIGTERM it closes the store.
 */
import { writeSync } from "node:fs";
import { AppError } from "../../../src/core/errors.ts";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { batchId, HOURS, UNIQUE } from "./memory_shortage.ts";

const [path = "", memory_limit = "", first = "0"] = process.argv.slice(2);
const print = (line: string) => writeSync(1, `${line}\n`);
const compaction = {
  hot_rows: 10_000,
  segment_rows: 100_000,
  move_rows: 10_000,
  snapshot_rows: 20_000,
  min_events: 1,
  max_share: 1,
  retry_ms: 100,
};
const store = await openDuckDb({
  path,
  memory_limit,
  compaction,
  on_failure: (_, message) => print(`told ${message}`),
});
let batch = Number(first);
const ending = new AbortController();

async function appendForever(size: number): Promise<void> {
  while (!ending.signal.aborted) {
    const number = batch++;
    const events = Array.from({ length: size }, (_, i) => {
      const id = batchId(number, i);
      const timestamp = 1_760_000_000_000 + ((number * 7_919 + i) % HOURS) * 3_600_000;
      return modelEvent({ id, timestamp, object: { [UNIQUE]: id, text: "x".repeat(50) } });
    });
    print(`sent ${number} ${size}`);
    while (!(await isStored(events))) await Bun.sleep(10);
    print(`done ${number}`);
  }
}

/** False when they have to be sent again. */
async function isStored(events: Parameters<typeof store.append>[1]): Promise<boolean> {
  try {
    await store.append(1, events, 1);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.kind === "unavailable") return false;
    throw error;
  }
}

async function askForever(): Promise<void> {
  const query = { company_id: 1, time_zone: "UTC", max_groups: 10_000, max_key_length: 500 };
  while (!ending.signal.aborted) {
    try {
      await store.aggregate({ ...query, group_by: [`metadata:${UNIQUE}`] }, 5_000);
    } catch (error) {
      // Too many groups, no memory, or no engine: never anything else.
      const is_known = error instanceof AppError && ["invalid", "unavailable"].includes(error.kind);
      if (!is_known) throw error;
      await Bun.sleep(1);
    }
  }
}

process.on("SIGTERM", () => {
  ending.abort();
  void store.close().finally(() => process.exit(0));
});

await Promise.all([
  ...[1, 100, 100, 1_000, 1_000].map(appendForever),
  askForever(),
  askForever(),
  askForever(),
]);
