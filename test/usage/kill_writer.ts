/**
 * Appends batches to the usage store at argv[2] until it is killed. Before each append it prints
 * `sent <ids>`, after it `done <ids>`, each line written at once.
 */
import { writeSync } from "node:fs";
import { openDuckDb } from "../../src/features/usage/store/duckdb.ts";
import { modelEvent } from "./events.ts";

const path = process.argv[2] ?? "";
const store = await openDuckDb({ path });

async function appendForever(size: number): Promise<void> {
  for (;;) {
    const events = Array.from({ length: size }, () => modelEvent());
    const ids = events.map(({ id }) => id).join(" ");
    writeSync(1, `sent ${ids}\n`);
    await store.append(1, events, 1);
    writeSync(1, `done ${ids}\n`);
  }
}

await Promise.all([1, 1, 7, 50, 50, 400].map(appendForever));
