import { describe, expect, test } from "bun:test";
import { call } from "../../../src/app/operation.ts";
import { proveBills } from "../../../src/billing/proof/service.ts";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { changeTo } from "../billing_model_changes/fixtures.ts";
import { type Company, FLAT, useBilling } from "../fixtures.ts";

const billing = useBilling();

const MARCH = { started_at: "2024-03-01T00:00:00Z" };
const SUPPORT = { code: "support", name: "Support", currency: "EUR", charge: { type: "fixed", price: "10" } };

async function addOn({ api }: Company, body: Json = {}): Promise<number> {
  const { status, body: answer } = await api("POST", "/add-ons", { ...SUPPORT, ...body });
  expect([status, answer.error]).toEqual([201, undefined]);
  return answer.data.id;
}

async function book({ api }: Company, id: number, body: Json): Promise<Json> {
  const { status, body: answer } = await api("POST", `/subscriptions/${id}/add-ons`, body);
  expect([status, answer.error]).toEqual([201, undefined]);
  return answer.data;
}

/** The lines of add-ons of a bill, or of a preview. */
const shown = ({ lines }: Json) =>
  lines
    .filter(({ kind }: Json) => kind === "add_on")
    .map(({ description, quantity, amount }: Json) => `${description} | ${quantity} | ${amount}`);

/** The lines of add-ons of a subscription's records, each verified, and all proved from events and bookings. */
async function billed(company: Company, id: number): Promise<string[][]> {
  const { api, company_id } = company;
  const bills: string[][] = [];
  for (const record of await company.records(id)) {
    bills.push(shown((await api("GET", `/billing-records/${record.id}`)).body.data));
    const { data } = (await api("GET", `/billing-records/${record.id}/verify`)).body;
    expect(data.differences).toEqual([]);
  }
  const origin = { actor: { kind: "operator" }, origin: "cli", request_id: "test", address: null } as const;
  const ctx = billing.service.deps.openContext(origin);
  expect((await call(ctx, proveBills, { company_id })).unproved).toEqual([]);
  return bills;
}

const said = ({ status, body }: { status: number; body: Json }) => [
  status,
  ...(body.details ?? [{ message: body.error }]).map(({ path, message }: Json) =>
    path === undefined ? message : `${path} ${message}`,
  ),
];

