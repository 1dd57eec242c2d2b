import { expect, spyOn, test } from "bun:test";
import { Database } from "bun:sqlite";
import { eq } from "drizzle-orm";
import postgres from "postgres";
import { AppError } from "../../../src/core/errors.ts";
import { LIMITS } from "../../../src/billing/limits.ts";
import { billingRecordTable } from "../../../src/billing/records/tables.ts";
import { billingRunTable } from "../../../src/billing/runs/tables.ts";
import { billingModelTable } from "../../../src/billing/billing_models/tables.ts";
import { subscriptionTable } from "../../../src/billing/subscriptions/tables.ts";
import { exactlyOne } from "../../../src/store/exactly_one.ts";
import { interceptTotals, type Json } from "../../support/harness.ts";
import { type Company, FLAT, openBillingFixture, PACKAGE, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

const APRIL = "2024-04-01T01:00:00Z";
const MARCH = { started_at: "2024-03-01T00:00:00Z" };

async function openCompany(): Promise<Company> {
  billing.clock.set(APRIL);
  return billing.addCompany();
}

const sumOf = (runs: Json[], what: string): number => runs.reduce((all, run) => all + run.counts[what], 0);

/** The metric of subscriptions that can't be billed. */
async function failedBills(): Promise<number> {
  const { body } = await billing.service.deps.metrics.print();
  expect(body).toMatch(/^meterhouse_bills_due 0$/m);
  return Number(/^meterhouse_bills_failed (\d+)$/m.exec(body)?.[1]);
}

/** Makes the database refuse a subscription's bills. */
async function refuseBillsOf(subscription_id: number): Promise<void> {
  const { data_dir, database_url } = billing.service.deps.config;
  if (database_url === null) {
    const database = new Database(`${data_dir}/meterhouse.sqlite`);
    database.run(`CREATE TRIGGER refuse BEFORE INSERT ON billing_records
      WHEN NEW.subscription_id = ${subscription_id} BEGIN SELECT RAISE(ABORT, 'secret words'); END`);
    return database.close();
  }
  const database = postgres(database_url, { max: 1 });
  await database.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'secret words'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON billing_records FOR EACH ROW
    WHEN (NEW.subscription_id = ${subscription_id}) EXECUTE FUNCTION refuse()`);
  await database.end();
}

test("a model that can't be rated fails its subscriptions alone", async () => {
  const company = await openCompany();
  const model = await company.addModel(PACKAGE);
  const bad = await company.subscribe(model, { started_at: "2024-01-01T00:00:00Z" });
  const good = await company.subscribe(FLAT, MARCH);
  const { store } = billing.service.deps;
  const setSize = (package_size: string | null) =>
    store.tx(async (q) => {
      const billing_models = q.use(billingModelTable);
      await q.update(billing_models).set({ package_size }).where(eq(billing_models.id, model));
    });
  await setSize(null);
  const failed_before = await failedBills();
  const run = await company.run();
  expect(await failedBills()).toBe(failed_before + 1);
  expect(run.counts).toMatchObject({ subscriptions: 2, periods: 1, failed: 1 });
  expect(run.errors).toEqual([
    {
      subscription_id: bad,
      billingStartAt: "2024-01-01T00:00:00.000Z",
      message: `Cannot rate billing model ${model}: package without package_size`,
    },
  ]);
  expect(await company.records(good)).toHaveLength(1);
  expect((await company.api("GET", `/billing-runs/${run.id}`)).body.data.errors).toEqual(run.errors);

  await setSize("10");
  expect((await company.run()).counts).toMatchObject({ periods: 3, failed: 0 });
  expect(await failedBills()).toBe(failed_before);
});

test("a record that can't be compared with fails its subscription alone", async () => {
  const company = await openCompany();
  const bad = await company.subscribe(PER_UNIT, MARCH);
  const good = await company.subscribe(PER_UNIT, MARCH);
  const [line] = (await company.run()).records[0].lines;
  await billing.service.deps.store.tx(async (q) => {
    const billing_records = q.use(billingRecordTable);
    const lines = [{ ...line, usage_digest: "not a digest" }];
    await q.update(billing_records).set({ lines }).where(eq(billing_records.subscription_id, bad));
  });
  billing.clock.set("2024-04-02T00:00:00Z");
  for (const id of [bad, good]) await company.use(id, ["2024-03-05T00:00:00Z", "2"]);
  const run = await company.run({ period: "2024-03" });
  expect(run.counts).toMatchObject({ adjustments: 1, failed: 1 });
  expect(run.errors).toMatchObject([{ subscription_id: bad }]);
  expect(await company.records(good)).toHaveLength(2);
  expect(await company.records(bad)).toHaveLength(1);
});

test("a bill that the database refuses leaves the others of its batch billed", async () => {
  const company = await openCompany();
  // It has more months to fail in than a store may fail in a row.
  const bad = await company.subscribe(FLAT, { started_at: "2023-06-01T00:00:00Z" });
  const good: number[] = [];
  for (let i = 0; i < 8; i++) good.push(await company.subscribe(FLAT, MARCH));
  await refuseBillsOf(bad);
  const run = await company.run();
  expect(run.counts).toMatchObject({ subscriptions: 9, periods: 8, failed: 1 });
  expect(run.errors).toEqual([
    { subscription_id: bad, billingStartAt: "2023-06-01T00:00:00.000Z", message: "Internal error" },
  ]);
  for (const id of good) expect(await company.records(id)).toHaveLength(1);
  expect(await company.records(bad)).toEqual([]);
});

test("runs at once write one record, and one adjustment", async () => {
  const company = await openCompany();
  const ids = [await company.subscribe(PER_UNIT, MARCH), await company.subscribe(FLAT, MARCH)];
  const atOnce = () => Promise.all(Array.from({ length: 6 }, () => company.run({ period: "2024-03" })));

  const first = await atOnce();
  expect(sumOf(first, "periods")).toBe(2);
  expect(sumOf(first, "unchanged")).toBe(10);
  for (const id of ids) await company.use(id, ["2024-03-05T00:00:00Z", "4"]);
  billing.clock.set("2024-04-02T00:00:00Z");
  expect(sumOf(await atOnce(), "adjustments")).toBe(2);
  for (const id of ids) {
    expect((await company.records(id)).map((record) => record.kind)).toEqual(["period", "adjustment"]);
  }
});

test("a cancellation in the middle of a run is billed by, whole or not at all", async () => {
  const company = await openCompany();
  billing.clock.set("2024-03-31T23:00:00Z");
  const ids: number[] = [];
  for (let i = 0; i < 5; i++) ids.push(await company.subscribe(FLAT, MARCH));
  billing.clock.set(APRIL);
  await Promise.all([
    company.run(),
    ...ids.map((id) => company.api("POST", `/subscriptions/${id}/cancel`, { at: "now" })),
  ]);
  await company.run();
  for (const id of ids) expect((await company.records(id)).map((r) => r.totalCharges)).toEqual(["31.00"]);
});

test("a run whose process died is marked as interrupted by the next one", async () => {
  const company = await openCompany();
  const { store } = billing.service.deps;
  const running = (updated_at: string) =>
    store.tx(async (q) => {
      const counts = {
        subscriptions: 3,
        periods: 2,
        adjustments: 0,
        unchanged: 0,
        not_due: 0,
        failed: 0,
        late_unbilled: 0,
      };
      const run = { company_id: company.company_id, status: "running" as const, dry_run: false, counts };
      const stamps = { created_at: "2024-04-01T00:00:00.000Z", updated_at };
      const rows = await q
        .insert(q.use(billingRunTable))
        .values({ ...run, errors: [], ...stamps })
        .returning();
      return exactlyOne(rows).id;
    });
  const dead = await running("2024-04-01T00:44:59.999Z");
  const alive = await running("2024-04-01T00:45:00.000Z");
  await company.run();
  const statusOf = async (id: number) => (await company.api("GET", `/billing-runs/${id}`)).body.data.status;
  expect([await statusOf(dead), await statusOf(alive)]).toEqual(["interrupted", "running"]);
});

test("stores that fail again and again interrupt the run; the next one makes it good", async () => {
  const broken = await openBillingFixture();
  try {
    broken.clock.set(APRIL);
    const company = await broken.addCompany();
    for (let i = 0; i < 8; i++) await company.subscribe(FLAT, MARCH);
    // Stands before, not in place of, the store.
    broken.service.deps.usage.totals = () => Promise.reject(new Error("disk gone"));
    const { log } = broken.service.deps;
    const [warn, error] = [spyOn(log, "warn"), spyOn(log, "error")];
    const { status, body } = await company.api("POST", "/billing-runs", {});
    expect([status, body.data.status]).toEqual([200, "interrupted"]);
    expect(body.data.counts).toMatchObject({ periods: 0, failed: 5 });
    expect(body.data.errors[0]).toMatchObject({
      subscription_id: null,
      message: "Cannot go on billing: the stores failed 5 times in a row",
    });
    const run = { scope: { company_id: company.company_id }, billing_run_id: body.data.id, dry_run: false };
    expect(warn).toHaveBeenCalledWith(expect.objectContaining(run), "counting usage in smaller parts");
    expect(error).toHaveBeenCalledWith(expect.objectContaining(run), "billing run interrupted");
  } finally {
    await broken.service.stop();
  }
});

test("a run stops between batches when the process is about to end: what it billed is whole", async () => {
  const ending = await openBillingFixture();
  const { billing_run_wait_ms, billing_batch_records } = LIMITS;
  Object.assign(LIMITS, { billing_run_wait_ms: 0, billing_batch_records: 1 });
  try {
    ending.clock.set(APRIL);
    const company = await ending.addCompany();
    for (let i = 0; i < 40; i++) await company.subscribe(FLAT, MARCH);
    const begun = await company.api("POST", "/billing-runs", {});
    expect([begun.status, begun.body.data.status]).toEqual([202, "running"]);
    await Promise.all(ending.service.instances.map(({ background }) => background.stop()));

    const path = `/billing-runs/${begun.body.data.id}`;
    const { status, counts, errors } = (await company.api("GET", path)).body.data;
    expect([status, errors]).toEqual(["interrupted", []]);
    const { meta } = (await company.api("GET", "/billing-records")).body;
    expect(meta.total).toBe(counts.periods);
    expect(meta.total).toBeLessThan(40);

    Object.assign(LIMITS, { billing_run_wait_ms });
    const none = await company.api("POST", "/billing-runs", {});
    expect(none.body.data).toMatchObject({ status: "interrupted", counts: { subscriptions: 0 } });
  } finally {
    Object.assign(LIMITS, { billing_run_wait_ms, billing_batch_records });
    await ending.service.stop();
  }
});

test("a run counts subscriptions as it bills them, whatever it has in hand", async () => {
  const ending = await openBillingFixture();
  const { billing_batch_records, billing_pause_ms } = LIMITS;
  let pauses = 0;
  Object.assign(LIMITS, { billing_batch_records: 2 });
  // A pause follows what was read, and then each two records: the process ends after the fourth record.
  Object.defineProperty(LIMITS, "billing_pause_ms", {
    configurable: true,
    get() {
      if (++pauses === 3) void ending.service.deps.background.stop();
      return 0;
    },
  });
  try {
    ending.clock.set(APRIL);
    const company = await ending.addCompany();
    for (let i = 0; i < 10; i++) await company.subscribe(FLAT, MARCH);
    const { body } = await company.api("POST", "/billing-runs", {});
    expect(body.data).toMatchObject({ status: "interrupted", counts: { subscriptions: 4, periods: 4 } });
  } finally {
    Object.defineProperty(LIMITS, "billing_pause_ms", { value: billing_pause_ms, writable: true });
    Object.assign(LIMITS, { billing_batch_records });
    await ending.service.stop();
  }
});

test("what the usage store can't count at once is counted in smaller parts, and billed once", async () => {
  const company = await openCompany();
  const ids: number[] = [];
  for (let i = 0; i < 9; i++) ids.push(await company.subscribe(PER_UNIT, MARCH));
  for (const id of ids) await company.use(id, ["2024-03-05T00:00:00Z", "4"]);
  const answered: number[] = [];
  const end = interceptTotals(billing.service, async (count, company_id, windows, options) => {
    if (windows.length > 2) throw new AppError("unavailable", "Cannot query usage: it takes too long");
    answered.push(...windows.map(({ subscription_id }) => subscription_id));
    return count(company_id, windows, options);
  });
  billing.clock.set("2024-04-02T00:00:00Z");
  try {
    expect((await company.run()).counts).toMatchObject({ periods: 9, failed: 0 });
  } finally {
    end();
  }
  expect(answered.toSorted((a, b) => a - b)).toEqual(ids);
  for (const id of ids) expect((await company.records(id)).map((r) => r.totalCharges)).toEqual(["2.00"]);
});

test("facts that change while they are rated are rated again before anything is written", async () => {
  const company = await openCompany();
  const [steady, changed] = [await company.subscribe(FLAT, MARCH), await company.subscribe(FLAT, MARCH)];
  const { store } = billing.service.deps;
  let questions = 0;
  // The change comes after the facts were read.
  const end = interceptTotals(billing.service, async (count, ...question) => {
    questions += 1;
    const ends_at = "2024-03-10T12:00:00.000Z";
    await store.tx(async (q) => {
      const subscriptions = q.use(subscriptionTable);
      await q.update(subscriptions).set({ ends_at }).where(eq(subscriptions.id, changed));
    });
    return count(...question);
  });
  try {
    expect((await company.run()).counts).toMatchObject({ periods: 2, failed: 0 });
  } finally {
    end();
  }
  expect(questions).toBe(2);
  expect((await company.records(steady)).map((record) => record.totalCharges)).toEqual(["31.00"]);
  expect((await company.records(changed)).map((record) => record.totalCharges)).toEqual(["10.00"]);
});
