import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { and, eq, getTableColumns, isNull } from "drizzle-orm";
import postgres from "postgres";
import { AppError } from "../../src/core/errors.ts";
import { billingModelTable } from "../../src/billing/billing_models/tables.ts";
import { insertClient, listClients } from "../../src/tenancy/clients/queries.ts";
import { insertCompany } from "../../src/tenancy/companies/queries.ts";
import { companyTable } from "../../src/tenancy/companies/tables.ts";
import { insertUser } from "../../src/access/users/queries.ts";
import { stamped } from "../../src/store/columns.ts";
import { CONSTRAINTS } from "../../src/server/schema.ts";
import { insertRow } from "../../src/store/insert_rows.ts";
import { matching } from "../../src/store/list_rows.ts";
import { openStore } from "../../src/store/open.ts";
import type { Queries, Store } from "../../src/store/store.ts";
import { TEST_STORE } from "../support/harness.ts";
import { endLockHolders, testPostgres } from "../support/postgres.ts";

const NOW = Temporal.Instant.from("2026-03-10T12:00:00.120Z");
/** What a billing model has where it uses no meters, charges or offers. */
const UNCHARGED = {
  meter_id: null,
  charges: [] as never[],
  commitment: null,
  setup_fee: "0",
  trial_days: 0,
  fee_interval: "month",
  fee_timing: "in_arrears",
  entitlements: [] as never[],
  plan_code: null,
  for_client_id: null,
  purpose: "price",
} as const;
const ALL = { limit: 1_000, offset: 0 };

let data_dir: string;
let store: Store;
let scope: { company_id: number };

beforeAll(async () => {
  data_dir = mkdtempSync(join(tmpdir(), "meterhouse-"));
  const database_url = TEST_STORE === "postgres" ? await (await testPostgres()).createDatabase() : null;
  store = await openStore({ database_url, data_dir }, CONSTRAINTS);
  const company = await store.tx((q) =>
    insertCompany(q, NOW, { name: "A", timezone: "UTC", currency: "USD" }),
  );
  scope = { company_id: company.id };
});
afterAll(async () => {
  await store.close();
  rmSync(data_dir, { recursive: true });
});

async function names(): Promise<string[]> {
  return (await listClients({ q: store.read, scope, now: Temporal.Now.instant() }, {}, ALL)).rows.map(
    ({ name }) => name,
  );
}

