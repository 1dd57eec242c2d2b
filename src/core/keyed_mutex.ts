/**
 * Lets what is under one key go one after the other within this process, in the order in which it came. It keeps
 * apart what would only be in each other's way; what must hold is held by the database, also between processes.
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

  /** Unless somebody came after it. */
  #forget(key: K, over: Promise<void>): void {
    if (this.#last.get(key) === over) this.#last.delete(key);
  }
}
