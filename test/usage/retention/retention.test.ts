import { type Json, readMetrics } from "../../support/harness.ts";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { eq } from "drizzle-orm";
import { openTarget } from "../../../src/backup/open_target.ts";
import { openPoint } from "../../../src/backup/restore/point.ts";
import { restorePoint } from "../../../src/backup/restore/restore.ts";
import { verifyPoint } from "../../../src/backup/verify/verify.ts";
import { backUp } from "../../../src/server/backups.ts";
import { restoreNeeds } from "../../../src/server/restore_needs.ts";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import type { UsageStore } from "../../../src/usage_store/port.ts";
import { call } from "../../../src/app/operation.ts";
import { proveBills } from "../../../src/billing/proof/service.ts";
import { billingRecordTable } from "../../../src/billing/records/tables.ts";
import { listHeld, listStopped } from "../../../src/usage/retention/queries.ts";
import { sinceAt } from "../../../src/usage/retention/rules.ts";
import { usageRetentionTable } from "../../../src/usage/retention/tables.ts";
import { changeTo } from "../../billing/billing_model_changes/fixtures.ts";
import {
  type BillingFixture,
  type Company,
  FLAT,
  openBillingFixture,
  PER_UNIT,
} from "../../billing/fixtures.ts";
import { runNamedJob } from "../../support/jobs.ts";

const folder = mkdtempSync(join(tmpdir(), "retention-"));
const SIGN_IN = ({ admin_email: email }: Company) => ({ email, password: "correct horse battery" });
let billing: BillingFixture;
/** One has a zone by half an hour off. */
let companies: Company[];
let subscriptions: number[];

beforeAll(async () => {
  billing = await openBillingFixture({
    USAGE_RETENTION_MONTHS: "13",
    BACKUP_URL: `file://${folder}/backups`,
  });
  billing.clock.set("2025-01-01T00:00:00Z");
  companies = [
    await billing.addCompany({ timezone: "Europe/Berlin" }),
    await billing.addCompany({ timezone: "Asia/Kolkata" }),
  ];
  subscriptions = [];
  for (const company of companies) subscriptions.push(await company.subscribe(PER_UNIT));
  for (const month of ["2025-01", "2025-02", "2025-03"]) {
    for (const [i, company] of companies.entries()) {
      await company.use(
        subscriptions[i] ?? 0,
        [`${month}-05T10:00:00Z`, "7.5"],
        [`${month}-20T11:30:00Z`, "2"],
      );
    }
    billing.clock.set(
      Temporal.Instant.from(`${month}-02T00:00:00Z`)
        .add({ hours: 24 * 32 })
        .toString(),
    );
    for (const company of companies) await company.run();
  }
  billing.clock.set("2026-03-10T00:00:00Z");
  for (const company of companies) await company.run();
});
afterAll(async () => {
  await billing.service.stop();
  rmSync(folder, { recursive: true });
});

async function setClock(time: string): Promise<void> {
  billing.clock.set(time);
  for (const company of companies) await company.run();
}

const recordsOf = () => Promise.all(companies.map((company, i) => company.records(subscriptions[i] ?? 0)));

const eventsOf = ({ company_id }: Company) =>
  billing.service.deps.usage.check(company_id, 10_000).then(({ events }) => events);

const search = async ({ api }: Company, body: object) => api("POST", "/usage/search", body);

const ms = (time: string) => Temporal.Instant.from(time).epochMilliseconds;

