/**
 * Tracks work that outlives its call, so that shutdown can wait for it. At the end of the process it is signalled to
 * stop, and the stores stay open until it has.
 */
export class Background {
  readonly #running = new Set<Promise<unknown>>();
  readonly #stopping = Promise.withResolvers<void>();
  #is_stopping = false;

  /** Whether the process is about to end: long work stops at its next safe point. */
  get is_stopping(): boolean {
    return this.#is_stopping;
  }

  /** Resolves when the process is about to end: what waits for its next turn need not wait longer. */
  get stopping(): Promise<void> {
    return this.#stopping.promise;
  }

  /** Waits for the work before the stores close. Its errors stay with its caller. */
  track<T>(work: Promise<T>): Promise<T> {
    const ended = work.then(
      () => undefined,
      () => undefined,
    );
    this.#running.add(ended);
    void ended.then(() => this.#running.delete(ended));
    return work;
  }

  /** Tells all work to stop and waits until it has. */
  async stop(): Promise<void> {
    this.#is_stopping = true;
    this.#stopping.resolve();
    await Promise.all(this.#running);
  }
}
