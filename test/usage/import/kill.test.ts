import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  type CommandFolder,
  makePreparedFolder,
  runHere,
  serveHere,
  TESTED_COMMAND,
} from "../../support/process.ts";
import { LIMITS } from "../../../src/usage/limits.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { addSubscription, ms, search } from "../fixtures.ts";

/**
 * One in every run, at another moment each time; `KILL_ROUNDS=100 bun test --timeout 3600000 test/usage/import/kill.test.ts`
 * makes more of them.
 */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 1);
const ROUND_MS = 300_000;
const T0 = ms("2024-05-01T00:00:00Z");
const BLOCKS = TESTS_ALL ? 2 : 1;
const ROWS = BLOCKS * LIMITS.usage_import_block + 1_000;

let place: CommandFolder;

beforeAll(async () => {
  place = await makePreparedFolder();
});
afterAll(() => place.remove());

const storeBytes = (): number =>
  ["usage.duckdb", "usage.duckdb.wal"]
    .map((name) => join(place.data_dir, name))
    .reduce((sum, path) => sum + (existsSync(path) ? statSync(path).size : 0), 0);

/** Imports a file in a process of its own, and kills that `after_ms` after it began to write events. */
async function importAndKill(file: string, after_ms: number): Promise<void> {
  const command = [...TESTED_COMMAND, "import", "usage", file];
  const child = Bun.spawn(command, { env: place.env, stdout: "ignore", stderr: "inherit" });
  const before = storeBytes();
  while (child.exitCode === null && storeBytes() < before + 1_000_000) await Bun.sleep(5);
  await Bun.sleep(after_ms);
  child.kill("SIGKILL");
  await child.exited;
}

test(
  "an import that is killed stores every row once when it is made again",
  async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `round-${round}`;
      await serveHere(place.env, (api) => addSubscription({ api }, name));
      const file = join(place.data_dir, `${name}.csv`);
      const rows = Array.from({ length: ROWS }, (_, i) => `${name},${T0 + i},${i % 7}`);
      await Bun.write(file, `external_subscription_id,timestamp,usage\n${rows.join("\n")}\n`);
      await importAndKill(file, Math.floor(Math.random() * 300));
      const { out } = await runHere(["import", "usage", file], place.env);
      const [accepted = 0, duplicates = 0, rejected] =
        /(\d+) accepted, (\d+) duplicates, (\d+) rejected/.exec(out)?.slice(1).map(Number) ?? [];
      expect([accepted + duplicates, rejected]).toEqual([ROWS, 0]);
      // Whole blocks, or nothing: what was stored before the kill.
      const whole = Array.from({ length: BLOCKS + 1 }, (_, blocks) => blocks * LIMITS.usage_import_block);
      expect([...whole, ROWS]).toContain(duplicates);
      await serveHere(place.env, async (api) => {
        const { data } = await search(api, { external_subscription_ids: [name], aggregate: true });
        const total_usage = rows.reduce((sum, _, i) => sum + (i % 7), 0);
        expect(data).toMatchObject([{ event_count: ROWS, total_usage }]);
      });
      expect((await runHere(["doctor"], place.env)).code).toBe(0);
    }
  },
  ROUNDS * ROUND_MS,
);