/** A block of one row, as programs send it. */
async function parquet(row: (string | null)[]): Promise<Uint8Array> {
  const path = join(folder, "block.parquet");
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const values = row.map((text) => (text === null ? "NULL::VARCHAR" : `'${text}'`)).join(", ");
  await connection.run(`COPY (SELECT * FROM (VALUES (${values}))
    AS rows (id, external_subscription_id, timestamp, usage, metadata)) TO '${path}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
  return Bun.file(path).bytes();
}

function prove(company_id: number) {
  const origin = { actor: { kind: "operator" }, origin: "cli", request_id: "test", address: null } as const;
  return call(billing.service.deps.openContext(origin), proveBills, { company_id });
}

test("the line is the start of a local month, at a whole hour of UTC", () => {
  const at = (time: string, zone: string, months = 13) =>
    new Date(sinceAt(Temporal.Instant.from(time), zone, months)).toISOString();
  expect(at("2026-03-10T00:00:00Z", "Europe/Berlin")).toBe("2025-01-31T23:00:00.000Z");
  expect(at("2026-03-10T00:00:00Z", "Asia/Kolkata")).toBe("2025-01-31T18:00:00.000Z");
  expect(at("2026-02-28T23:30:00Z", "Europe/Berlin")).toBe("2025-01-31T23:00:00.000Z");
  expect(at("2026-03-31T00:00:00Z", "America/New_York", 14)).toBe("2025-01-01T05:00:00.000Z");
  expect(at("1970-03-31T00:00:00Z", "UTC", 14)).toBe("1970-01-01T00:00:00.000Z");
});

test("where a bill is not proved nothing is removed, and it is told; other companies go on", async () => {
  const [company] = companies;
  const [record] = (await recordsOf())[0] ?? [];
  const { store } = billing.service.deps;
  const t = store.read.use(billingRecordTable);
  const change = (totalCharges: string) =>
    store.tx(async (q) => void (await q.update(t).set({ totalCharges }).where(eq(t.id, record?.id))));
  await change("99");
  await runNamedJob(billing.service, "usage_retention");
  if (!company) throw new Error("There is no company");
  expect(await eventsOf(company)).toBe(6);
  expect(billing.service.deps.usage.sinceOf(company.company_id)).toBe(0);
  const stopped = await listStopped(store.read);
  expect(stopped).toEqual([
    { company_id: company.company_id, problem: expect.stringContaining(`bill ${record?.id} is not proved`) },
  ]);
  expect(await eventsOf(companies[1] ?? company)).toBe(4);
  // Whatever is on record: usage that is not closed has its bills proved first, as after a restore of usage from before.
  const rows = store.read.use(usageRetentionTable);
  const own = eq(rows.company_id, company.company_id);
  for (const status of ["removing", "done"] as const) {
    await store.tx(async (q) => void (await q.update(rows).set({ status }).where(own)));
    await runNamedJob(billing.service, "usage_retention");
    expect([status, await eventsOf(company), (await listStopped(store.read)).length]).toEqual([status, 6, 1]);
  }
  expect(String((await readMetrics(billing.service)).body)).toContain("\nmeterhouse_bills_unproved 1\n");
  await change(String(record?.totalCharges));
});

test("proved bills are recorded, old events go, and bills and sums are what they were", async () => {
  const [berlin, kolkata] = companies;
  if (!berlin || !kolkata) throw new Error("There are no companies");
  const records = await recordsOf();
  const totals = { aggregate: true, group_by: ["subscription", "month"] };
  const before = await search(berlin, totals);
  await runNamedJob(billing.service, "usage_retention");
  expect(await eventsOf(berlin)).toBe(4);
  expect(await eventsOf(kolkata)).toBe(4);
  expect((await search(berlin, totals)).body).toEqual(before.body);
  expect(await recordsOf()).toEqual(records);
  expect((await prove(berlin.company_id)).unproved).toEqual([]);
  const { store } = billing.service.deps;
  const t = store.read.use(usageRetentionTable);
  const rows = await store.read
    .select({ status: t.status, bills: t.bills, removed: t.removed_events })
    .from(t);
  expect(rows.filter(({ bills }) => bills > 0)).toEqual([
    { status: "done", bills: 1, removed: 2 },
    { status: "done", bills: 1, removed: 2 },
  ]);
  expect(await listStopped(store.read)).toEqual([]);
});

test("every way in refuses old timestamps, names the line, and takes later ones", async () => {
  const [company] = companies;
  if (!company) throw new Error("There is no company");
  const line = "2025-01-31T23:00:00.000Z";
  const event = {
    external_subscription_id: "external 1",
    timestamp: ms(line) - 1,
    usage: 1,
    id: crypto.randomUUID(),
  };
  const one = await company.api("POST", "/usage/events", event);
  expect([one.status, one.body.error]).toEqual([422, expect.stringContaining(`must be at ${line} or later`)]);
  const { token } = (await billing.service.anonymous("POST", "/login", SIGN_IN(company))).body;
  const post = async (path: string, type: string, body: string | Uint8Array) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": type };
    const answer = await fetch(`${billing.service.url}/api/v1${path}`, { method: "POST", body, headers });
    return [answer.status, JSON.stringify(await answer.json())];
  };
  const named = expect.stringContaining(line);
  expect(await post("/usage/events", "application/x-ndjson", `${JSON.stringify(event)}\n`)).toEqual([
    422,
    named,
  ]);
  const { id, usage } = event;
  const time = new Date(event.timestamp).toISOString();
  const cloud = {
    specversion: "1.0",
    id,
    source: "/a",
    type: "usage",
    subject: "external 1",
    time,
    data: { usage },
  };
  expect(await post("/usage/events", "application/cloudevents+json", JSON.stringify(cloud))).toEqual([
    422,
    named,
  ]);
  const block = await parquet([id, "external 1", String(event.timestamp), "1", null]);
  const [status, answer] = await post("/usage/import", "application/vnd.apache.parquet", block);
  expect([status, answer]).toEqual([200, named]);
  expect(JSON.parse(String(answer)).data).toMatchObject({ accepted: 0, rejected: 1 });
  expect((await company.api("POST", "/usage/events", { ...event, timestamp: ms(line) })).status).toBe(201);
});

test("searches say since when there are events, and what needs removed ones is refused", async () => {
  const [company] = companies;
  if (!company) throw new Error("There is no company");
  const since = ms("2025-01-31T23:00:00Z");
  expect((await search(company, {})).body.meta).toMatchObject({ total: 5, since });
  expect((await search(company, { start_time: since })).body.meta).not.toHaveProperty("since");
  const refused = await search(company, { aggregate: true, group_by: "metadata:a" });
  expect([refused.status, refused.body.details]).toEqual([
    422,
    [{ path: "/start_time", message: expect.stringContaining("2025-01-31T23:00:00") }],
  ]);
  expect((await search(company, { aggregate: true, group_by: "metadata:a", start_time: since })).status).toBe(
    200,
  );
});

test("a plan change in closed time, and verifying a bill of it, are refused; later ones are not", async () => {
  const [company] = companies;
  const [subscription = 0] = subscriptions;
  if (!company) throw new Error("There is no company");
  const other = await company.addModel({ ...PER_UNIT, price: 2 });
  const past = await changeTo(company.api, subscription, other, "2025-01-15T12:00:00Z");
  expect([past.status, past.body.error]).toEqual([409, expect.stringContaining("Cannot count usage before")]);
  const [first, second] = (await recordsOf())[0] ?? [];
  expect((await company.api("GET", `/billing-records/${first?.id}/verify`)).status).toBe(409);
  expect((await company.api("GET", `/billing-records/${second?.id}/verify`)).status).toBe(200);
  expect((await changeTo(company.api, subscription, other, "2026-03-05T12:00:00Z")).status).toBe(200);
});

test("a backup holds the kept sums, and what is restored has the same line, bills and sums", async () => {
  const [company] = companies;
  if (!company) throw new Error("There is no company");
  const { deps } = billing.service;
  const { manifest } = await backUp(deps);
  expect(manifest.kept?.since).toHaveLength(3);
  const point = await openPoint(openTarget(`file://${folder}/backups`), "latest", null);
  const needs = restoreNeeds(deps.config, deps.clock.now());
  const report = await verifyPoint(point, {
    ...needs,
    bills: 100,
    seed: 1,
    scratch: join(folder, "scratch"),
  });
  expect(report.problems).toEqual([]);
  const place = { data_dir: join(folder, "restored"), database_url: null, usage_url: null };
  await restorePoint(point, place, needs);
  const restored = await openDuckDb({ path: join(place.data_dir, "usage.duckdb") });
  const question = {
    company_id: company.company_id,
    group_by: ["month" as const],
    time_zone: "Europe/Berlin",
    max_groups: 9,
    max_key_length: 9,
  };
  expect(restored.sinceOf(company.company_id)).toBe(deps.usage.sinceOf(company.company_id));
  const rowsOf = async (usage: Pick<UsageStore, "aggregate">) =>
    (await usage.aggregate(question, 10_000)).toSorted((a, b) =>
      Bun.inspect(a.keys) < Bun.inspect(b.keys) ? -1 : 1,
    );
  expect(await rowsOf(restored)).toEqual(await rowsOf(deps.usage));
  await restored.close();
});

