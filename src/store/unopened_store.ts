import type { Store } from "./store.ts";

/** A null object: using a transactional store that was not opened is a programming error. */
export const UNOPENED_STORE: Store = {
  dialect: "sqlite",
  get read(): never {
    throw notOpened();
  },
  get read_at_once(): never {
    throw notOpened();
  },
  tx: failUnopened,
  lock: failUnopened,
  isLocked: failUnopened,
  stats: failUnopened,
  serverTime: failUnopened,
  endSessions: failUnopened,
  check: failUnopened,
  ping: failUnopened,
  close: async () => undefined,
};

async function failUnopened(): Promise<never> {
  throw notOpened();
}

function notOpened(): Error {
  return new Error("The transactional store was not opened");
}
