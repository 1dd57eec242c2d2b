/**
 * A per-key mutex within this process: tasks with the same key run one at a time, in arrival order. Exclusion between
 * processes is the database's job.
 */
export class KeyedMutex<K> {
  readonly #last = new Map<K, Promise<void>>();

  run<T>(key: K, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const over = done.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, over);
    void over.finally(() => this.#forget(key, over));
    return done;
  }

  /** Removes the key, unless another task came after this one. */
  #forget(key: K, over: Promise<void>): void {
    if (this.#last.get(key) === over) this.#last.delete(key);
  }
}