test("the next month goes on where this one ended", async () => {
  await setClock("2026-04-05T00:00:00Z");
  await runNamedJob(billing.service, "billing_recheck");
  await runNamedJob(billing.service, "usage_retention");
  const [company] = companies;
  if (!company) throw new Error("There is no company");
  expect(await eventsOf(company)).toBe(2);
  expect((await search(company, { aggregate: true })).body.data).toMatchObject([{ event_count: 7 }]);
});

test("events that a level is made of stay from the start of its subscription on, and its bills go on", async () => {
  billing.clock.set("2025-01-10T00:00:00Z");
  const company = await billing.addCompany({ timezone: "UTC" });
  const plain = await company.subscribe(PER_UNIT);
  await company.use(plain, ["2025-01-12T00:00:00Z", "1"]);
  billing.clock.set("2025-02-03T12:30:00Z");
  const created = await company.api("POST", "/meters", {
    code: "seats",
    name: "Seats",
    aggregation: "weighted_sum",
  });
  const charge = {
    code: "seats",
    name: "Seats",
    meter_id: created.body.data.id,
    type: "per_unit",
    price: "12",
  };
  const seats = await company.subscribe({ ...FLAT, charges: [charge] });
  await company.use(seats, ["2025-02-04T00:00:00Z", "5"], ["2025-02-20T00:00:00Z", "-1"]);
  billing.clock.set("2026-04-05T00:00:00Z");
  await company.run();
  await runNamedJob(billing.service, "usage_retention");
  expect(await eventsOf(company)).toBe(2);
  expect(billing.service.deps.usage.sinceOf(company.company_id)).toBe(ms("2025-02-03T12:00:00Z"));
  const held = { company_id: company.company_id, problem: expect.stringContaining(`subscription ${seats} `) };
  expect(await listHeld(billing.service.deps.store.read)).toEqual([held]);
  billing.clock.set("2026-05-05T00:00:00Z");
  await company.run();
  const newest = (await company.records(seats)).at(-1);
  const { lines } = (await company.api("GET", `/billing-records/${newest?.id}`)).body.data;
  expect(lines.find(({ kind }: Json) => kind === "charge")).toMatchObject({ quantity: "4", amount: "48.00" });
  // Another day changes nothing; once its subscription has ended long ago they go.
  await company.api("POST", `/subscriptions/${seats}/cancel`, { at: "now" });
  await runNamedJob(billing.service, "usage_retention");
  expect(await eventsOf(company)).toBe(2);
  billing.clock.set("2027-07-05T00:00:00Z");
  await company.run();
  await runNamedJob(billing.service, "usage_retention");
  expect(await eventsOf(company)).toBe(0);
  expect(await listHeld(billing.service.deps.store.read)).toEqual([]);
});
