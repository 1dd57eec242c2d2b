import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { and, asc, count, desc, eq, getTableColumns, gt, inArray, isNull, like, or, sql } from "drizzle-orm";
import * as fc from "fast-check";
import { billingModelTable } from "../../src/billing/billing_models/tables.ts";
import { CONSTRAINTS } from "../../src/server/schema.ts";
import { stamped } from "../../src/store/columns.ts";
import { idIn, textIn } from "../../src/store/expressions.ts";
import { LIMITS } from "../../src/store/limits.ts";
import { listRows } from "../../src/store/list_rows.ts";
import { openStore } from "../../src/store/open.ts";
import { countRows, selectRows } from "../../src/store/select_rows.ts";
import type { Queries, Reads, Store } from "../../src/store/store.ts";
import { changeRows } from "../../src/store/update_rows.ts";
import { insertCompany } from "../../src/tenancy/companies/queries.ts";
import { companyTable } from "../../src/tenancy/companies/tables.ts";
import { TEST_STORE } from "../support/harness.ts";
import { testPostgres } from "../support/postgres.ts";

const NOW = Temporal.Instant.from("2026-03-10T12:00:00.120Z");

let data_dir: string;
let store: Store;
let company_id: number;

beforeAll(async () => {
  data_dir = mkdtempSync(join(tmpdir(), "meterhouse-"));
  const database_url = TEST_STORE === "postgres" ? await (await testPostgres()).createDatabase() : null;
  store = await openStore({ database_url, data_dir }, CONSTRAINTS);
  await store.tx(async (q) => {
    const company = await insertCompany(q, NOW, { name: "A", timezone: "UTC", currency: "USD" });
    company_id = company.id;
    await q.insert(q.use(billingModelTable)).values(Array.from({ length: 9 }, (_, i) => modelOf(i)));
  });
});
afterAll(async () => {
  await store.close();
  rmSync(data_dir, { recursive: true });
});

/** Every kind of column, with and without a value. */
function modelOf(i: number) {
  const tier = { up_to: null, unit_price: `0.${i}0`, flat_fee: "0" };
  return {
    name: `m${i % 4}`,
    billing_type_id: 1 + (i % 3),
    price: i / 8,
    currency: "USD",
    description: "",
    company_id,
    recurring_fee: `${i}.50`,
    free_units: "17.00",
    usage_tiers: i % 2 === 0 ? [] : [tier],
    package_size: i % 3 === 0 ? null : `${i}`,
    minimum_charge: null,
    maximum_charge: null,
    charge_flat_on_zero: i % 2 === 0,
    credit_plan: null,
    status: i % 3 === 0 ? ("archived" as const) : ("active" as const),
    ...stamped(NOW),
  };
}

const columnsOf = (q: Reads) => getTableColumns(q.use(billingModelTable));

