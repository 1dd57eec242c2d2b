import { expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { changeTo } from "../billing_model_changes/fixtures.ts";
import { type Company, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

const MARCH = { started_at: "2024-03-01T00:00:00Z" };

async function events(company: Company): Promise<Json[]> {
  const { status, body } = await company.api("POST", "/usage/search", { limit: 200 });
  expect(status).toBe(200);
  return body.data;
}

const pathOf = ({ id, subscription_id, timestamp }: Json, at = timestamp): string => {
  const query = new URLSearchParams({
    external_subscription_id: subscription_id.slice(subscription_id.indexOf(":") + 1),
    timestamp: String(at),
  });
  return `/usage/events/${id}/bill-lines?${query.toString()}`;
};

async function linesOf(company: Company, event: Json): Promise<Json> {
  const { status, body } = await company.api("GET", pathOf(event));
  expect(status).toBe(200);
  return body.data;
}

/** A line of a record, as a key. */
const keyOf = (record: number, { kind, from, charge_code, match, description }: Json) =>
  JSON.stringify([record, kind, from, charge_code, match, description]);

/** All lines count as many events as say that they are counted by it: those that take one back say so. */
async function expectAllFound(company: Company, id: number): Promise<void> {
  const found = new Map<string, number>();
  for (const event of await events(company))
    for (const { billing_record_id, line, takes_back } of (await linesOf(company, event)).lines) {
      const key = keyOf(billing_record_id, line);
      found.set(key, (found.get(key) ?? 0) + (takes_back ? -1 : 1));
    }
  const billed = new Map<string, number>();
  for (const record of await company.records(id)) {
    const { lines } = (await company.api("GET", `/billing-records/${record.id}`)).body.data;
    for (const line of lines)
      if (line.event_count !== null && line.event_count !== 0)
        billed.set(keyOf(record.id, line), line.event_count);
  }
  expect(billed.size).toBeGreaterThan(0);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(billed));
}

test("a bill's line and its events find one another, at one instant, late, and after a plan change was voided", async () => {
  billing.clock.set("2024-03-02T00:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(PER_UNIT, MARCH);
  const dear = await company.addModel({ ...PER_UNIT, price: 2 });
  const [instant, later] = ["2024-03-05T00:00:00Z", "2024-03-20T00:00:00Z"];
  await company.use(id, [instant, "1"], [instant, "2"], [later, "3"]);
  expect(await linesOf(company, (await events(company))[0])).toMatchObject({ is_billed: false, lines: [] });
  billing.clock.set("2024-04-02T00:00:00Z");
  await company.run();
  await expectAllFound(company, id);
  // Of the same instant as what was counted.
  await company.use(id, [instant, "4"]);
  const late = (await events(company)).find(({ usage }) => usage === 4);
  expect(await linesOf(company, late)).toMatchObject({ is_billed: true, lines: [] });
  await company.run({ period: "2024-03" });
  await expectAllFound(company, id);
  expect((await linesOf(company, late)).lines).toMatchObject([{ kind: "adjustment", takes_back: false }]);
  const change = await changeTo(company.api, id, dear, "2024-03-10T00:00:00Z");
  expect(change.status).toBe(200);
  await expectAllFound(company, id);
  const { id: change_id } = change.body.data;
  const voided = await company.api("POST", `/subscriptions/${id}/billing-model-changes/${change_id}/void`);
  expect(voided.status).toBe(200);
  await expectAllFound(company, id);
  const moved = (await events(company)).find(({ usage }) => usage === 3);
  const { lines } = await linesOf(company, moved);
  expect(lines.map(({ takes_back }: Json) => takes_back)).toEqual([false, true, false, false, true]);
});

test("an event is found by the line of its meter and of its price, or by none", async () => {
  billing.clock.set("2024-03-02T00:00:00Z");
  const company = await billing.addCompany();
  const { body } = await company.api("POST", "/meters", {
    code: "tokens",
    name: "Tokens",
    aggregation: "sum",
    value: [{ key: "metadata:tokens" }],
    filters: [{ key: "kind", op: "in", values: ["text"] }],
    group_keys: ["model", "size"],
  });
  const charge = {
    code: "tokens",
    name: "Tokens",
    type: "per_unit",
    meter_id: body.data.id,
    price: "1",
    prices: [
      { match: { model: "a", size: "1" }, price: "2" },
      { match: { model: "a" }, price: "3" },
    ],
  };
  const id = await company.subscribe({ billing_type_id: 1, price: 5, charges: [charge] }, MARCH);
  const at = "2024-03-05T00:00:00Z";
  await company.use(
    id,
    [at, "1", { kind: "text", model: "a", size: 1, tokens: 10 }],
    [at, "2", { kind: "text", model: "a", tokens: "20.5" }],
    [at, "3", { kind: "text", model: "b", tokens: 30 }],
    [at, "4", { kind: "image", model: "a", tokens: 40 }],
    [at, "5", { kind: "text", model: "a" }],
  );
  billing.clock.set("2024-04-02T00:00:00Z");
  await company.run();
  await expectAllFound(company, id);
  const matches = new Map<number, unknown>();
  for (const event of await events(company)) {
    const { is_billed, lines } = await linesOf(company, event);
    expect(is_billed).toBe(true);
    matches.set(
      event.usage,
      lines.flatMap(({ line }: Json) => (line.charge_code === undefined ? [] : [line.match])),
    );
  }
  expect(Object.fromEntries(matches)).toEqual({
    1: [{ model: "a", size: "1" }],
    2: [{ model: "a" }],
    3: [null],
    4: [],
    5: [],
  });
});

test("only who may see a subscription finds its events, by their own time", async () => {
  billing.clock.set("2024-03-02T00:00:00Z");
  const [company, neighbour] = [await billing.addCompany(), await billing.addCompany()];
  const id = await company.subscribe(PER_UNIT, MARCH);
  await neighbour.subscribe(PER_UNIT, MARCH);
  await company.use(id, ["2024-03-05T00:00:00Z", "1"], ["2024-03-06T00:00:00Z", "2"]);
  const [event] = await events(company);
  const own = await company.addUser("client", company.client_id);
  const other = await company.addUser("client", await company.addClient());
  expect((await own("GET", `/my${pathOf(event)}`)).body.data).toMatchObject({ is_billed: false, lines: [] });
  for (const [api, path] of [
    [other, `/my${pathOf(event)}`],
    [neighbour.api, pathOf(event)],
    [company.api, pathOf(event, event.timestamp - 1)],
    [company.api, pathOf({ ...event, id: "00000000-0000-0000-0000-000000000000" })],
  ] as const)
    expect((await api("GET", path)).status).toBe(404);
  expect((await company.api("GET", pathOf({ ...event, id: "no-uuid" }))).status).toBe(422);
  expect((await company.api("GET", pathOf({ ...event, id: event.id.toUpperCase() }))).status).toBe(200);
});

test("an event is found by a UUID of any version, also once the documentation was read", async () => {
  billing.clock.set("2024-03-02T00:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(PER_UNIT, MARCH);
  const { external_subscription_id } = (await company.api("GET", `/subscriptions/${id}`)).body.data;
  // What makes the document registers a check of its own under the name of the format.
  expect((await billing.service.anonymous("GET", "origin:/openapi.json")).status).toBe(200);
  const event = { id: "b1e98d37-42c8-9553-43a2-604b6017f943", external_subscription_id, usage: 1 };
  const sent = await company.api("POST", "/usage/events", [event]);
  expect(sent.body.data).toMatchObject({ accepted: 1 });
  const [found] = await events(company);
  expect(found.id).toBe(event.id);
  expect(await linesOf(company, found)).toMatchObject({ is_billed: false });
  expect((await company.api("POST", "/usage/erasures", { ids: [event.id] })).status).toBe(202);
});