describe("a fixed add-on", () => {
  test("is charged by the local days that it touches, through plan changes, up to the subscription's end", async () => {
    billing.clock.set("2024-03-20T12:00:00Z");
    const company = await billing.addCompany({ timezone: "Asia/Kuala_Lumpur" });
    const { api } = company;
    const id = await company.subscribe(FLAT, { started_at: "2024-02-29T16:00:00Z" });
    const add_on_id = await addOn(company);
    const first = await book(company, id, { add_on_id, quantity: 2, from: "2024-03-15T17:00:00Z" });
    expect(first).toMatchObject({ quantity: "2", until: null, adjustment_billing_record_ids: [] });
    // Up to the midnight of the 11th, and inside it: that day is charged where it is touched.
    await book(company, id, { add_on_id, from: "2024-03-09T16:00:00Z", until: "2024-03-10T16:00:00Z" });
    await book(company, id, { add_on_id, from: "2024-03-10T16:00:00Z", until: "2024-03-11T16:00:00.001Z" });
    // One with the same bounds is on the same line.
    await book(company, id, { add_on_id, quantity: "0.5", from: "2024-03-15T17:00:00Z" });
    const other = await company.addModel({ ...FLAT, name: "Double", price: 62 });
    expect((await changeTo(api, id, other, "2024-03-18T04:00:00Z")).status).toBe(200);
    const lines = [
      "Support, 1 of 31 days | 1 | 0.32",
      "Support, 2 of 31 days | 1 | 0.65",
      "Support, 16 of 31 days | 2.5 | 12.90",
    ];
    expect(shown((await api("GET", `/subscriptions/${id}/preview`)).body.data)).toEqual(lines);
    billing.clock.set("2024-04-02T00:00:00Z");
    await company.run({ period: "2024-03" });
    expect(await billed(company, id)).toEqual([lines]);

    // The day of the subscription's end is charged, as that of the fee.
    billing.clock.set("2024-04-09T16:00:00Z");
    expect((await api("POST", `/subscriptions/${id}/cancel`, { at: "now" })).status).toBe(200);
    billing.clock.set("2024-05-02T00:00:00Z");
    await company.run({ period: "2024-04" });
    expect((await billed(company, id))[1]).toEqual(["Support, 10 of 30 days | 2.5 | 8.33"]);
  });

  test("that is booked, changed or removed in a closed period adjusts it, once", async () => {
    billing.clock.set("2024-05-02T00:00:00Z");
    const company = await billing.addCompany();
    const { api } = company;
    const id = await company.subscribe(FLAT, MARCH);
    await company.run();
    const add_on_id = await addOn(company);
    const booked = await book(company, id, { add_on_id, from: "2024-04-16T00:00:00Z" });
    const records = async () => (await company.records(id)).map(({ id: record_id }) => record_id);
    const [march, april, first] = await records();
    expect(booked.adjustment_billing_record_ids).toEqual([first]);

    const path = `/subscriptions/${id}/add-ons/${booked.id}`;
    const earlier = await api("PUT", path, { from: "2024-03-31T12:00:00Z", quantity: "3" });
    const [, , , ...later] = await records();
    expect(earlier.body.data.adjustment_billing_record_ids).toEqual([first, ...later]);
    // It ends now, which no closed period knows of.
    const removed = await api("DELETE", path);
    expect(removed.body.data).toMatchObject({
      until: "2024-05-02T00:00:00.000Z",
      adjustment_billing_record_ids: [first, ...later],
    });
    expect(said(await api("DELETE", path))).toEqual([
      409,
      `Cannot remove booking ${booked.id}: it ended at 2024-05-02T00:00:00.000Z`,
    ]);
    await company.run({ period: "2024-03" });
    await company.run({ period: "2024-04" });
    // Taken back altogether.
    await api("PUT", path, { until: "2024-03-31T12:00:00Z" });
    expect(await billed(company, id)).toEqual([
      [],
      [],
      ["Support, 15 of 30 days | 1 | 5.00"],
      ["Support, 1 of 31 days | 3 | 0.97"],
      ["Support | 3 | 30.00", "Reversal: Support, 15 of 30 days | -1 | -5.00"],
      ["Reversal: Support, 1 of 31 days | -3 | -0.97"],
      ["Reversal: Support | -3 | -30.00"],
    ]);
    const of = (await company.records(id)).map((record) => record.adjusts_billing_record_id);
    expect(of).toEqual([null, null, april, march, april, march, april]);
    const events = (await api("GET", "/events?type=subscription.*&limit=50")).body.data;
    const types = events.map(({ type }: Json) => type.replace("subscription.", ""));
    expect(types.toReversed()).toEqual([
      "created",
      "add_on_added",
      "add_on_changed",
      "add_on_removed",
      "add_on_changed",
    ]);
  });

  test("that is written at once by many is charged for each, and a run beside them misses none", async () => {
    billing.clock.set("2024-04-02T00:00:00Z");
    const company = await billing.addCompany();
    const id = await company.subscribe(FLAT, MARCH);
    const add_on_id = await addOn(company);
    const from = "2024-03-01T00:00:00Z";
    await Promise.all([
      ...Array.from({ length: 4 }, () => book(company, id, { add_on_id, from })),
      company.run({ period: "2024-03" }),
    ]);
    await company.run({ period: "2024-03" });
    await billed(company, id);
    const sum = (await company.records(id)).reduce((all, { totalCharges }) => all + Number(totalCharges), 0);
    expect(sum).toBe(71);
  });
});