describe("selectRows", () => {
  test("finds what the query builder finds, whatever the conditions and their values", async () => {
    const q = store.read;
    const t = q.use(billingModelTable);
    const whole = fc.integer({ min: 0, max: 10 });
    const text = fc.constantFrom("m0", "m1", "m2", "?", "\n?\n", "billing_models.id");
    const condition = fc.oneof(
      whole.map((id) => eq(t.id, id)),
      whole.map((id) => gt(t.id, id)),
      text.map((name) => eq(t.name, name)),
      text.map((part) => like(t.name, `%${part}%`)),
      fc.boolean().map((on) => eq(t.charge_flat_on_zero, on)),
      fc.constantFrom("0.50", "1.5", "17.00").map((fee) => eq(t.recurring_fee, fee)),
      whole.map((price) => eq(t.price, price / 8)),
      fc.array(whole, { maxLength: 12 }).map((ids) => inArray(t.id, ids)),
      fc.array(whole, { maxLength: 4 }).map((ids) => idIn(t.id, ids)),
      fc.array(text, { maxLength: 4 }).map((names) => textIn(t.name, names)),
      fc.constant(isNull(t.package_size)),
      fc.constant(undefined),
      whole.map((id) => inArray(t.id, q.select({ id: t.id }).from(t).where(gt(t.id, id)))),
    );
    const where = fc.array(condition, { maxLength: 3 }).map((all) => and(...all, or(...all.slice(1))));
    const order = fc.constantFrom([asc(t.id)], [desc(t.id)], [desc(t.name), asc(t.id)]);
    const limit = fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined });
    const query = fc.record({ where, order, limit, offset: fc.integer({ min: 0, max: 3 }) });
    const property = fc.asyncProperty(query, async (one) => {
      const page = one.limit === undefined ? {} : { limit: one.limit, offset: one.offset };
      const found = await selectRows(q, t, {
        columns: columnsOf(q),
        where: one.where,
        order: one.order,
        ...page,
      });
      const builder = q
        .select()
        .from(t)
        .where(one.where)
        .orderBy(...one.order)
        .$dynamic();
      if (one.limit !== undefined) void builder.limit(one.limit).offset(one.offset);
      expect(found).toEqual(await builder);
      expect(await countRows(q, t, one.where)).toBe(await q.$count(t, one.where).then(Number));
    });
    await fc.assert(property, { numRuns: 300 });
  });

  test("gives a group of columns as an object, and SQL by its decoder", async () => {
    const q = store.read;
    const t = q.use(billingModelTable);
    const companies = q.use(companyTable);
    const [row] = await selectRows(q, t, {
      columns: {
        id: t.id,
        company: { id: companies.id, place: { zone: companies.timezone } },
        twice: sql<number>`${t.billing_type_id} * ${2}`.mapWith(Number),
        plan: t.credit_plan,
      },
      joins: [[companies, eq(companies.id, t.company_id)]],
      where: eq(t.name, "m1"),
      order: asc(t.id),
    });
    expect(row).toEqual({ id: 2, company: { id: company_id, place: { zone: "UTC" } }, twice: 4, plan: null });
    expect(await selectRows(q, t, { columns: { all: count() } })).toEqual([{ all: 9 }]);
  });

  test("gives null for the columns of a table in which nothing fits, where it is joined so", async () => {
    const q = store.read;
    const t = q.use(billingModelTable);
    const companies = q.use(companyTable);
    const rows = await selectRows(q, t, {
      columns: { id: t.id, zone: companies.timezone },
      left_joins: [[companies, and(eq(companies.id, t.company_id), eq(t.id, 1))]],
      where: inArray(t.id, [1, 2]),
      order: asc(t.id),
    });
    expect(rows).toEqual([
      { id: 1, zone: "UTC" },
      { id: 2, zone: null as unknown as string },
    ]);
  });

  test("reads rows anew each time: after a change, and before it is committed", async () => {
    const t = store.read.use(billingModelTable);
    const named = (q: Reads, name: string) =>
      selectRows(q, t, { columns: { id: t.id, name: t.name }, where: eq(t.name, name) });
    expect(await named(store.read, "renamed")).toEqual([]);
    await store.tx(async (q) => {
      await q.update(t).set({ name: "renamed" }).where(eq(t.id, 9));
      expect(await named(q, "renamed")).toEqual([{ id: 9, name: "renamed" }]);
      expect(await named(store.read, "renamed")).toEqual([]);
    });
    expect(await named(store.read, "renamed")).toEqual([{ id: 9, name: "renamed" }]);
    await store.tx((q) => q.update(t).set({ name: "m0" }).where(eq(t.id, 9)));
    expect(await named(store.read, "renamed")).toEqual([]);
  });

  test("throws after its transaction", async () => {
    const t = store.read.use(billingModelTable);
    const leaked = await store.tx(async (q) => {
      await countRows(q, t, undefined);
      return { q };
    });
    expect(countRows(leaked.q, t, undefined)).rejects.toThrow("this transaction is over");
  });

  test("tells queries apart by more structures than it keeps", async () => {
    const q = store.read;
    const t = q.use(billingModelTable);
    const twice = LIMITS.query_texts * 2;
    for (let i = 0; i < twice; i++) {
      const where = sql`${t.id} = ${3} AND ${sql.raw(String(i))} < ${LIMITS.query_texts}`;
      expect(await countRows(q, t, where)).toBe(i < LIMITS.query_texts ? 1 : 0);
    }
    expect(await countRows(q, t, sql`${t.id} = ${3} AND ${sql.raw("0")} < ${1}`)).toBe(1);
  });
});

