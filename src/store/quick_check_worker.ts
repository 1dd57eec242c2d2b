import { Database } from "bun:sqlite";
import { parentPort, workerData } from "node:worker_threads";

// Checks a SQLite file beside the service: reading all of it would hold up every request.

/** The first problems are enough. */
const PROBLEMS = 10;

function problemsOf(file: string): string[] {
  try {
    const database = new Database(file, { readonly: true });
    try {
      const rows = database.query<{ quick_check: string }, []>(`PRAGMA quick_check(${PROBLEMS})`).all();
      return rows.map((row) => row.quick_check).filter((text) => text !== "ok");
    } finally {
      database.close();
    }
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
parentPort?.postMessage(problemsOf(String(workerData)));
