import "../../src/server/node_env.ts";
import { readConfig } from "../../src/core/config.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { listen } from "../../src/server/listen.ts";

// A server that stops for ever before the Nth transaction of a POST of a client, for tests that kill it there:
// `hanging_server.ts N`. Signing in takes one before.

/** A sign-in is written into the audit log. */
const SIGN_IN = 1;
const hangs_at = Number(process.argv[2]);
const deps = await openDeps(readConfig(process.env));
const tx = deps.store.tx.bind(deps.store);
let count = 0;
deps.store.tx = async (work) => {
  if (++count === hangs_at + SIGN_IN) {
    console.log("hangs");
    await new Promise(() => undefined);
  }
  return tx(work);
};
const server = await listen(deps);
console.log(`listens on ${server.url}`);