describe("columns", () => {
  test("keep instants, decimals, numbers, booleans and JSON as they were given", async () => {
    const model = {
      name: "m",
      billing_type_id: 3,
      price: 0.000001,
      currency: "USD",
      description: "",
      company_id: scope.company_id,
      recurring_fee: "123456789012345.100000000001",
      free_units: "17.00",
      usage_tiers: [{ up_to: "1", unit_price: "0.10", flat_fee: "0" }],
      package_size: null,
      minimum_charge: "-0.5",
      maximum_charge: null,
      charge_flat_on_zero: true,
      credit_plan: null,
      ...UNCHARGED,
      status: "active" as const,
      ...stamped(NOW),
    };
    const [written] = await store.tx((q) => q.insert(q.use(billingModelTable)).values(model).returning());
    expect(written).toEqual({ id: written?.id ?? 0, ...model });
    const [read] = await store.read.select().from(store.read.use(billingModelTable));
    expect(read).toEqual(written);
    expect(read?.created_at).toBe("2026-03-10T12:00:00.120Z");
  });

  test.each(["1970-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "2026-06-01T10:00:00.100Z"])(
    "an instant comes back as it went: %s",
    async (created_at) => {
      const companies = store.read.use(companyTable);
      const company = { name: "t", timezone: "UTC", currency: "USD", created_at, updated_at: created_at };
      const [written] = await store.tx((q) => q.insert(q.use(companyTable)).values(company).returning());
      const [read] = await store.read
        .select()
        .from(companies)
        .where(eq(companies.id, written?.id ?? 0));
      expect(read?.created_at).toBe(created_at);
    },
  );
});

describe("insertRow", () => {
  const model = {
    name: "one",
    billing_type_id: 3,
    price: 0.000001,
    currency: "USD",
    description: "",
    recurring_fee: "123456789012345.100000000001",
    free_units: "17.00",
    usage_tiers: [{ up_to: "1", unit_price: "0.10", flat_fee: "0" }],
    package_size: null,
    minimum_charge: "-0.5",
    maximum_charge: null,
    charge_flat_on_zero: false,
    credit_plan: null,
    ...UNCHARGED,
    status: "active" as const,
    ...stamped(NOW),
  };

  test("keeps values as they were given, nothing as null, and returns the columns asked for", async () => {
    const t = store.read.use(billingModelTable);
    const row = { ...model, company_id: scope.company_id };
    const written = await store.tx((q) => insertRow(q, t, row, getTableColumns(t)));
    expect(written).toEqual({ ...row, id: written.id });
    const [read] = await store.read.select().from(t).where(eq(t.id, written.id));
    expect(read).toEqual(written);
    const nulls = await store.read.$count(t, and(eq(t.id, written.id), isNull(t.credit_plan)));
    expect(nulls).toBe(1);
  });

  test("knows rows with other columns, and other columns asked for, apart", async () => {
    const t = store.read.use(billingModelTable);
    const { free_units: _, ...fewer } = model;
    const company_id = scope.company_id;
    const reversed = Object.fromEntries(Object.entries({ ...model, company_id, name: "two" }).toReversed());
    const [two, three, four] = await store.tx(async (q) => [
      await insertRow(q, t, reversed as unknown as typeof t.$inferInsert, {
        free_units: t.free_units,
        name: t.name,
      }),
      await insertRow(q, t, { ...model, company_id, name: "three" }, { name: t.name, label: t.free_units }),
      await insertRow(q, t, { ...fewer, free_units: "3", company_id, name: "four" }, { name: t.name }),
    ]);
    expect(two).toEqual({ free_units: "17.00", name: "two" });
    expect(three).toEqual({ name: "three", label: "17.00" });
    expect(four).toEqual({ name: "four" });
  });

  test("is undone with its transaction, and a handle that is over inserts nothing", async () => {
    const t = store.read.use(billingModelTable);
    const row = { ...model, company_id: scope.company_id, name: "leaked" };
    let leaked: Queries | undefined;
    await store
      .tx(async (q) => {
        leaked = q;
        await insertRow(q, t, row, { id: t.id });
        throw new Error("no");
      })
      .catch(() => undefined);
    const late = async () => leaked && (await insertRow(leaked, t, row, { id: t.id }));
    expect(late()).rejects.toThrow("this transaction is over");
    expect(await store.read.$count(t, eq(t.name, "leaked"))).toBe(0);
  });
});

describe("tx", () => {
  test("rolls everything back when the work throws, and the next one starts clean", async () => {
    const before = await names();
    const work = store.tx(async (q) => {
      await insertClient({ q, scope, now: NOW }, "gone");
      throw new Error("no");
    });
    expect(work).rejects.toThrow("no");
    await work.catch(() => undefined);
    expect(await names()).toEqual(before);
    await store.tx((q) => insertClient({ q, scope, now: NOW }, "kept"));
    expect(await names()).toEqual([...before, "kept"]);
  });

  test("is not seen by readers before it commits; a nested one joins it", async () => {
    await store.tx(async (q) => {
      await insertClient({ q, scope, now: NOW }, "outer");
      await store.tx((inner) => insertClient({ q: inner, scope, now: NOW }, "inner"));
      expect(
        (await listClients({ q, scope, now: Temporal.Now.instant() }, { search: "inner" }, ALL)).total,
      ).toBe(1);
      expect(await names()).not.toContain("outer");
    });
    expect(await names()).toContain("inner");
    await store
      .tx(async () => {
        await store.tx((inner) => insertClient({ q: inner, scope, now: NOW }, "with its outer"));
        throw new Error("no");
      })
      .catch(() => undefined);
    expect(await names()).not.toContain("with its outer");
  });

  test("many begun at once answer each with its own result; one that fails takes no other along", async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, (_, i) =>
        store.tx(async (q) => {
          const tx = { q, scope, now: NOW };
          const { id } = await insertClient(tx, `at once ${i}`);
          // A nested one belongs to its own outer one, whoever else is in the queue.
          await store.tx((inner) => insertClient({ ...tx, q: inner }, `nested ${i}`));
          if (i % 3 === 0) throw new Error(`no ${i}`);
          return id;
        }),
      ),
    );
    const { rows } = await listClients({ q: store.read, scope, now: NOW }, {}, ALL);
    const ids = new Map(rows.map(({ id, name }) => [name, id]));
    for (const [i, result] of results.entries()) {
      if (i % 3 === 0) expect(result).toMatchObject({ reason: { message: `no ${i}` } });
      else expect(result).toEqual({ status: "fulfilled", value: ids.get(`at once ${i}`) ?? 0 });
      expect([i, ids.has(`at once ${i}`), ids.has(`nested ${i}`)]).toEqual([i, i % 3 !== 0, i % 3 !== 0]);
    }
  });

  test("its own reads see what it answered with", async () => {
    const seen = Array.from({ length: 8 }, async (_, i) => {
      await store.tx((q) => insertClient({ q, scope, now: NOW }, `seen ${i}`));
      return (await names()).includes(`seen ${i}`);
    });
    expect(await Promise.all(seen)).toEqual(Array(8).fill(true));
  });

  test("a handle that outlives it throws", async () => {
    let leaked: Queries | undefined;
    await store.tx(async (q) => {
      leaked = q;
    });
    expect(() => leaked?.select()).toThrow("this transaction is over");
  });

  test("many at once that all conflict are all done, lose no update and do not deadlock with reads", async () => {
    const companies = store.read.use(companyTable);
    const mine = eq(companies.id, scope.company_id);
    await store.tx((q) => q.update(companies).set({ name: "0" }).where(mine).returning());
    const results = await Promise.allSettled(
      Array.from({ length: 36 }, (_, i) =>
        store.tx(async (q) => {
          const [row] = await q.select().from(companies).where(mine);
          await store.read.$count(companies);
          await Bun.sleep(store.dialect === "postgres" ? 60 : 1);
          await q
            .update(companies)
            .set({ name: String(Number(row?.name) + 1) })
            .where(mine)
            .returning();
          if (i % 6 === 0) throw new Error("no");
        }),
      ),
    );
    const committed = results.filter(({ status }) => status === "fulfilled").length;
    const [row] = await store.read.select().from(companies).where(mine);
    expect(Number(row?.name)).toBe(committed);
    expect(committed).toBe(30);
  });
});

