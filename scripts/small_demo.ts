// `bun scripts/small_demo.ts FOLDER` makes the demo that tests copy, once for all of a check.

import { mkdirSync } from "node:fs";
import { makeTestDemo } from "../test/support/small_demo.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Name the folder: bun scripts/small_demo.ts FOLDER");
mkdirSync(folder);
await makeTestDemo(folder);
