import { beforeEach, expect, test } from "bun:test";
import { and, eq } from "drizzle-orm";
import { call } from "../../../src/app/operation.ts";
import { proveBills } from "../../../src/billing/proof/service.ts";
import { billingRecordTable } from "../../../src/billing/records/tables.ts";
import type { Json } from "../../support/harness.ts";
import { ms } from "../../usage/fixtures.ts";
import { type Company, CREDIT, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

// Usage that no charge and no priced own type counted.

const billing = useBilling();
let company: Company;
let chat: number;
let images: number;

beforeEach(async () => {
  billing.clock.set("2024-03-01T00:00:00Z");
  company = await billing.addCompany();
  const meter = async (code: string, kind: string) => {
    const value = [{ key: "metadata:n" }];
    const filters = [{ key: "kind", op: "in", values: [kind] }];
    const body = { code, name: code, aggregation: "sum", value, filters };
    return (await company.api("POST", "/meters", body)).body.data.id;
  };
  chat = await meter("chat", "chat");
  images = await meter("images", "image");
});

const charge = (code: string, meter_id: number, of: Json = {}) => ({
  code,
  name: code,
  meter_id,
  type: "per_unit",
  price: "1",
  ...of,
});

async function externalId(id: number): Promise<string> {
  return (await company.api("GET", `/subscriptions/${id}`)).body.data.external_subscription_id;
}

async function use(id: number, at: string, usage: number, metadata: Json): Promise<void> {
  const event = {
    id: crypto.randomUUID(),
    timestamp: ms(at),
    usage,
    ...(metadata === null ? {} : { metadata }),
  };
  const external_subscription_id = await externalId(id);
  const answer = await company.api("POST", "/usage/events", { external_subscription_id, ...event });
  expect(answer.status).toBe(201);
}

const preview = async (id: number) =>
  (await company.api("GET", `/subscriptions/${id}/preview`)).body.data.unmetered;

test("is what no charge counts: without a number, of another kind, or while an add-on is not booked", async () => {
  const id = await company.subscribe({ ...FLAT, charges: [charge("chat", chat, { unmatched: "free" })] });
  const { data: add_on } = (
    await company.api("POST", "/add-ons", {
      code: "images",
      name: "Images",
      currency: "EUR",
      charge: { type: "per_unit", price: "1", meter_id: images },
    })
  ).body;
  billing.clock.set("2024-03-25T00:00:00Z");
  const booking = { add_on_id: add_on.id, from: "2024-03-10T00:00:00Z", until: "2024-03-20T00:00:00Z" };
  expect((await company.api("POST", `/subscriptions/${id}/add-ons`, booking)).status).toBe(201);
  await use(id, "2024-03-05T00:00:00Z", 2, { kind: "chat", n: 3 });
  expect(await preview(id)).toBeUndefined();
  await use(id, "2024-03-05T00:00:00Z", 4, { kind: "chat" });
  await use(id, "2024-03-05T00:00:00Z", 8.5, null);
  await use(id, "2024-03-09T23:59:59.999Z", 16, { kind: "image", n: 1 });
  await use(id, "2024-03-10T00:00:00Z", 32, { kind: "image", n: 1 });
  await use(id, "2024-03-20T00:00:00Z", 64, { kind: "image", n: 1 });
  const unmetered = { event_count: 4, usage: "92.5" };
  expect(await preview(id)).toEqual(unmetered);
  billing.clock.set("2024-04-01T02:00:00Z");
  await company.run({ period: "2024-03" });
  const [record] = await company.records(id);
  expect(record.unmetered).toEqual(unmetered);
  const events = (await company.api("GET", "/events?type=usage.unmetered")).body.data;
  expect(events.map(({ data }: Json) => data)).toEqual([
    { subscription_id: id, billing_record_id: record.id, ...unmetered },
  ]);
  // A later record has what is known by then, and tells of it no more.
  await use(id, "2024-03-06T00:00:00Z", 1, { kind: "chat", n: 1 });
  await use(id, "2024-03-06T00:00:00Z", 1, { kind: "other" });
  await company.run({ period: "2024-03" });
  const adjustment = (await company.records(id))[1];
  expect([adjustment?.kind, adjustment?.unmetered]).toEqual([
    "adjustment",
    { event_count: 5, usage: "93.5" },
  ]);
  expect((await company.api("GET", "/events?type=usage.unmetered")).body.data).toHaveLength(1);
  for (const { id: bill } of await company.records(id))
    expect((await company.api("GET", `/billing-records/${bill}/verify`)).body.data.matches).toBe(true);
});

test("is proved with its period, and one that was changed on disk is found", async () => {
  const id = await company.subscribe({ ...FLAT, charges: [charge("chat", chat)] });
  billing.clock.set("2024-03-25T00:00:00Z");
  await use(id, "2024-03-05T00:00:00Z", 4, { kind: "other" });
  billing.clock.set("2024-04-01T02:00:00Z");
  await company.run({ period: "2024-03" });
  await use(id, "2024-03-06T00:00:00Z", 1.5, { kind: "other" });
  await company.run({ period: "2024-03" });
  const { deps } = billing.service;
  const origin = { actor: { kind: "operator" }, origin: "cli", request_id: "test", address: null } as const;
  const { company_id } = company;
  const prove = async () => (await call(deps.openContext(origin), proveBills, { company_id })).unproved;
  expect(await prove()).toEqual([]);
  const t = deps.store.read.use(billingRecordTable);
  const wanted = and(eq(t.subscription_id, id), eq(t.kind, "adjustment"));
  const unmetered = { event_count: 1, usage: "4" };
  await deps.store.tx(async (q) => void (await q.update(t).set({ unmetered }).where(wanted)));
  const [wrong] = await prove();
  expect(wrong?.differences).toEqual([
    { path: "/period/unmetered/event_count", expected: "2", actual: "1" },
    { path: "/period/unmetered/usage", expected: "5.5", actual: "4" },
  ]);
});

test("is none where the own type has a price for all usage, and what its meter leaves out where it has one", async () => {
  const charges = [charge("chat", chat)];
  const seats = { code: "seats", name: "Seats", type: "fixed", price: "5", quantity: "3" };
  const rates = [{ meter_id: images, credits: "1" }];
  const plan = { monthly_credits: 2, credit_consumption: "per_unit", rates };
  const ids: number[] = [];
  for (const model of [
    { ...PER_UNIT, charges },
    { ...PER_UNIT, meter_id: images, charges },
    { ...CREDIT, charges },
    { ...CREDIT, credit_plan: plan, charges },
    // Where nothing is by usage, or without charges, nothing is said.
    { ...FLAT, charges: [seats] },
    { ...PER_UNIT, meter_id: images },
    { ...FLAT, charges: [seats, ...charges] },
  ])
    ids.push(await company.subscribe(model));
  billing.clock.set("2024-03-25T00:00:00Z");
  const found: Json[] = [];
  for (const id of ids) {
    await use(id, "2024-03-05T00:00:00Z", 1, { kind: "chat", n: 1 });
    await use(id, "2024-03-05T00:00:00Z", 2, { kind: "image", n: 1 });
    await use(id, "2024-03-05T00:00:00Z", 4, { kind: "other", n: 1 });
    found.push(await preview(id));
  }
  const other = { event_count: 1, usage: "4" };
  const both = { event_count: 2, usage: "6" };
  expect(found).toEqual([undefined, other, undefined, other, undefined, undefined, both]);
});
