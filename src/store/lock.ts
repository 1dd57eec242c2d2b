/** A lock by name, for work that one process at a time does. */
export interface Lock {
  /** Gives it up. It never fails: at the latest it ends with the process. */
  release(): Promise<void>;
}

/**
 * Takes the lock of a name; null where it is taken, by this process or another. It ends when it is released, and
 * with the process, however that ends: nothing that was killed holds anything up. `onLost` is called where the
 * database has let it go before that, so that another process may have it.
 * Errors: those of a database that can't be reached.
 */
export type TakeLock = (name: string, onLost?: () => void) => Promise<Lock | null>;

/** Whether a process has the lock of a name now. Errors: those of a database that can't be reached. */
export type IsLocked = (name: string) => Promise<boolean>;

/** The locks of a database that is one process's own. */
export function ownLocks(): { take: TakeLock; isTaken: IsLocked } {
  const taken = new Set<string>();
  return {
    async take(name) {
      if (taken.has(name)) return null;
      taken.add(name);
      return {
        async release() {
          taken.delete(name);
        },
      };
    },
    isTaken: async (name) => taken.has(name),
  };
}
