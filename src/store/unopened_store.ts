import type { Store } from "./store.ts";

/** Stands where no transactional store was opened: whoever asks it all the same has a bug. */
export const UNOPENED_STORE: Store = {
  dialect: "sqlite",
  get read(): never {
    throw refusal();
  },
  tx: refuse,
  lock: refuse,
  ping: refuse,
  close: async () => undefined,
};

async function refuse(): Promise<never> {
  throw refusal();
}

function refusal(): Error {
  return new Error("The transactional store was not opened");
}
