import { expect, test } from "bun:test";
import { instant, iso } from "../../../src/core/time.ts";
import { changeTo } from "../billing_model_changes/fixtures.ts";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { type Company, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

const recheck = () => runNamedJob(billing.service, "billing_recheck");
const unbilled = async ({ api }: Company, filter = "") =>
  (await api("GET", `/unbilled-usage${filter}`)).body.data;
const told = async ({ api }: Company) =>
  (await api("GET", "/events?type=usage.late_unbilled&limit=200")).body.data.map((event: Json) => event.data);
const lastRun = async ({ api }: Company) => (await api("GET", "/billing-runs?limit=1")).body.data[0];
const charges = async (company: Company, id: number) =>
  (await company.records(id)).map(({ totalCharges }: Json) => totalCharges);

test("usage of months long past is billed when they were billed a moment ago", async () => {
  billing.clock.set("2024-07-10T01:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(PER_UNIT, { started_at: "2024-01-01T00:00:00Z" });
  await company.run();
  billing.clock.set("2024-07-10T02:00:00Z");
  await company.use(
    id,
    ...[1, 2, 3, 4, 5, 6].map((month): [string, string] => [`2024-0${month}-10T00:00:00Z`, "10"]),
  );
  billing.clock.set("2024-07-10T02:30:10Z");
  await recheck();
  expect((await charges(company, id)).slice(6)).toEqual(Array(6).fill("5.00"));
  expect(await unbilled(company)).toEqual([]);
});

test("usage that comes when its month is no longer rechecked is reported, once, until a run names the month", async () => {
  billing.clock.set("2024-02-01T01:00:00Z");
  const company = await billing.addCompany();
  const [id, other] = [
    await company.subscribe(PER_UNIT, { started_at: "2024-01-01T00:00:00Z" }),
    await company.subscribe(PER_UNIT, { started_at: "2024-01-01T00:00:00Z" }),
  ];
  await company.use(id, ["2024-01-10T00:00:00Z", "4"]);
  await company.run();
  const [january] = await company.records(id);
  billing.clock.set("2024-05-01T00:59:59.999Z"); // not yet 90 days after its record was written
  await company.run();
  await company.use(other, ["2024-01-20T00:00:00Z", "2"]);
  await recheck();
  expect(await charges(company, other)).toEqual(["0.00", "0.00", "0.00", "1.00"]);

  billing.clock.set("2024-05-01T01:00:00.001Z");
  await company.use(id, ["2024-01-20T00:00:00Z", "10"], ["2024-01-21T00:00:00Z", "-2.5"]);
  await recheck();
  await recheck();
  expect((await charges(company, id)).length).toBe(3);
  const finding = {
    subscription_id: id,
    reason: "late",
    from: "2024-01-01T00:00:00.000Z",
    to: "2024-02-01T00:00:00.000Z",
    billing_record_id: january.id,
    units: "7.5",
    event_count: 2,
  };
  expect(await unbilled(company)).toMatchObject([finding]);
  expect(await told(company)).toMatchObject([finding]);
  expect((await lastRun(company)).counts).toMatchObject({ adjustments: 0, late_unbilled: 1, failed: 0 });
  const metrics = (await billing.service.deps.metrics.print()).body;
  expect(metrics).toContain("meterhouse_unbilled_usage_events 2");

  await company.use(id, ["2024-01-22T00:00:00Z", "1"]);
  await recheck();
  expect(await unbilled(company)).toMatchObject([{ ...finding, units: "8.5", event_count: 3 }]);
  expect((await told(company)).map(({ event_count }: Json) => event_count)).toEqual([3, 2]);

  await company.run({ period: "2024-01", subscription_ids: [id] });
  expect((await charges(company, id)).at(-1)).toBe("4.25");
  expect(await unbilled(company)).toEqual([]);
  // It was billed a moment ago: what comes now is looked at again.
  await company.use(id, ["2024-01-23T00:00:00Z", "1"]);
  await recheck();
  expect((await charges(company, id)).at(-1)).toBe("0.50");
  expect(await unbilled(company)).toEqual([]);
});

test("usage that comes while its month is rechecked for the last time is reported the next night", async () => {
  billing.clock.set("2024-02-01T01:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(PER_UNIT, { started_at: "2024-01-01T00:00:00Z" });
  await company.run();
  const { usage } = billing.service.deps;
  const haveNewer = usage.haveLateEvents.bind(usage);
  let is_late = false;
  usage.haveLateEvents = async (company_id, ...question) => {
    const newer = await haveNewer(company_id, ...question);
    if (company_id === company.company_id && !is_late) {
      is_late = true;
      await company.use(id, ["2024-01-20T00:00:00Z", "10"]);
    }
    return newer;
  };
  billing.clock.set("2024-05-01T00:30:00Z");
  await recheck();
  usage.haveLateEvents = haveNewer;
  expect(is_late).toBe(true);
  billing.clock.set("2024-05-02T00:30:00Z");
  await recheck();
  expect(await unbilled(company)).toMatchObject([{ subscription_id: id, event_count: 1 }]);
});

test("usage that failed to be billed as long as its month was rechecked is reported", async () => {
  billing.clock.set("2024-02-01T01:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(PER_UNIT, { started_at: "2024-01-01T00:00:00Z" });
  await company.run();
  billing.clock.set("2024-04-30T00:30:00Z");
  await company.use(id, ["2024-01-20T00:00:00Z", "10"]);
  const { usage } = billing.service.deps;
  const totals = usage.totals.bind(usage);
  usage.totals = (company_id, ...question) =>
    company_id === company.company_id ? Promise.reject(new Error("broken")) : totals(company_id, ...question);
  await recheck();
  usage.totals = totals;
  expect((await lastRun(company)).counts).toMatchObject({ failed: 1, late_unbilled: 0 });
  billing.clock.set("2024-05-02T00:30:00Z");
  await recheck();
  expect(await unbilled(company)).toMatchObject([{ subscription_id: id, event_count: 1 }]);
});

test("a change of the month's plan bills its late usage too", async () => {
  billing.clock.set("2024-02-01T01:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(PER_UNIT, { started_at: "2024-01-01T00:00:00Z" });
  const whole = await company.addModel({ ...PER_UNIT, price: 1 });
  await company.run();
  billing.clock.set("2024-06-15T00:00:00Z");
  await company.run();
  billing.clock.set("2024-09-20T00:00:00Z");
  await company.use(id, ["2024-01-20T00:00:00Z", "10"]);
  await recheck();
  expect(await unbilled(company)).toMatchObject([{ event_count: 1 }]);
  await changeTo(company.api, id, whole, "2024-01-02T00:00:00Z");
  expect((await charges(company, id)).reduce((all: number, one: string) => all + Number(one), 0)).toBe(10);
  expect(await unbilled(company)).toEqual([]);
});

test("usage dated after an end that came later is listed", async () => {
  billing.clock.set("2024-03-10T12:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(PER_UNIT, { started_at: "2024-03-01T00:00:00Z" });
  await company.use(id, ["2024-03-10T11:59:00Z", "3"], ["2024-03-10T12:30:00Z", "5"]);
  // Looked through before the end came.
  await recheck();
  expect((await company.api("POST", `/subscriptions/${id}/cancel`, { at: "now" })).status).toBe(200);
  const event = {
    external_subscription_id: "external 1",
    timestamp: instant("2024-03-10T12:10:00Z").epochMilliseconds,
  };
  const refused = await company.api("POST", "/usage/events", { ...event, usage: 1 });
  expect(refused.status).toBe(422);
  billing.clock.set("2024-03-11T02:30:10Z");
  await recheck();
  await recheck();
  expect(await unbilled(company)).toMatchObject([
    {
      subscription_id: id,
      reason: "after_end",
      from: "2024-03-10T12:00:00.000Z",
      to: null,
      billing_record_id: null,
      units: "5",
      event_count: 1,
    },
  ]);
  expect(await told(company)).toHaveLength(1);
});

test("the list is the company's, narrowed and paged", async () => {
  billing.clock.set("2024-03-10T12:00:00Z");
  const [company, stranger] = [await billing.addCompany(), await billing.addCompany()];
  const ids: number[] = [];
  for (let i = 0; i < 3; i++) {
    const id = await company.subscribe(PER_UNIT, { started_at: "2024-03-01T00:00:00Z" });
    await company.use(id, ["2024-03-10T12:30:00Z", "5"]);
    await company.api("POST", `/subscriptions/${id}/cancel`, { at: "now" });
    ids.push(id);
  }
  billing.clock.set(iso(instant("2024-03-11T02:30:10Z")));
  await recheck();
  const subscriptions = (rows: Json[]) => rows.map((row) => row.subscription_id);
  expect(subscriptions(await unbilled(company))).toEqual(ids.toReversed());
  expect(subscriptions(await unbilled(company, `?subscription_id=${ids[1]}`))).toEqual([ids[1]]);
  const page = (await company.api("GET", "/unbilled-usage?page=2&limit=2")).body;
  expect([subscriptions(page.data), page.meta.total]).toEqual([[ids[0]], 3]);
  expect(await unbilled(stranger)).toEqual([]);
  expect(await unbilled(stranger, `?subscription_id=${ids[1]}`)).toEqual([]);
  for (const [path, status] of [
    ["/unbilled-usage?limit=0", 422],
    ["/unbilled-usage?subscription_id=x", 422],
    ["/unbilled-usage?sort=up", 422],
  ] as const) {
    expect([path, (await company.api("GET", path)).status]).toEqual([path, status]);
  }
  expect((await billing.service.anonymous("GET", "/unbilled-usage")).status).toBe(401);
  const client = await company.addUser("client", company.client_id);
  expect((await client("GET", "/unbilled-usage")).status).toBe(403);
});

test("what a model's own meter leaves out was looked at, and is not late", async () => {
  billing.clock.set("2024-02-01T01:00:00Z");
  const company = await billing.addCompany();
  const filters = [{ key: "kind", op: "exists" }];
  const { body } = await company.api("POST", "/meters", {
    code: "of_kind",
    name: "Of a kind",
    aggregation: "sum",
    filters,
  });
  const meter_id = body.data.id;
  const id = await company.subscribe({ ...PER_UNIT, meter_id }, { started_at: "2024-01-01T00:00:00Z" });
  await company.use(id, ["2024-01-10T00:00:00Z", "4"]);
  await company.run();
  const [january] = await company.records(id);
  expect(january).toMatchObject({ totalCharges: "0.00", billedUnits: 0 });

  billing.clock.set("2024-05-02T01:00:00Z");
  await company.run();
  await company.use(id, ["2024-01-20T00:00:00Z", "10"]);
  await recheck();
  expect(await unbilled(company)).toMatchObject([
    { subscription_id: id, reason: "late", billing_record_id: january.id, units: "10", event_count: 1 },
  ]);
});
