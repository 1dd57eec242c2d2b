/** Removes company 1's events before argv[3] from the usage store at argv[2], few at a time, until it is killed. */
import { writeSync } from "node:fs";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";

const [, , path = "", since = "0"] = process.argv;
const store = await openDuckDb({ path });
await store.closeBefore(1, Number(since));
while ((await store.removeClosed(1, 100)) > 0) writeSync(1, "removed\n");
