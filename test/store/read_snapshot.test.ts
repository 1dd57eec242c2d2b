import { afterAll, beforeAll, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { and, asc, eq } from "drizzle-orm";
import { CONSTRAINTS } from "../../src/server/schema.ts";
import { openStore } from "../../src/store/open.ts";
import { ReadSnapshot } from "../../src/store/read_snapshot.ts";
import { countRows } from "../../src/store/select_rows.ts";
import type { Reads, Store } from "../../src/store/store.ts";
import { companyTable } from "../../src/tenancy/companies/tables.ts";
import { insertCompany } from "../../src/tenancy/companies/queries.ts";

const NOW = Temporal.Instant.from("2026-03-10T12:00:00.120Z");
const COMPANY = { name: "A", timezone: "UTC", currency: "USD" } as const;

let data_dir: string;
let store: Store;

beforeAll(async () => {
  data_dir = mkdtempSync(join(tmpdir(), "meterhouse-"));
  store = await openStore({ database_url: null, data_dir }, CONSTRAINTS);
});
afterAll(async () => {
  await store.close();
  rmSync(data_dir, { recursive: true });
});

const count = (q: Reads) => countRows(q, q.use(companyTable), undefined);

test("a read sees a commit of this process, though one before it in the same turn did not", async () => {
  const before = await count(store.read);
  for (const added of [1, 2, 3]) {
    const seen: number[] = [];
    await store.tx(async (q) => {
      await insertCompany(q, NOW, COMPANY);
      seen.push(await count(store.read));
    });
    seen.push(await count(store.read), await count(store.read_at_once));
    expect(seen).toEqual([before + added - 1, before + added, before + added]);
  }
});

test("what was committed elsewhere before a request arrived is seen, and a checkpoint is not held up", async () => {
  const other = new Database(join(data_dir, "meterhouse.sqlite"));
  for (let i = 0; i < 20; i++) {
    const before = await count(store.read);
    const arrival = new Promise<number>((resolve) => {
      setTimeout(() => {
        resolve(count(store.read));
      }, 1);
    });
    setImmediate(() => {
      other.run("UPDATE companies SET name = name || '.'");
      other.run(
        "INSERT INTO companies (name, timezone, currency, created_at, updated_at) VALUES ('B', 'UTC', 'USD', '', '')",
      );
    });
    expect(await arrival).toBe(before + 1);
  }
  const [checkpoint] = other.query<{ busy: number }, []>("PRAGMA wal_checkpoint(TRUNCATE)").all();
  expect(checkpoint?.busy).toBe(0);
  other.close();
});

test("one that SQLite has ended by itself, as it does when the disk fails, is followed by another", () => {
  const connection = new Database(":memory:");
  const snapshot = new ReadSnapshot(connection);
  for (const _ of [1, 2]) {
    snapshot.begin();
    expect(connection.inTransaction).toBe(true);
    connection.run("ROLLBACK");
    snapshot.end();
  }
  snapshot.begin();
  snapshot.end();
  expect(connection.inTransaction).toBe(false);
  connection.close();
});

test("SQLite plans no statement by a number in it, and may by a text", () => {
  const q = store.read;
  const t = q.use(companyTable);
  const where = and(eq(t.id, 7), eq(t.name, "A"));
  const { sql, params } = q.select({ id: t.id }).from(t).where(where).orderBy(asc(t.id)).limit(5).toSQL();
  expect(sql).toEndWith(
    `where ("companies"."id" = +? and "companies"."name" = ?) order by "companies"."id" asc limit +?`,
  );
  expect(params).toEqual([7, "A", 5]);
});