test.skipIf(TEST_STORE !== "sqlite")(
  "another process that writes makes a transaction wait, and nobody else",
  async () => {
    const other = new Database(join(data_dir, "meterhouse.sqlite"));
    other.run("BEGIN IMMEDIATE");
    let is_done = false;
    const write = store
      .tx((q) => insertClient({ q, scope, now: NOW }, "after the other"))
      .finally(() => {
        is_done = true;
      });
    // The event loop turns, and reads are answered, while the write waits.
    for (let i = 0; i < 20; i++) await Bun.sleep(1);
    expect(await names()).not.toContain("after the other");
    expect(is_done).toBe(false);
    other.run("COMMIT");
    await write;
    expect(await names()).toContain("after the other");
    other.close();
  },
);

describe("broken constraints", () => {
  const user = {
    email: "a@example.com",
    name: null,
    role: "admin" as const,
    client_id: null,
    password_hash: "x",
  };

  test("a unique index is the error that its table names", async () => {
    await store.tx((q) => insertUser({ q, scope, now: NOW }, user));
    const error = await store.tx((q) => insertUser({ q, scope, now: NOW }, user)).catch((caught) => caught);
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ kind: "invalid", details: [{ path: "/email" }] });
  });

  test("a reference to nothing is a conflict", async () => {
    const error = await store
      .tx((q) => insertClient({ q, scope: { company_id: 999_999 }, now: NOW }, "x"))
      .catch((caught) => caught);
    expect(error).toMatchObject({ kind: "conflict" });
  });
});