test("a metered add-on charges the events of its own stretch, late ones too, whatever the plan", async () => {
  billing.clock.set("2024-03-01T00:00:00Z");
  const company = await billing.addCompany();
  const { api } = company;
  const id = await company.subscribe(FLAT);
  const meter = await api("POST", "/meters", { code: "all", name: "All", aggregation: "sum" });
  const charge = {
    type: "graduated",
    meter_id: meter.body.data.id,
    usage_tiers: [
      { up_to: "10", unit_price: "1", flat_fee: "2" },
      { up_to: null, unit_price: "0.5" },
    ],
  };
  const add_on_id = await addOn(company, { code: "sms", name: "SMS", charge });
  const from = "2024-03-10T00:00:00Z";
  await book(company, id, { add_on_id, from, until: "2024-03-20T00:00:00Z" });
  const twice = { add_on_id, from: "2024-03-19T00:00:00Z", quantity: 2 };
  expect(said(await api("POST", `/subscriptions/${id}/add-ons`, twice))).toEqual([
    422,
    "/quantity must be 1: what this add-on charges is what its meter counts",
    "/from must not overlap the booking from 2024-03-10T00:00:00.000Z to 2024-03-20T00:00:00.000Z: both would charge the same events",
  ]);
  const other = await company.addModel({ ...FLAT, name: "Double", price: 62 });
  await changeTo(api, id, other, "2024-03-15T12:00:00Z");
  billing.clock.set("2024-04-02T00:00:00Z");
  await company.use(id, ["2024-03-09T00:00:00Z", "100"], ["2024-03-12T00:00:00Z", "8"]);
  await company.use(id, ["2024-03-16T00:00:00Z", "6"], ["2024-03-20T00:00:00Z", "100"]);
  await company.run({ period: "2024-03" });
  await company.use(id, ["2024-03-14T00:00:00Z", "4"]);
  await company.run({ period: "2024-03" });
  // A change of the plan in the past leaves the add-on's line as it is.
  await changeTo(api, id, await company.addModel({ ...FLAT, price: 93 }), "2024-03-15T13:00:00Z");
  expect(await billed(company, id)).toEqual([["SMS | 14 | 14.00"], ["Adjustment: SMS | 4 | 2.00"], []]);

  const path = `/meters/${meter.body.data.id}`;
  const counting = { name: "All", aggregation: "count" };
  expect((await api("PUT", path, counting)).body.error).toContain(
    `add-on ${add_on_id} names it and was booked`,
  );
  expect((await api("DELETE", path)).body.error).toContain(`add-on ${add_on_id} names it`);
});

