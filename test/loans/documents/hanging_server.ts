import "../../../src/server/node_env.ts";
import { readConfig } from "../../../src/core/config.ts";
import { openDeps } from "../../../src/server/open_deps.ts";
import { listen } from "../../../src/server/listen.ts";

// A server that stops for ever when a document's file is in its place and its row is not, to be killed there.

const deps = await openDeps(readConfig(process.env));
const keep = deps.documents.commit.bind(deps.documents);
deps.documents.commit = (company_id, staged, usedAmong) =>
  keep(company_id, staged, usedAmong, () => {
    console.log("hangs");
    return new Promise(() => undefined);
  });
const server = await listen(deps);
console.log(`listens on ${server.url}`);
