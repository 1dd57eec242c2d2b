import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { CONSTRAINTS } from "../../src/server/schema.ts";
import { copyRows } from "../../src/store/copy_rows.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { usageLaneTable } from "../../src/usage/lanes/tables.ts";
import { TEST_STORE } from "../support/harness.ts";
import { testPostgres } from "../support/postgres.ts";
import { copyMigrated } from "../support/sqlite.ts";

const ROW = {
  closed_epoch: 3,
  owner_id: null,
  owner_url: "http://10.0.0.1:3000",
  expires_at: "2026-03-04T05:06:07.089Z",
  wanted_by: "é",
  least_epoch: 0,
};

describe.skipIf(TEST_STORE !== "postgres")("rows copied to PostgreSQL", () => {
  let source: Store;
  let target: Store;
  let admin: postgres.Sql;
  const lanes = (store: Store) => {
    const t = store.read.use(usageLaneTable);
    return store.read.select().from(t).orderBy(t.lane);
  };
  const copy = () => target.tx((q) => copyRows(source.read, q, [usageLaneTable]));
  const refusal = () => copy().then(() => "copied", String);

  beforeEach(async () => {
    const path = join(mkdtempSync(join(tmpdir(), "meterhouse-")), "meterhouse.sqlite");
    await copyMigrated(path);
    source = await openSqlite(path, CONSTRAINTS);
    const url = await (await testPostgres()).createMigrated();
    target = await openPostgres(url, CONSTRAINTS);
    admin = postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined });
    // Over a page, and the first key is 0.
    const rows = Array.from({ length: 1_100 }, (_, lane) => ({ ...ROW, lane, epoch: lane * 2 }));
    await source.tx(async (q) => void (await q.insert(q.use(usageLaneTable)).values(rows)));
  });
  afterEach(() => Promise.all([source.close(), target.close(), admin.end()]));

  test("are all there, as they were", async () => {
    await copy();
    expect(await lanes(target)).toEqual(await lanes(source));
    expect(await lanes(target)).toHaveLength(1_100);
  });

  test("none of them, where one is stored otherwise", async () => {
    await admin.unsafe(`
      CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF NEW.lane = 777 THEN NEW.wanted_by := 'e'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER other BEFORE INSERT ON usage_lanes FOR EACH ROW EXECUTE FUNCTION other()`);
    expect(await refusal()).toBe("Error: Cannot copy usage_lanes: its wanted_by is stored as another one");
    expect(await lanes(target)).toEqual([]);
  });

  test("none of them, where there are more", async () => {
    await admin`
      INSERT INTO usage_lanes (lane, epoch, closed_epoch, expires_at, least_epoch) VALUES (2000, 0, 0, now(), 0)`;
    expect(await refusal()).toBe("Error: Cannot copy usage_lanes: of its 1100 rows 1101 were copied");
    expect(await lanes(target)).toHaveLength(1);
  });
});
