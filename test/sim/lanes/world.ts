import type { Monotonic } from "../../../src/usage_store/clickhouse/lanes/tenure.ts";
import type { Random } from "./random.ts";

interface Happening {
  at_ms: number;
  order: number;
  run: () => void;
}

/** Time that only what happens moves on: a discrete-event simulation. */
export class World {
  now_ms = 0;
  #order = 0;
  /** A binary heap, the next one first. */
  readonly #heap: Happening[] = [];

  after(delay_ms: number, run: () => void): void {
    const heap = this.#heap;
    heap.push({ at_ms: this.now_ms + delay_ms, order: this.#order++, run });
    for (let i = heap.length - 1; i > 0; ) {
      const parent = (i - 1) >> 1;
      if (isBefore(heap[parent], heap[i])) break;
      swap(heap, i, parent);
      i = parent;
    }
  }

  /** Lets happen what happens by then, each in a turn of its own. */
  async run(until_ms: number): Promise<void> {
    for (;;) {
      const next = this.#take(until_ms);
      if (next === undefined) return;
      this.now_ms = next.at_ms;
      next.run();
      // All that follows from it, up to the next wait for time.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #take(until_ms: number): Happening | undefined {
    const heap = this.#heap;
    const [first] = heap;
    if (first === undefined || first.at_ms > until_ms) return undefined;
    const last = heap.pop();
    if (last === undefined || last === first) return first;
    heap[0] = last;
    for (let i = 0; ; ) {
      const [left, right] = [2 * i + 1, 2 * i + 2];
      let least = i;
      if (left < heap.length && isBefore(heap[left], heap[least])) least = left;
      if (right < heap.length && isBefore(heap[right], heap[least])) least = right;
      if (least === i) return first;
      swap(heap, i, least);
      i = least;
    }
  }
}

function isBefore(a: Happening | undefined, b: Happening | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.at_ms < b.at_ms || (a.at_ms === b.at_ms && a.order < b.order);
}

function swap(heap: Happening[], i: number, j: number): void {
  const [a, b] = [heap[i], heap[j]];
  if (a === undefined || b === undefined) return;
  heap[i] = b;
  heap[j] = a;
}

/** A process: what reaches it waits while it stalls, and never comes once it is dead. */
export class SimProcess {
  is_dead = false;
  #stalled_until_ms = 0;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** Its monotonic clock. */
  get clock(): Monotonic {
    return {
      now: () => this.#world.now_ms,
      sleep: (ms) => new Promise((resolve) => this.after(ms, resolve)),
    };
  }

  /** Runs in the process, after a delay, or when its stall is over. */
  after(delay_ms: number, run: () => void): void {
    this.#world.after(delay_ms, () => {
      const stall_ms = this.#stalled_until_ms - this.#world.now_ms;
      if (this.is_dead) return;
      if (stall_ms > 0) this.after(stall_ms, run);
      else run();
    });
  }

  stall(ms: number): void {
    this.#stalled_until_ms = Math.max(this.#stalled_until_ms, this.#world.now_ms + ms);
  }
}

/** How long a caller waits for an answer. */
const PATIENCE_MS = 12_000;

/** What the network does to a call. */
export interface Delays {
  /** Until it is carried out. */
  there_ms: number;
  back_ms: number;
  /** Whether it never arrives, or its answer does not. */
  lost: "call" | "answer" | null;
}

/** A call to a service, which carries it out in one go. Errors: those of the service; that no answer came. */
export function callService<T>(
  { world, process, delays }: { world: World; process: SimProcess; delays: Delays },
  carryOut: () => T,
): Promise<T> {
  return new Promise((resolve, reject) => {
    process.after(PATIENCE_MS, () => reject(new Error("no answer came")));
    if (delays.lost === "call") return;
    world.after(delays.there_ms, () => {
      let answer: () => void;
      try {
        const result = carryOut();
        answer = () => resolve(result);
      } catch (error) {
        answer = () => reject(error);
      }
      if (delays.lost === null) process.after(delays.back_ms, answer);
    });
  });
}

/** Delays of a quick service, which loses few calls. */
export function quickly(random: Random): Delays {
  const lost = random.oneIn(15) ? (random.oneIn(2) ? "call" : "answer") : null;
  return { there_ms: 1 + random.below(15), back_ms: 1 + random.below(15), lost };
}

/** Delays of inserts: some land half a minute later. */
export function slowly(random: Random): Delays {
  const there_ms = random.oneIn(6) ? 5_000 + random.below(25_000) : 10 + random.below(80);
  const lost = random.oneIn(15) ? (random.oneIn(4) ? "call" : "answer") : null;
  return { there_ms, back_ms: 5 + random.below(20), lost };
}
