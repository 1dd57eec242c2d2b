/** The company of a query; null for the service's own. */
export type QueueMember = number | null;

/** How many may wait, in all and of one company, and how many of one company may run, by default all. */
export interface QueueLimits {
  waiting: number;
  waiting_company: number;
  running_company?: number;
}

/**
 * A fair queue: the company with the fewest running is next, round-robin among equals, so that a company with many
 * queries delays its own only. No company runs more than its limit, even when there is room.
 */
export class FairQueue<T> {
  readonly #limits: QueueLimits;
  readonly #running = new Map<QueueMember, number>();
  // Companies in the order of their turns, each with its items in the order of their coming; none is empty.
  readonly #waiting = new Map<QueueMember, Set<T>>();
  #size = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** How many items wait. */
  get size(): number {
    return this.#size;
  }

  /** Whether the company may run one more; the service itself always may. */
  mayStart(member: QueueMember): boolean {
    return this.#mayRun(member, (this.#running.get(member) ?? 0) + 1);
  }

  #mayRun(member: QueueMember, count: number): boolean {
    return member === null || count <= (this.#limits.running_company ?? Number.POSITIVE_INFINITY);
  }

  /** Counts one more as running. */
  start(member: QueueMember): void {
    this.#running.set(member, (this.#running.get(member) ?? 0) + 1);
  }

  /** Queues an item. False, and nothing is queued, when too many wait. */
  wait(member: QueueMember, item: T): boolean {
    const queue = this.#waiting.get(member) ?? new Set();
    if (this.#size >= this.#limits.waiting || queue.size >= this.#limits.waiting_company) return false;
    this.#waiting.set(member, queue.add(item));
    this.#size++;
    return true;
  }

  /** Removes a waiting item. */
  leave(member: QueueMember, item: T): void {
    const queue = this.#waiting.get(member);
    if (!queue?.delete(item)) return;
    this.#size--;
    if (queue.size === 0) this.#waiting.delete(member);
  }

  /** Ends one that ran, and starts the next item; undefined when none may run. */
  finish(member: QueueMember): T | undefined {
    // Chosen while this one counts as running: a company must not follow itself while another waits.
    const turn = this.#next(member);
    const left = (this.#running.get(member) ?? 0) - 1;
    if (left > 0) this.#running.set(member, left);
    else this.#running.delete(member);
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

  /** Removes all waiting items. */
  clear(): T[] {
    const items = [...this.#waiting.values()].flatMap((queue) => [...queue]);
    this.#waiting.clear();
    this.#size = 0;
    return items;
  }

  /** The company that is next when one of `ending` ends, with its items. */
  #next(ending: QueueMember): [QueueMember, Set<T>] | undefined {
    let found: [QueueMember, Set<T>] | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting) {
      const [member] = waiting;
      const running = this.#running.get(member) ?? 0;
      if (running >= fewest || !this.#mayRun(member, member === ending ? running : running + 1)) continue;
      fewest = running;
      found = waiting;
    }
    return found;
  }
}
