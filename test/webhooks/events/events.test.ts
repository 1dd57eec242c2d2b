import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EVENT_TYPES } from "../../../src/webhooks/events/model.ts";
import type { Json } from "../../support/harness.ts";
import { FLAT, PER_UNIT, useBilling } from "../../billing/fixtures.ts";

const billing = useBilling();

beforeAll(async () => {
  billing.clock.set("2026-01-10T00:00:00Z");
});

/** A company's events from the first to the last, as [type, data]. */
async function eventsOf(
  api: (method: string, path: string) => Promise<Json>,
  query = "",
): Promise<[string, Json][]> {
  const { status, body } = await api("GET", `/events?limit=200${query}`);
  expect(status).toBe(200);
  return body.data.toReversed().map(({ type, data }: Json) => [type, data]);
}

test("every change of clients, products, billing models and subscriptions has one event, with ids only", async () => {
  const company = await billing.addCompany();
  const { api, client_id } = company;
  const product_id = (await eventsOf(api, "&type=product.*"))[0]?.[1].id;
  const model = await company.addModel(FLAT);
  const body = { name: "Renamed", description: "" };
  await api("PUT", `/billing-models/${model}`, body);
  const id = await company.subscribe(model);
  await api("PUT", `/subscriptions/${id}`, { name: "Renamed" });
  await api("POST", `/subscriptions/${id}/cancel`, { at: "period_end" });
  await api("PUT", `/products/${product_id}`, { name: "Renamed" });
  await api("PUT", `/clients/${client_id}`, { name: "Renamed" });
  const gone = (await api("POST", "/products", { name: "gone" })).body.data.id;
  await api("DELETE", `/products/${gone}`);
  const unused = await company.addModel(FLAT);
  await api("DELETE", `/billing-models/${unused}`);
  const subscription = { id, status: "active", client_id, product_id, billing_model_id: model };
  const ends_at = "2026-02-01T00:00:00.000Z";
  expect(await eventsOf(api)).toEqual([
    ["client.created", { id: client_id }],
    ["product.created", { id: product_id }],
    ["billing_model.created", { id: model, status: "active" }],
    ["billing_model.updated", { id: model, status: "active" }],
    ["subscription.created", { ...subscription, ends_at: null }],
    ["subscription.updated", { ...subscription, ends_at: null }],
    ["subscription.cancelled", { ...subscription, ends_at }],
    ["product.updated", { id: product_id }],
    ["client.updated", { id: client_id }],
    ["product.created", { id: gone }],
    ["product.deleted", { id: gone }],
    ["billing_model.created", { id: unused, status: "active" }],
    ["billing_model.deleted", { id: unused, status: "archived" }],
  ]);
});

test("a record's history is what its subject says: its own events, and those of what belongs to it", async () => {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany();
  const { api, client_id } = company;
  const [flat, dearer] = [await company.addModel(FLAT), await company.addModel({ ...FLAT, price: 9 })];
  const [id, other] = [await company.subscribe(flat), await company.subscribe(flat)];
  const changes = `/subscriptions/${id}/billing-model-changes`;
  const effective_at = "2026-01-20T00:00:00Z";
  await api("POST", changes, { new_billing_model_id: dearer, effective_at });
  billing.clock.set("2026-02-02T00:00:00Z");
  await company.run();
  await api("POST", `/subscriptions/${id}/cancel`, { at: "now" });
  const ofSubject = async (subject: string) =>
    (await eventsOf(api, `&subject=${subject}`)).map(([type]) => type);
  expect(await ofSubject(`subscription:${id}`)).toEqual([
    "subscription.created",
    "billing_model_change.scheduled",
    "billing_model_change.applied",
    "billing_record.created",
    "subscription.cancelled",
  ]);
  expect(await ofSubject(`subscription:${other}`)).toEqual([
    "subscription.created",
    "billing_record.created",
  ]);
  expect(await ofSubject(`client:${client_id}`)).toEqual(["client.created"]);
  expect(await ofSubject(`billing_model:${dearer}`)).toEqual(["billing_model.created"]);
  const [newest] = (await api("GET", `/events?subject=subscription:${id}&type=billing_record.*`)).body.data;
  expect(newest.subject).toBe(`subscription:${id}`);
  const stranger = await billing.addCompany();
  expect((await stranger.api("GET", `/events?subject=subscription:${id}`)).body.data).toEqual([]);
  for (const subject of [
    "subscription",
    "subscription:",
    "subscription:0",
    "subscription:x",
    "subscripton:7",
    "7",
    "client:1 OR 1=1",
  ]) {
    const { status, body } = await api("GET", `/events?subject=${encodeURIComponent(subject)}`);
    expect([status, body.details?.[0].path]).toEqual([422, "/subject"]);
  }
});

