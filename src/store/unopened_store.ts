import type { Store } from "./store.ts";

/** Stands where no transactional store was opened: whoever asks it all the same has a bug. */
export const UNOPENED_STORE: Store = {
  dialect: "sqlite",
  get read(): never {
    throw notOpened();
  },
  tx: failUnopened,
  lock: failUnopened,
  ping: failUnopened,
  close: async () => undefined,
};

async function failUnopened(): Promise<never> {
  throw notOpened();
}

function notOpened(): Error {
  return new Error("The transactional store was not opened");
}
