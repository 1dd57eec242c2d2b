/**
 * Tracks work that outlives its call, so that shutdown can wait for it. At the end of the process it is signalled to
 * stop, and the stores stay open until it has.
 */
export class Background {
  readonly #running = new Set<Promise<unknown>>();
  #is_stopping = false;

  /** Whether the process is about to end: long work stops at its next safe point. */
  get is_stopping(): boolean {
    return this.#is_stopping;
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
    await Promise.all(this.#running);
  }
}
