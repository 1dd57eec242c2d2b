import { readdirSync, readFileSync } from "node:fs";
import { setPriority } from "node:os";

/** Lower than every thread that answers requests, and still a share beside a machine's other work. */
const BACKGROUND_NICENESS = 7;
/** Threads come and go: a new one starts with its maker's priority. */
const LOOK_AGAIN_MS = 2_000;

const THREADS = "/proc/self/task";
/** The native pool's threads are named so, and so are the engine's, which they make. */
const POOL_THREAD = /^Bun Pool/;

/**
 * Lets the thread that answers requests go before those that query, sort and write for it: on a machine with few
 * cores it would otherwise wait for its turn among them. It goes on as threads come. Only Linux has priorities
 * by thread; elsewhere it does nothing.
 */
export function lowerWorkerPriority(): void {
  lowerPool();
  // Again for all: it is cheap, and a new thread may have the number of one that ended.
  setInterval(lowerPool, LOOK_AGAIN_MS).unref();
}

function lowerPool(): void {
  for (const thread of threadsOfPool()) {
    try {
      setPriority(Number(thread), BACKGROUND_NICENESS);
    } catch {
      // It has ended, or the machine does not allow it: then all go on as equals.
    }
  }
}

function threadsOfPool(): string[] {
  try {
    return readdirSync(THREADS).filter((thread) => POOL_THREAD.test(nameOf(thread)));
  } catch {
    return [];
  }
}

function nameOf(thread: string): string {
  try {
    return readFileSync(`${THREADS}/${thread}/comm`, "utf8");
  } catch {
    return "";
  }
}
