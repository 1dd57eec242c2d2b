/**
 * Appends batches of 1,000 events to the usage store at argv[2] until one fails, then sends that one again
 * and ends. Prints `sent <ids>` before each append, and `done` or the kind of its error after it.
 */
import { writeSync } from "node:fs";
import { AppError } from "../../../src/core/errors.ts";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { modelEvent } from "../arbitrary_events.ts";

const store = await openDuckDb({ path: process.argv[2] ?? "" });

async function append(ids: string[]): Promise<string> {
  writeSync(1, `sent ${ids.join(" ")}\n`);
  const events = ids.map((id) => modelEvent({ id }));
  const outcome = await store.append(1, events, 1).then(
    ({ accepted }) => (accepted === ids.length ? "done" : "duplicates"),
    (error: unknown) => (error instanceof AppError ? error.kind : String(error)),
  );
  writeSync(1, `${outcome}\n`);
  return outcome;
}

for (;;) {
  const ids = Array.from({ length: 1_000 }, () => crypto.randomUUID());
  if ((await append(ids)) === "done") continue;
  await append(ids);
  break;
}
process.kill(process.pid, "SIGKILL");
