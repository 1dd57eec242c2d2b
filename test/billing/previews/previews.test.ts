import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { TABLES } from "../../../src/server/schema.ts";
import type { TableDefinition } from "../../../src/store/columns.ts";
import { type Json, TEST_STORE } from "../../support/harness.ts";
import { until } from "../../support/webhook_receiver.ts";
import { eventTable } from "../../../src/webhooks/events/tables.ts";
import { changeTo, makeDue } from "../billing_model_changes/fixtures.ts";
import { type Company, CREDIT, FLAT, useBilling } from "../fixtures.ts";
import { previewAndSend } from "./fixtures.ts";

const billing = useBilling();
const preview = ({ api }: Company, id: number, what: string, body: Json) =>
  api("POST", `/subscriptions/${id}/${what}/preview`, body);

/** Every row of every table, and of SQLite the bytes of its files, once the events of all changes are fanned out. */
async function everything(): Promise<string[]> {
  const { store, config } = billing.service.deps;
  await until(async () => {
    const events: Json[] = await store.read.select().from(store.read.use(eventTable));
    return events.every(({ fanned_out_at }) => fanned_out_at !== null);
  }, "all events to be fanned out");
  // Instances renew their lanes and say that they live whatever happens.
  const { usage_lanes: _, instances: __, ...others } = TABLES;
  const tables: TableDefinition<unknown>[] = Object.values(others);
  const rows: string[] = [];
  for (const table of tables) {
    const t: Json = store.read.use(table);
    rows.push(JSON.stringify(await store.read.select().from(t)));
  }
  if (TEST_STORE !== "sqlite") return rows;
  const files = readdirSync(config.data_dir).filter((name) => /\.(db|sqlite)(-wal)?$/.test(name));
  expect(files.length).toBeGreaterThan(0);
  return [...rows, ...files.map((name) => Bun.hash(readFileSync(join(config.data_dir, name))).toString())];
}

async function sellFlat() {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany();
  const flat = await company.addModel({ ...FLAT, name: "Flat" });
  const double = await company.addModel({ ...FLAT, name: "Double", price: 62 });
  const id = await company.subscribe(flat);
  return { company, flat, double, id };
}

test("a change in the running month: bills before and after, days of proration; nothing is written", async () => {
  const { company, flat, double, id } = await sellFlat();
  billing.clock.set("2026-03-02T02:00:00Z");
  await company.run();
  billing.clock.set("2026-03-20T00:00:00Z");
  const change = { new_billing_model_id: double, effective_at: "2026-03-15T12:00:00Z" };
  const before = await everything();
  const key = { "idempotency-key": "again" };
  const { status, body } = await company.api(
    "POST",
    `/subscriptions/${id}/billing-model-changes/preview`,
    change,
    key,
  );
  expect([status, await everything()]).toEqual([200, before]);
  const { bills, ...rest } = body.data;
  expect(rest).toEqual({
    subscription_id: id,
    kind: "change",
    at_once: true,
    old_billing_model_id: flat,
    new_billing_model_id: double,
    effective_at: "2026-03-15T12:00:00.000Z",
    currency: "EUR",
    days: { before: 14, after: 17, of: 31 },
    credits_added: null,
    cancelled_change_ids: [],
    records: [],
    records_total: "0.00",
  });
  expect(bills).toHaveLength(1);
  expect([bills[0].before.total, bills[0].after.total, bills[0].difference]).toEqual([
    "31.00",
    "48.00",
    "17.00",
  ]);
  await previewAndSend(company, id, "billing-model-changes", change);
});

test("a change back in time: the adjustments of closed months that it would write", async () => {
  const { company, double, id } = await sellFlat();
  billing.clock.set("2026-03-20T00:00:00Z");
  await company.run();
  const change = { new_billing_model_id: double, effective_at: "2026-01-17T00:00:00Z" };
  const before = await everything();
  const { data } = (await preview(company, id, "billing-model-changes", change)).body;
  expect(await everything()).toEqual(before);
  // 15 of January's 31 days, and all of February, at 62.00 in place of 31.00.
  expect(
    data.records.map((record: Json) => [record.kind, record.billingStartAt.slice(0, 7), record.totalCharges]),
  ).toEqual([
    ["adjustment", "2026-01", "15.00"],
    ["adjustment", "2026-02", "31.00"],
  ]);
  expect([data.records_total, data.bills[0].difference]).toEqual(["46.00", "31.00"]);
  expect(data.days).toEqual({ before: 16, after: 15, of: 31 });
  await previewAndSend(company, id, "billing-model-changes", change);
});

test("a change to come: the running month as it was, and the month in which it takes effect", async () => {
  const { company, double, id } = await sellFlat();
  billing.clock.set("2026-03-20T00:00:00Z");
  const change = { new_billing_model_id: double, effective_at: "2026-04-16T00:00:00Z" };
  const { data } = (await preview(company, id, "billing-model-changes", change)).body;
  expect(data.at_once).toBeFalse();
  expect(
    data.bills.map((bill: Json) => [bill.from.slice(0, 7), bill.before.total, bill.after.total]),
  ).toEqual([
    ["2026-03", "31.00", "31.00"],
    ["2026-04", "31.00", "46.50"],
  ]);
  await previewAndSend(company, id, "billing-model-changes", change);
  // With what is scheduled before it: half of April at 62.00, which a cancellation would take back.
  const cancel = (await preview(company, id, "cancel", { at: "period_end" })).body.data;
  expect(cancel).toMatchObject({
    kind: "cancel",
    effective_at: "2026-04-01T00:00:00.000Z",
    new_billing_model_id: null,
  });
  expect(cancel.cancelled_change_ids).toHaveLength(1);
  await previewAndSend(company, id, "cancel", { at: "period_end" });
});

