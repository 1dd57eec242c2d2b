import type { Deps } from "../../src/app/deps.ts";
import { Background } from "../../src/core/background.ts";
import type { Clock } from "../../src/core/time.ts";
import type { Lock } from "../../src/store/lock.ts";
import type { Store } from "../../src/store/store.ts";
import type { UsageStore } from "../../src/usage_store/port.ts";
import type { Process, Turns } from "./turns.ts";

/** A wall clock that the simulation moves, forward or back. */
export class SimClock implements Clock {
  #now_ms: number;
  constructor(start: string) {
    this.#now_ms = Temporal.Instant.from(start).epochMilliseconds;
  }
  get now_ms(): number {
    return this.#now_ms;
  }
  now(): Temporal.Instant {
    return Temporal.Instant.fromEpochMilliseconds(this.#now_ms);
  }
  move(ms: number): void {
    this.#now_ms += ms;
  }
}

/** What a process of the simulation is made of. */
interface Parts {
  base: Deps;
  turns: Turns;
  process: Process;
  usage: UsageStore;
  /** Looks at what a transaction has left, before anything else happens. */
  afterCommit: () => Promise<void>;
}

/** The service as one process of the simulation sees it: every seam waits its turn, and dies with the process. */
export function openProcess({ base, turns, process, usage, afterCommit }: Parts): Deps {
  const commit = async <T>(work: Parameters<typeof base.store.tx<T>>[0]): Promise<T> => {
    const result = await base.store.tx(turns.inTransaction(work));
    await afterCommit();
    return result;
  };
  const store: Store = {
    ...base.store,
    tx: (work) => (turns.is_in_transaction ? base.store.tx(work) : turns.pass(() => commit(work))),
    lock: (name, onLost) => turns.pass(() => takeLock(base.store, process, name, onLost)),
  };
  const seams: UsageStore = {
    ...usage,
    append: (...asked) => turns.pass(() => usage.append(...asked)),
    lastSeq: (...asked) => turns.pass(() => usage.lastSeq(...asked)),
    totals: (...asked) => turns.pass(() => usage.totals(...asked)),
    haveLateEvents: (...asked) => turns.pass(() => usage.haveLateEvents(...asked)),
    sums: (...asked) => turns.pass(() => usage.sums(...asked)),
  };
  const background = new Background();
  const opened = { store, usage: seams, background };
  return {
    ...base,
    ...opened,
    openContext: (caller) => ({ ...base.openContext(caller), ...opened, unaudited_store: store }),
  };
}

async function takeLock(
  store: Store,
  process: Process,
  name: string,
  onLost?: () => void,
): Promise<Lock | null> {
  const lock = await store.lock(name, onLost);
  // Locks end with their process.
  if (lock !== null) process.endings.push(() => lock.release());
  return lock;
}
