/** Whose question it is; null for the service's own. */
export type Asker = number | null;

/** How many may wait: in all, and of one company; and how many of one company may run, by default all. */
export interface TurnLimits {
  waiting: number;
  waiting_company: number;
  running_company?: number;
}

/**
 * Who runs and who waits, by company; none runs more than its limit, also where there is room. The next turn is of
 * the company that has the fewest running; among equals they take turns, so that a company with many questions holds
 * up its own ones only.
 */
export class Turns<T> {
  readonly #limits: TurnLimits;
  readonly #running = new Map<Asker, number>();
  // Companies in the order of their turns, each with its items in the order of their coming; none is empty.
  readonly #waiting = new Map<Asker, Set<T>>();
  #size = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Whether one more of the asker's may run. The service's own always may. */
  mayStart(asker: Asker): boolean {
    return this.#mayRun(asker, (this.#running.get(asker) ?? 0) + 1);
  }

  #mayRun(asker: Asker, count: number): boolean {
    return asker === null || count <= (this.#limits.running_company ?? Number.POSITIVE_INFINITY);
  }

  /** Counts one more that runs. */
  start(asker: Asker): void {
    this.#running.set(asker, (this.#running.get(asker) ?? 0) + 1);
  }

  /** Queues an item. False, and nothing is queued, when too many wait. */
  wait(asker: Asker, item: T): boolean {
    const queue = this.#waiting.get(asker) ?? new Set();
    if (this.#size >= this.#limits.waiting || queue.size >= this.#limits.waiting_company) return false;
    this.#waiting.set(asker, queue.add(item));
    this.#size++;
    return true;
  }

  /** Takes an item out that waits no longer. */
  leave(asker: Asker, item: T): void {
    const queue = this.#waiting.get(asker);
    if (!queue?.delete(item)) return;
    this.#size--;
    if (queue.size === 0) this.#waiting.delete(asker);
  }

  /** Ends one that ran, and starts the item whose turn it is. Undefined when none waits. */
  finish(asker: Asker): T | undefined {
    // While this one still counts as running: a company must not follow itself where another waits.
    const turn = this.#next(asker);
    const left = (this.#running.get(asker) ?? 0) - 1;
    if (left > 0) this.#running.set(asker, left);
    else this.#running.delete(asker);
    if (turn === undefined) return undefined;
    const [next, queue] = turn;
    const [item] = queue;
    if (item === undefined) return undefined;
    this.#waiting.delete(next);
    this.#waiting.set(next, queue);
    this.leave(next, item);
    this.start(next);
    return item;
  }

  /** Takes all out that wait. */
  clear(): T[] {
    const items = [...this.#waiting.values()].flatMap((queue) => [...queue]);
    this.#waiting.clear();
    this.#size = 0;
    return items;
  }

  /** Whose turn it is when one of `ending` ends. */
  #next(ending: Asker): [Asker, Set<T>] | undefined {
    let found: [Asker, Set<T>] | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting) {
      const [asker] = waiting;
      const running = this.#running.get(asker) ?? 0;
      if (running >= fewest || !this.#mayRun(asker, asker === ending ? running : running + 1)) continue;
      fewest = running;
      found = waiting;
    }
    return found;
  }
}