describe("listRows", () => {
  test.each([
    [{ limit: 4, offset: 0 }, 4],
    [{ limit: 4, offset: 8 }, 1],
    [{ limit: 9, offset: 0 }, 9],
    [{ limit: 10, offset: 0 }, 9],
    [{ limit: 3, offset: 9 }, 0],
    [{ limit: 3, offset: 100 }, 0],
  ])("counts all rows, whichever page is asked for: %o", async (slice, found) => {
    const q = store.read;
    const t = q.use(billingModelTable);
    const list = await listRows(q, t, { columns: { id: t.id }, where: undefined, order: asc(t.id), slice });
    expect([list.rows.length, list.total]).toEqual([found, 9]);
    const none = { columns: { id: t.id }, where: eq(t.id, 0), order: asc(t.id), slice };
    expect(await listRows(q, t, none)).toEqual({ rows: [], total: 0 });
  });
});

const TIERS = [{ up_to: null, unit_price: "1", flat_fee: "0" }];

describe("changeRows", () => {
  class Undone extends Error {}

  test("changes and returns what the query builder does, whatever the values", async () => {
    const t = store.read.use(billingModelTable);
    const name = fc.constantFrom("m0", "m1", "?", "\n?\n", "billing_models.name");
    const set = fc.record(
      {
        name,
        charge_flat_on_zero: fc.boolean(),
        recurring_fee: fc.constantFrom("0.50", "17.00"),
        package_size: fc.constantFrom(null, "5"),
        usage_tiers: fc.constant(TIERS),
        billing_type_id: fc.constantFrom(2, sql`${t.billing_type_id} + ${1}`),
        status: fc.constantFrom("active" as const, "archived" as const),
      },
      { requiredKeys: ["name"] },
    );
    const id = fc.integer({ min: 0, max: 10 });
    const condition = fc.oneof(
      id.map((one) => eq(t.id, one)),
      name.map((one) => eq(t.name, one)),
      fc.array(id, { maxLength: 12 }).map((ids) => inArray(t.id, ids)),
      fc.array(id, { maxLength: 12 }).map((ids) => idIn(t.id, ids)),
      fc.constant(undefined),
    );
    /** Runs it in a transaction that is undone. */
    const tried = async <T>(work: (q: Queries) => Promise<T>): Promise<T> => {
      let result: T | undefined;
      const undone = await store
        .tx(async (q) => {
          result = await work(q);
          throw new Undone();
        })
        .catch((error: unknown) => error);
      expect(undone).toBeInstanceOf(Undone);
      return result as T;
    };
    const all = (q: Reads) => selectRows(q, t, { columns: columnsOf(q), order: asc(t.id) });
    const byId = <R extends { id: number }>(rows: R[]) => rows.toSorted((a, b) => a.id - b.id);
    const property = fc.asyncProperty(set, condition, async (values, where) => {
      const returning = columnsOf(store.read);
      const changed = await tried(async (q) => ({
        returned: byId(await changeRows(q, t, { set: values, where, returning })),
        rows: await all(q),
      }));
      const built = await tried(async (q) => ({
        returned: byId(await q.update(t).set(values).where(where).returning()),
        rows: await all(q),
      }));
      expect(changed).toEqual(built);
    });
    await fc.assert(property, { numRuns: 200 });
  });
});
