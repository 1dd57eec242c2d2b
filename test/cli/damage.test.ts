import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkRecords } from "../../src/server/check_records.ts";
import { openLog } from "../../src/core/log.ts";
import { readMetrics, startService } from "../support/harness.ts";
import { flipBit } from "../support/flip_bits.ts";
import { makePreparedFolder, run } from "../support/process.ts";

const IS_POSTGRES = process.env.TEST_STORE === "postgres";

// Decision 0199.
test("a start that meets damage ends with 78 and names the way out, whichever file it is", async () => {
  const place = await makePreparedFolder();
  const names = IS_POSTGRES ? ["usage.duckdb"] : ["usage.duckdb", "meterhouse.sqlite"];
  for (const name of names) {
    const path = join(place.data_dir, name);
    const good = readFileSync(path);
    // The first bytes of either say what kind of file it is.
    writeFileSync(path, flipBit(good, name === "usage.duckdb" ? 8 : 3, 1));
    const { code, err } = await run(["serve"], { ...place.env, LOG_LEVEL: "fatal" });
    expect([name, code]).toEqual([name, 78]);
    expect(err).toContain(`${path} is damaged`);
    expect(err).toContain("restore POINT --to DIR");
    writeFileSync(path, good);
  }
  place.remove();
});

test("the nightly check finds nothing in a good database; damage is counted, and fails the job", async () => {
  const service = await startService();
  const { store } = service.deps;
  const log = openLog("silent");
  await checkRecords({ store, log });
  const damaged = checkRecords({ store: { ...store, check: async () => ["Tree 4 page 4: bad"] }, log });
  expect(await damaged.catch(({ kind, cause }) => [kind, cause.message])).toEqual([
    "unavailable",
    "Tree 4 page 4: bad",
  ]);
  expect((await readMetrics(service)).body).toMatch(/meterhouse_damage_met_total\{store="records"\} [1-9]/);
  await service.stop();
});