test("a late event before the period changes the level that an add-on charges in it", async () => {
  billing.clock.set("2024-02-01T00:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(FLAT);
  const meter = await company.api("POST", "/meters", {
    code: "seats",
    name: "Seats",
    aggregation: "weighted_sum",
  });
  const charge = { type: "per_unit", meter_id: meter.body.data.id, price: 12 };
  const add_on_id = await addOn(company, { code: "seats", name: "Seats", charge });
  await book(company, id, { add_on_id, from: "2024-03-01T00:00:00Z" });
  billing.clock.set("2024-04-02T00:00:00Z");
  await company.use(id, ["2024-02-10T00:00:00Z", "5"]);
  await company.run();
  await company.use(id, ["2024-02-20T00:00:00Z", "2"]);
  billing.clock.set("2024-04-03T03:00:00Z");
  await runNamedJob(billing.service, "billing_recheck");
  const bills = (await billed(company, id)).filter((lines) => lines.length > 0);
  expect(bills).toEqual([["Seats | 5 | 60.00"], ["Adjustment: Seats | 2 | 24.00"]]);
});

test("an add-on is frozen once booked, and not deleted while active subscriptions have it", async () => {
  billing.clock.set("2024-03-20T00:00:00Z");
  const company = await billing.addCompany();
  const { api } = company;
  const id = await company.subscribe(FLAT, MARCH);
  const add_on_id = await addOn(company);
  const path = `/add-ons/${add_on_id}`;
  const charge = { type: "fixed", price: "12.0" };
  const changed = (await api("PUT", path, { name: "Help", charge })).body.data;
  expect([changed.name, changed.charge.price]).toEqual(["Help", "12"]);
  const booking = await book(company, id, { add_on_id, from: "2024-03-25T00:00:00Z" });
  expect((await api("PUT", path, { name: "Support", charge })).status).toBe(200);
  const error = `Cannot change what add-on ${add_on_id} charges: subscriptions have booked it. Create a new add-on`;
  expect(said(await api("PUT", path, { name: "Help", charge: { type: "fixed", price: 1 } }))).toEqual([
    409,
    error,
  ]);
  expect(said(await api("PUT", path, { name: "Help", code: "help" }))).toEqual([409, error]);
  expect(said(await api("DELETE", path))).toEqual([
    409,
    `Cannot delete add-on ${add_on_id}: it has 1 active subscription`,
  ]);
  // It has not begun: it never does.
  const removed = (await api("DELETE", `/subscriptions/${id}/add-ons/${booking.id}`)).body.data;
  expect(removed.until).toBe(removed.from);
  expect((await api("DELETE", path)).status).toBe(200);
  expect((await api("GET", path)).status).toBe(404);
  await addOn(company);
  const listed = (await api("GET", `/subscriptions/${id}/add-ons`)).body.data;
  expect(listed).toEqual([removed]);
});

test("an add-on must fit: its charge, its currency, and the subscription's life", async () => {
  billing.clock.set("2024-03-20T00:00:00Z");
  const company = await billing.addCompany();
  const { api } = company;
  const add = async (body: Json) => said(await api("POST", "/add-ons", { ...SUPPORT, ...body }));
  expect(await add({ charge: { type: "per_unit", price: 1 } })).toEqual([
    422,
    "/charge/meter_id is required by type per_unit",
  ]);
  expect((await add({ charge: { type: "fixed", price: 1, quantity: 2 } }))[0]).toBe(422);
  const add_on_id = await addOn(company);
  expect(await add({})).toEqual([422, "/code is already used by another add-on of this company"]);
  const usd = await addOn(company, { code: "usd", currency: "USD" });
  expect((await api("GET", "/add-ons?currency=USD")).body.data.map(({ id }: Json) => id)).toEqual([usd]);

  const id = await company.subscribe(FLAT, MARCH);
  const attempt = async (body: Json) =>
    said(await api("POST", `/subscriptions/${id}/add-ons`, { add_on_id, ...body }));
  expect(await attempt({ add_on_id: usd })).toEqual([
    422,
    "/add_on_id must be in the subscription's currency, EUR",
  ]);
  expect(await attempt({ quantity: 0 })).toEqual([422, "/quantity must be more than 0"]);
  expect(await attempt({ from: "2024-02-29T23:59:59Z", until: "2024-02-01T00:00:00Z" })).toEqual([
    422,
    "/from must not be before the subscription's start, 2024-03-01T00:00:00.000Z",
    "/until must not be before from, 2024-02-29T23:59:59.000Z",
  ]);
  expect(await attempt({ from: "2124-03-21T00:00:00Z" })).toEqual([
    422,
    "/from must be at most 100 years from now",
  ]);
  await api("POST", `/subscriptions/${id}/cancel`, { at: "now" });
  billing.clock.set("2024-03-25T00:00:00Z");
  expect(await attempt({})).toEqual([
    422,
    "/from must be before the subscription's end, 2024-03-20T00:00:00.000Z",
  ]);
  // What it had before its end may still be learned.
  await book(company, id, { add_on_id, from: "2024-03-19T00:00:00Z" });
});

test("add-ons of another company are not there, and a client user sees those of its subscriptions", async () => {
  billing.clock.set("2024-03-20T00:00:00Z");
  const [one, two] = [await billing.addCompany(), await billing.addCompany()];
  const id = await one.subscribe(FLAT, MARCH);
  const add_on_id = await addOn(one);
  const booking = await book(one, id, { add_on_id });
  const path = `/subscriptions/${id}/add-ons`;
  for (const [method, of, body] of [
    ["GET", `/add-ons/${add_on_id}`],
    ["PUT", `/add-ons/${add_on_id}`, { name: "Mine" }],
    ["DELETE", `/add-ons/${add_on_id}`],
    ["GET", path],
    ["POST", path, { add_on_id }],
    ["PUT", `${path}/${booking.id}`, { quantity: 2 }],
    ["DELETE", `${path}/${booking.id}`],
  ] as const) {
    expect((await two.api(method, of, body)).status, `${method} ${of}`).toBe(404);
  }
  expect((await two.api("GET", "/add-ons")).body.data).toEqual([]);
  const own = await two.subscribe(FLAT, MARCH);
  expect(said(await two.api("POST", `/subscriptions/${own}/add-ons`, { add_on_id }))).toEqual([
    422,
    "/add_on_id names no active add-on of this company",
  ]);
  expect((await one.api("PUT", `/subscriptions/${id}/add-ons/${booking.id + 1}`, {})).status).toBe(404);

  const client = await one.addUser("client", one.client_id);
  expect((await client("GET", `/my${path}`)).body.data).toEqual([booking]);
  expect((await client("POST", path, { add_on_id })).status).toBe(403);
  const stranger = await one.addUser("client", await one.addClient());
  expect((await stranger("GET", `/my${path}`)).status).toBe(404);
  const analyst = await one.addUser("analyst");
  expect((await analyst("POST", path, { add_on_id })).status).toBe(403);
});
