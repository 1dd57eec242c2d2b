import { afterAll } from "bun:test";

// Loaded before every test run (bunfig.toml): what is registered here ends after the last file.
const endings: (() => Promise<void>)[] = [];

/** Runs `end` when all test files are done. */
export function afterEverything(end: () => Promise<void>): void {
  endings.push(end);
}

afterAll(async () => {
  for (const end of endings) await end();
});
