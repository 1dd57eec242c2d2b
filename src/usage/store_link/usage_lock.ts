import { AppError } from "../../core/errors.ts";
import type { Lock } from "../../store/lock.ts";
import type { Store } from "../../store/store.ts";
import { findLink } from "./queries.ts";

/** Held by the process that has a database's usage to itself. */
const LOCK = "usage store";
/** A process that was killed a moment ago may still hold it. */
const LOCK_WAIT_MS = 5_000;
const RELOCK_WAIT_MS = 2_000;
const LOCK_PAUSE_MS = 100;
const RETRY_MS = 1_000;

/** Another process uses the database's usage store. */
export class UsageInUseError extends AppError {
  override name = "UsageInUseError";
}

/** What the lock works with, and what becomes of its holder. */
interface UsageLockParts {
  store: Store;
  /** Called when the database let the lock go, before it is taken again. */
  onLost: () => void;
  /** Whether the lock may still be held on, once it was taken again. */
  isStillOurs: () => Promise<boolean>;
  /** Called when it can't: another process has the usage store. */
  giveUp: () => Promise<void>;
}

/** Keeps all other processes from a database's usage store, for as long as this one uses it. */
export class UsageLock {
  readonly #parts: UsageLockParts;
  #lock: Lock | undefined;
  #is_over = false;

  private constructor(parts: UsageLockParts) {
    this.#parts = parts;
  }

  /** Errors: UsageInUseError while another process holds it. */
  static async take(parts: UsageLockParts): Promise<UsageLock> {
    const usage_lock = new UsageLock(parts);
    const lock = await usage_lock.#try(LOCK_WAIT_MS);
    if (lock === null) throw await inUse(parts.store);
    usage_lock.#lock = lock;
    return usage_lock;
  }

  async release(): Promise<void> {
    this.#is_over = true;
    await this.#lock?.release();
  }

  /** Tries to take it for so long. */
  async #try(wait_ms: number): Promise<Lock | null> {
    const give_up_ms = performance.now() + wait_ms;
    for (;;) {
      const lock = await this.#parts.store.lock(LOCK, () => void this.#retake());
      if (lock !== null || performance.now() > give_up_ms) return lock;
      await Bun.sleep(LOCK_PAUSE_MS);
    }
  }

  /** Takes it again after the database released it, unless another process was faster. */
  async #retake(): Promise<void> {
    const { onLost, isStillOurs, giveUp } = this.#parts;
    onLost();
    while (!this.#is_over) {
      await this.#lock?.release();
      try {
        // The session that was lost may hold it for a moment more.
        const lock = await this.#try(RELOCK_WAIT_MS);
        if (lock === null) return await giveUp();
        this.#lock = lock;
        return (await isStillOurs()) ? undefined : await giveUp();
      } catch {
        await Bun.sleep(RETRY_MS);
      }
    }
  }
}

/** Errors: UsageInUseError while a process has the usage store to itself. */
export async function refuseWhileLocked(store: Store): Promise<void> {
  const give_up_ms = performance.now() + LOCK_WAIT_MS;
  while (await store.isLocked(LOCK)) {
    if (performance.now() > give_up_ms) throw await inUse(store);
    await Bun.sleep(LOCK_PAUSE_MS);
  }
}

async function inUse({ read }: Store): Promise<UsageInUseError> {
  const other = await findLink(read);
  return new UsageInUseError(
    "unavailable",
    `Cannot open the usage store: another process uses this database with the usage store in ${other?.place}; only one may at a time`,
  );
}
