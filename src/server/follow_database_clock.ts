import type { Log } from "../core/log.ts";
import { type ClockState, DatabaseClock } from "../core/database_clock.ts";
import { machineClocks, type ReadClocks } from "../core/guarded_clock.ts";
import type { Store } from "../store/store.ts";

/** How often the database is asked for its time, and how many times at the start: the fastest answer tells it best. */
const ASK_MS = 5_000;
const FIRST_ASKS = 5;

/** Keeps an instance's clock by the database's. Decision 0321. */
export class FollowedClock {
  readonly clock: DatabaseClock;
  readonly #read: ReadClocks;
  readonly #log: Log;
  #store: Store | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking: Promise<void> = Promise.resolve();
  #is_over = false;

  constructor(log: Log, read: ReadClocks = machineClocks) {
    this.#log = log;
    this.#read = read;
    this.clock = new DatabaseClock(read, (state, off_ms) => this.#tell(state, off_ms));
  }

  /** Takes the time from a database. Errors: throws when it does not answer. */
  async take(store: Store): Promise<void> {
    this.#store = store;
    for (let asked = 0; asked < FIRST_ASKS; asked++) await this.#ask(store);
  }

  async #ask(store: Store): Promise<void> {
    const asked_ms = this.#read().monotonic_ms;
    const server = await store.serverTime();
    if (server === null) throw new Error("Instances share a database that has a clock of its own");
    const answered_ms = this.#read().monotonic_ms;
    this.clock.learn({ server_ms: server.epochMilliseconds, asked_ms, answered_ms });
  }

  /** Asks every few seconds from now on. */
  begin(): void {
    if (this.#is_over) return;
    this.#timer = setTimeout(() => {
      this.#asking = this.#askAgain().finally(() => this.begin());
    }, ASK_MS);
    this.#timer.unref();
  }

  async end(): Promise<void> {
    this.#is_over = true;
    clearTimeout(this.#timer);
    await this.#asking;
  }

  /** Never fails: while the database is away, time goes on by the monotonic clock. */
  async #askAgain(): Promise<void> {
    try {
      if (this.#store !== null) await this.#ask(this.#store);
    } catch (error) {
      this.#log.debug({ err: error }, "clock: not compared");
    }
  }

  #tell(state: ClockState, off_ms: number): void {
    const off_s = Math.round(off_ms / 100) / 10;
    if (state === "right") this.#log.info({ off_s }, "clock: agrees with the database's");
    else if (state === "off")
      this.#log.warn({ off_s }, "clock: differs from the database's, whose time counts");
    else
      this.#log.error(
        { off_s },
        "clock: too far from the database's: not ready, and jobs that write money wait",
      );
  }
}
