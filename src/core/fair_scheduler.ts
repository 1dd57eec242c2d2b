/**
 * Runs work for many owners fairly: each at most once at a time, `at_once` owners at once, and the owner served
 * longest ago first. While there is room, an owner whose work takes long delays only itself.
 */
export class FairWork {
  readonly #at_once: number;
  readonly #running = new Map<number, Promise<void>>();
  /** When each owner was served last, as a count of turns; the oldest first. */
  readonly #served = new Map<number, number>();
  #turns = 0;

  constructor(at_once: number) {
    this.#at_once = at_once;
  }

  /** Begins the work of those that have none under way, as far as there is room, and waits for none of it. */
  begin(owners: readonly number[], work: (owner: number) => Promise<void>): void {
    this.#forget(owners);
    for (const owner of this.#inTurn(owners)) {
      if (this.#running.size >= this.#at_once) return;
      this.#start(owner, work);
    }
  }

  /** Does the work of all that have none under way, and waits for it. */
  async finish(owners: readonly number[], work: (owner: number) => Promise<void>): Promise<void> {
    const waiting = this.#inTurn(owners);
    while (waiting.length > 0) {
      if (this.#running.size >= this.#at_once) await Promise.race(this.#running.values());
      else this.#start(waiting.shift() ?? 0, work);
    }
    await this.idle();
  }

  /** Waits until nothing is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  #inTurn(owners: readonly number[]): number[] {
    const served = (owner: number) => this.#served.get(owner) ?? -1;
    return [...new Set(owners)]
      .filter((owner) => !this.#running.has(owner))
      .toSorted((a, b) => served(a) - served(b));
  }

  #start(owner: number, work: (owner: number) => Promise<void>): void {
    this.#served.set(owner, this.#turns++);
    const run = work(owner).finally(() => this.#running.delete(owner));
    this.#running.set(owner, run);
  }

  /** Forgets owners without work: they come first the next time. */
  #forget(owners: readonly number[]): void {
    const wanted = new Set(owners);
    for (const owner of this.#served.keys()) {
      if (!wanted.has(owner) && !this.#running.has(owner)) this.#served.delete(owner);
    }
  }
}
