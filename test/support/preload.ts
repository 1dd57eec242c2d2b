import { afterAll } from "bun:test";
import * as fc from "fast-check";

/** The cases that properties try, in place of others each time: `bun run check` tries those of its commit. */
const SEED = process.env.FAST_CHECK_SEED;
if (SEED !== undefined) fc.configureGlobal({ seed: Number(SEED) });

// Loaded before every test run (bunfig.toml): what is registered here ends after the last file, and with `--parallel`
// after the file that registered it.
const endings: (() => Promise<void>)[] = [];

/** Runs `end` when all test files of the process are done. */
export function afterEverything(end: () => Promise<void>): void {
  endings.push(end);
}

afterAll(async () => {
  for (const end of endings.splice(0)) await end();
});