test("upgrade, downgrade and cancellation of a credit plan", async () => {
  billing.clock.set("2026-03-01T00:00:00Z");
  const company = await billing.addCompany();
  const [small, large] = [
    await company.addModel(CREDIT),
    await company.addModel({
      ...CREDIT,
      price: 100,
      credit_plan: { ...CREDIT.credit_plan, monthly_credits: 1000 },
    }),
  ];
  const id = await company.subscribe(small);
  await company.use(id, ["2026-03-02T00:00:00Z", "300"]);
  billing.clock.set("2026-03-22T12:00:00Z");
  const up = (await preview(company, id, "upgrade", { new_billing_model_id: large })).body.data;
  // 900 × 10 / 31 = 290.3; the 200 used beyond the first 100 credits were overage before it.
  expect([up.credits_added, up.days]).toEqual([291, { before: 21, after: 10, of: 31 }]);
  expect((await preview(company, id, "downgrade", { new_billing_model_id: large })).status).toBe(422);
  await previewAndSend(company, id, "upgrade", { new_billing_model_id: large });
  billing.clock.set("2026-03-23T12:00:00Z");
  const down = (await preview(company, id, "downgrade", { new_billing_model_id: small })).body.data;
  expect(down).toMatchObject({ at_once: false, effective_at: "2026-04-01T00:00:00.000Z" });
  expect(down.bills.map((bill: Json) => bill.difference)).toEqual(["0.00", "-50.00"]);
  await previewAndSend(company, id, "downgrade", { new_billing_model_id: small });
  const end = (await preview(company, id, "cancel", { at: "now" })).body.data;
  expect([end.days, end.cancelled_change_ids.length]).toEqual([{ before: 23, after: 0, of: 31 }, 1]);
  await previewAndSend(company, id, "cancel", { at: "now" });
});

test("a fee in advance: what a cancellation pays back at once", async () => {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe({ ...FLAT, price: 365, fee_interval: "year", fee_timing: "in_advance" });
  billing.clock.set("2026-04-10T15:00:00Z");
  await company.run();
  const { data } = (await preview(company, id, "cancel", { at: "now" })).body;
  expect([data.records.length, data.records_total]).toEqual([1, "-265.00"]);
  await previewAndSend(company, id, "cancel", { at: "now" });
});

test("what is due counts as applied, and stays as it is", async () => {
  const { company, flat, double, id } = await sellFlat();
  billing.clock.set("2026-03-20T00:00:00Z");
  await company.run();
  const { body } = await changeTo(company.api, id, double, "2026-03-20T12:00:00Z");
  // Its time was long ago, and two months were billed without it.
  await makeDue(billing.service, body.data.id, "2026-01-17T00:00:00.000Z");
  const change = { new_billing_model_id: flat, effective_at: "2026-03-19T00:00:00Z" };
  const before = await everything();
  const { data } = (await preview(company, id, "billing-model-changes", change)).body;
  expect(await everything()).toEqual(before);
  expect([data.old_billing_model_id, data.records]).toEqual([double, []]);
  await previewAndSend(company, id, "billing-model-changes", change);
});

test("refusals are those of the request itself; nobody sees what another company would be billed", async () => {
  const { company, flat, double, id } = await sellFlat();
  const other = await billing.addCompany();
  const theirs = await other.addModel(FLAT);
  billing.clock.set("2026-03-20T00:00:00Z");
  const at = "2026-03-20T00:00:00Z";
  for (const body of [
    { new_billing_model_id: flat, effective_at: at },
    { new_billing_model_id: theirs, effective_at: at },
    { new_billing_model_id: double, effective_at: "2025-12-31T00:00:00Z" },
    { new_billing_model_id: double, effective_at: "2226-12-31T00:00:00Z" },
    { new_billing_model_id: double, effective_at: "soon" },
    { new_billing_model_id: double, effective_at: at, surprise: 1 },
    {},
  ])
    expect((await previewAndSend(company, id, "billing-model-changes", body)).status).toBe(422);
  expect((await previewAndSend(company, id, "upgrade", { new_billing_model_id: double })).status).toBe(422);
  expect((await previewAndSend(company, id, "cancel", { at: "later" })).status).toBe(422);
  await previewAndSend(company, id, "cancel", { at: "now" });
  expect((await previewAndSend(company, id, "cancel", { at: "now" })).status).toBe(409);
  const change = { new_billing_model_id: theirs, effective_at: at };
  expect((await preview(other, id, "billing-model-changes", change)).status).toBe(404);
  expect((await preview(other, id, "cancel", { at: "now" })).status).toBe(404);
});

test("analysts may preview; client users have no such path", async () => {
  const { company, double, id } = await sellFlat();
  const [analyst, client] = [
    await company.addUser("analyst"),
    await company.addUser("client", company.client_id),
  ];
  const change = { new_billing_model_id: double, effective_at: "2026-01-01T00:00:00Z" };
  const path = `/subscriptions/${id}/billing-model-changes`;
  expect((await analyst("POST", `${path}/preview`, change)).status).toBe(200);
  expect((await analyst("POST", path, change)).status).toBe(403);
  expect((await client("POST", `${path}/preview`, change)).status).toBe(403);
});
