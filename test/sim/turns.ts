import { AsyncLocalStorage } from "node:async_hooks";
import type { Dice } from "../support/dice.ts";

/** A process of the simulation: when it is dead, nothing that it awaits goes on. */
export class Process {
  is_dead = false;
  /** Runs when it dies: gives up its locks. */
  readonly endings: (() => unknown)[] = [];
}

interface Place {
  process: Process;
  /** Inside a transaction, which nothing comes between: its writer is alone. */
  in_tx: boolean;
}

interface Waiting {
  process: Process;
  goOn: () => void;
}

/** Turns of the event loop without news after which all that goes on waits for its turn. */
const QUIET_TURNS = 3;
const STUCK_MS = 10_000;

const endOfTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/**
 * The order in which what is awaited at the seams goes on: the seed decides, one at a time. The seams are the stores,
 * the debit scheme and pauses: all that the outside can see of a process, before it is done and after it was done.
 */
export class Turns {
  readonly #roll: Dice;
  readonly #place = new AsyncLocalStorage<Place>();
  #waiting: Waiting[] = [];
  #under_way = 0;
  /** How many turns were taken. */
  taken = 0;

  constructor(roll: Dice) {
    this.#roll = roll;
  }

  /** Does work in a process. */
  run<T>(process: Process, work: () => Promise<T>): Promise<T> {
    return this.#place.run({ process, in_tx: false }, work);
  }

  /** A seam: its turn comes, it is done, and its answer is seen when another turn comes. */
  async pass<T>(does: () => Promise<T>): Promise<T> {
    const place = this.#place.getStore();
    if (place === undefined || place.in_tx) return does();
    await this.#turn(place.process);
    this.#under_way += 1;
    try {
      return await does();
    } finally {
      this.#under_way -= 1;
      await this.#turn(place.process);
    }
  }

  /** Marks what a transaction does as inside it, whoever's turn it is that begins it. */
  inTransaction<A, T>(work: (a: A) => Promise<T>): (a: A) => Promise<T> {
    const place = this.#place.getStore();
    if (place === undefined) return work;
    return (a) => this.#place.run({ ...place, in_tx: true }, () => work(a));
  }

  /** Whether what asks is inside a transaction. */
  get is_in_transaction(): boolean {
    return this.#place.getStore()?.in_tx === true;
  }

  /**
   * Lets all of it go on until it has ended, or `before` a turn says that its process is dead. Returns whether it
   * ended. Errors: throws when nothing goes on any more.
   */
  async drive(work: readonly Promise<unknown>[], before: () => boolean): Promise<boolean> {
    const state = { ended: false };
    const all = Promise.allSettled(work).finally(() => {
      state.ended = true;
    });
    let stuck_since: number | undefined;
    for (;;) {
      await this.#quiet();
      if (state.ended) {
        await all;
        return true;
      }
      const next = this.#waiting.length;
      if (next === 0) {
        // A timer of the program, which the seed does not decide: it is waited for.
        stuck_since ??= performance.now();
        if (performance.now() - stuck_since > STUCK_MS) throw new Error("Nothing goes on any more");
        await new Promise((resolve) => setTimeout(resolve, 1));
        continue;
      }
      stuck_since = undefined;
      if (before()) return false;
      const [taken] = this.#waiting.splice(this.#roll(next), 1);
      this.taken += 1;
      taken?.goOn();
    }
  }

  /** Ends a process between two turns: what it awaits never goes on. */
  kill(process: Process): void {
    process.is_dead = true;
    this.#waiting = this.#waiting.filter((one) => one.process !== process);
    for (const end of process.endings.splice(0)) end();
  }

  #turn(process: Process): Promise<void> {
    return new Promise((goOn) => {
      if (!process.is_dead) this.#waiting.push({ process, goOn });
    });
  }

  async #quiet(): Promise<void> {
    let before = -1;
    for (let quiet = 0; quiet < QUIET_TURNS; ) {
      await endOfTurn();
      quiet = this.#under_way === 0 && this.#waiting.length === before ? quiet + 1 : 0;
      before = this.#waiting.length;
    }
  }
}
