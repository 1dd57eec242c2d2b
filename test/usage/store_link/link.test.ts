import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLog } from "../../../src/core/log.ts";
import { systemClock } from "../../../src/core/time.ts";
import { companyTable } from "../../../src/tenancy/companies/tables.ts";
import { LinkedUsage } from "../../../src/usage/store_link/link.ts";
import { findLink } from "../../../src/usage/store_link/queries.ts";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { CONSTRAINTS } from "../../../src/server/schema.ts";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { TEST_STORE } from "../../support/harness.ts";
import { testPostgres } from "../../support/postgres.ts";
import { modelEvent } from "../../usage_store/arbitrary_events.ts";

let data_dir: string;
let store: Store;

beforeAll(async () => {
  data_dir = mkdtempSync(join(tmpdir(), "meterhouse-"));
  const database_url = TEST_STORE === "postgres" ? await (await testPostgres()).createDatabase() : null;
  store = await openStore({ database_url, data_dir }, CONSTRAINTS);
  const companies = store.read.use(companyTable);
  const at = "2026-01-01T00:00:00.000Z" as const;
  await store.tx((q) =>
    q
      .insert(companies)
      .values({ name: "A", timezone: "UTC", currency: "EUR", created_at: at, updated_at: at }),
  );
});
afterAll(async () => {
  await store.close();
  rmSync(data_dir, { recursive: true });
});

function open(on: Store = store): Promise<LinkedUsage> {
  const path = join(data_dir, "usage.duckdb");
  return LinkedUsage.open({
    store: on,
    clock: systemClock,
    log: openLog("silent"),
    place: "here",
    is_there: existsSync(path),
    accepts: false,
    open: (admit) => openDuckDb({ path, admit }),
  });
}

/** A store whose writes fail from one on, as if the process ended there. */
function endingAt(write: number): Store {
  let writes = 0;
  return {
    ...store,
    tx: (work) => (++writes < write ? store.tx(work) : Promise.reject(new Error("the end"))),
  };
}

test("a start that ends before any of its writes leaves one that may be made again", async () => {
  for (let round = 0; round < 3; round++) {
    for (let write = 1; write <= 3; write++) {
      const ended = await open(endingAt(write)).then(
        async (linked) => linked.close(),
        (error: Error) => error.message,
      );
      expect(ended).toBe(write <= 2 ? "the end" : undefined);
    }
    const linked = await open();
    await linked.usage.append(1, [], Date.now());
    await linked.close();
  }
});

test("how far the store has got is noted when it closes, and no later than that known", async () => {
  const linked = await open();
  const before = (await findLink(store.read))?.last_seq ?? 0;
  expect(before).toBe(await linked.usage.lastSeq(1, 5_000));
  await linked.usage.append(1, [modelEvent({ subscription_id: 1 })], Date.now()).catch(() => undefined);
  expect((await findLink(store.read))?.last_seq).toBe(before);
  await linked.close();
  expect((await findLink(store.read))?.last_seq).toBe(before + 1);
});