describe("matching", () => {
  test("narrows by what is given, and by nothing else", async () => {
    await store.tx((q) => insertCompany(q, NOW, { name: "Narrow", timezone: "UTC", currency: "USD" }));
    const t = store.read.use(companyTable);
    const count = (values: { name?: string; currency?: string | undefined }) =>
      store.read.$count(t, matching(t, values)).then(Number);
    expect([await count({ name: "Narrow" }), await count({ name: "Narrow", currency: undefined })]).toEqual([
      1, 1,
    ]);
    expect(await count({ name: "Narrow", currency: "MYR" })).toBe(0);
  });

  test("refuses a filter that is no column, instead of dropping it", () => {
    const values = { name: "A", client_id: 7 };
    expect(() => matching(store.read.use(companyTable), values)).toThrow(
      "Cannot filter companies by client_id: it has no such column",
    );
  });
});

describe("a lock", () => {
  test("is one holder's at a time, and free again when it is released", async () => {
    const first = await store.lock("a");
    expect([await store.lock("a"), await store.lock("a")]).toEqual([null, null]);
    const other = await store.lock("b");
    await first?.release();
    const again = await store.lock("a");
    expect([first, other, again].includes(null)).toBe(false);
    expect(await store.lock("a")).toBeNull();
    await other?.release();
    await again?.release();
  });

  test("goes to one of many who ask at once", async () => {
    const asked = await Promise.all(Array.from({ length: 10 }, () => store.lock("race")));
    const taken = asked.filter((lock) => lock !== null);
    expect(taken).toHaveLength(1);
    await taken[0]?.release();
  });

  test.skipIf(TEST_STORE !== "postgres")("is another process's too, until that ends", async () => {
    const database_url = await (await testPostgres()).createDatabase();
    const [here, there] = await Promise.all(
      [1, 2].map(() => openStore({ database_url, data_dir }, CONSTRAINTS)),
    );
    if (!here || !there) throw new Error("not opened");
    const held = await there.lock("a");
    expect([held === null, await here.lock("a")]).toEqual([false, null]);
    await held?.release();
    const own = await here.lock("a");
    expect(await there.lock("a")).toBeNull();
    await own?.release();
    expect(await there.lock("a")).not.toBeNull();
    await there.close();
    const left = await here.lock("a");
    expect(left).not.toBeNull();
    await here.close();
  });

  test.skipIf(TEST_STORE !== "postgres")(
    "that the database let go is told of, and another's then",
    async () => {
      const database_url = await (await testPostgres()).createDatabase();
      const [here, there] = await Promise.all(
        [1, 2].map(() => openStore({ database_url, data_dir }, CONSTRAINTS)),
      );
      if (!here || !there) throw new Error("not opened");
      const { promise: lost, resolve } = Promise.withResolvers<void>();
      const lock = await here.lock("a", resolve);
      const admin = postgres(database_url, { max: 1 });
      await endLockHolders(admin);
      await lost;
      const taken = await there.lock("a");
      expect(taken).not.toBeNull();
      // The one that lost it has it no more, and does not give up another's.
      await lock?.release();
      expect(await here.lock("a")).toBeNull();
      await taken?.release();
      expect(await here.lock("a")).not.toBeNull();
      await Promise.all([admin.end(), here.close(), there.close()]);
    },
  );
});