test("what is refused has no event", async () => {
  const { api, client_id, ...company } = await billing.addCompany();
  await company.subscribe(FLAT);
  const before = await eventsOf(api);
  expect((await api("DELETE", `/clients/${client_id}`)).status).toBe(409);
  expect((await api("PUT", "/products/999999", { name: "x" })).status).toBe(404);
  const taken = { name: "x", external_subscription_id: "external 1", client_id, product_id: 1 };
  expect((await api("POST", "/subscriptions", { ...taken, billing_model_id: 1 })).status).toBe(422);
  expect(await eventsOf(api)).toEqual(before);
});

test("a billing run tells of each record that it wrote: created, then adjusted; a dry run of none", async () => {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany();
  const subscription_id = await company.subscribe(PER_UNIT);
  billing.clock.set("2026-02-02T00:00:00Z");
  await company.run({ dry_run: true });
  expect(await eventsOf(company.api, "&type=billing_record.*")).toEqual([]);
  await company.run();
  await company.use(subscription_id, ["2026-01-20T00:00:00Z", "4"]);
  billing.clock.set("2026-02-03T00:00:00Z");
  await company.run({ period: "2026-01" });
  await company.run({ period: "2026-01" });
  const records = await company.records(subscription_id);
  expect(records.map(({ kind }: Json) => kind)).toEqual(["period", "adjustment"]);
  const [period, adjustment] = records;
  const events = await eventsOf(company.api, "&type=billing_record.*");
  expect(events).toEqual([
    ["billing_record.created", expect.objectContaining({ id: period.id, kind: "period", subscription_id })],
    [
      "billing_record.adjusted",
      {
        id: adjustment.id,
        kind: "adjustment",
        subscription_id,
        billing_model_id: adjustment.billing_model_id,
        billing_run_id: adjustment.billing_run_id,
        adjusts_billing_record_id: period.id,
      },
    ],
  ]);
});

test("events are listed newest first, by page, type, pattern and time; another company's never", async () => {
  billing.clock.set("2026-01-10T00:00:00Z");
  const { api } = await billing.addCompany();
  billing.clock.set("2026-01-11T00:00:00Z");
  for (let i = 0; i < 4; i++) await api("POST", "/products", { name: `p${i}` });
  const { body } = await api("GET", "/events?limit=2&page=2");
  expect(body.meta).toEqual({ page: 2, limit: 2, total: 6, total_pages: 3 });
  expect(body.data[0]).toEqual({
    id: expect.any(Number),
    message_id: expect.stringMatching(/^msg_[0-9a-f-]{36}$/),
    type: "product.created",
    subject: `product:${body.data[0].data.id}`,
    data: { id: expect.any(Number) },
    company_id: expect.any(Number),
    created_at: "2026-01-11T00:00:00.000Z",
  });
  expect(body.data[0].id).toBeGreaterThan(body.data[1].id);
  const count = async (query: string) => (await api("GET", `/events?${query}`)).body.meta.total;
  expect(await count("type=client.created")).toBe(1);
  expect(await count("type=product.*")).toBe(5);
  expect(await count("type=*")).toBe(6);
  expect(await count("from=2026-01-11T00:00:00Z")).toBe(4);
  expect(await count("to=2026-01-11T01:00:00%2B01:00")).toBe(2);
  expect(await count("from=2026-01-10T00:00:00Z&to=2026-01-10T00:00:00.001Z&type=product.created")).toBe(1);
  for (const query of ["type=nothing", "type=product", "type=", "from=yesterday", "page=0", "kind=x"])
    expect((await api("GET", `/events?${query}`)).status, query).toBe(422);
  expect((await (await billing.addCompany()).api("GET", "/events")).body.meta.total).toBe(2);
});

test("docs/webhooks.md lists every event type", () => {
  const rows = readFileSync(join(import.meta.dir, "../../../docs/webhooks.md"), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  // `client.created`, `.updated` stands for client.created and client.updated.
  const listed = rows.flatMap((row) => {
    const names = [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? "");
    const family = names[0]?.slice(0, names[0].lastIndexOf(".")) ?? "";
    return names.map((name) => (name.startsWith(".") ? family + name : name));
  });
  expect(listed.toSorted()).toEqual([...EVENT_TYPES, "webhook.test"].toSorted());
});
