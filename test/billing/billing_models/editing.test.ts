import { beforeAll, describe, expect, test } from "bun:test";
import { type Json, type Tenant, useService } from "../../support/harness.ts";
import { addCatalog, create, flatModel, subscribe, subscriptionBody } from "../subscriptions/fixtures.ts";

const service = useService();
const { api } = service;
let other: Tenant;

beforeAll(async () => {
  other = await service.addTenant();
});

async function addModel(given: Record<string, unknown> = {}): Promise<number> {
  return (await create(api, "/billing-models", flatModel(given))).id;
}

const RENAME = { name: "Renamed", description: "new" };
const ON_ONE = [["GET"], ["PUT", RENAME], ["DELETE"]] as const;

const PER_UNIT = { billing_type_id: 2, price: 3, free_units: "10", minimum_charge: "5" };
const GRADUATED = {
  billing_type_id: 3,
  price: 0,
  usage_tiers: [{ up_to: null, unit_price: "1", flat_fee: "0" }],
};

describe("changing a billing model that nobody has used", () => {
  test.each([
    ["fields left out stay", PER_UNIT, {}, {}],
    ["a price", PER_UNIT, { price: "4.50" }, { price: 4.5 }],
    ["null clears a charge", PER_UNIT, { minimum_charge: null }, { minimum_charge: null }],
    ["a currency", PER_UNIT, { currency: "JPY" }, { currency: "JPY" }],
    [
      "tiers as a whole",
      GRADUATED,
      {
        usage_tiers: [
          { up_to: 5, unit_price: 2 },
          { up_to: null, unit_price: 1 },
        ],
      },
      {
        usage_tiers: [
          { up_to: "5", unit_price: "2", flat_fee: "0" },
          { up_to: null, unit_price: "1", flat_fee: "0" },
        ],
      },
    ],
    [
      "a type that takes the same fields",
      GRADUATED,
      { billing_type_id: 4 },
      { billing_type_id: 4, billing_type: "volume" },
    ],
    [
      "a type that takes others, when the old ones are cleared",
      GRADUATED,
      { billing_type_id: 1, usage_tiers: [] },
      { billing_type_id: 1, billing_type: "flat", usage_tiers: [] },
    ],
  ])("%s", async (_, given, change, expected) => {
    const before = await create(api, "/billing-models", flatModel(given));
    const answer = await api("PUT", `/billing-models/${before.id}`, { ...RENAME, ...change });
    expect(answer.status).toBe(200);
    const { updated_at } = answer.body.data;
    expect(answer.body.data).toMatchObject({ ...before, ...RENAME, ...expected, updated_at });
    expect((await api("GET", `/billing-models/${before.id}`)).body).toEqual(answer.body);
  });

  test.each([
    [{}, {}, ["/name", "/description"]],
    [PER_UNIT, { name: "x" }, ["/description"]],
    [PER_UNIT, { ...RENAME, maximum_charge: "4" }, ["/minimum_charge"]],
    [PER_UNIT, { ...RENAME, billing_type_id: 1 }, ["/free_units", "/minimum_charge"]],
    [GRADUATED, { ...RENAME, usage_tiers: [] }, ["/usage_tiers"]],
    [{}, { ...RENAME, billing_type_id: 6 }, ["/credit_plan"]],
    [{}, { ...RENAME, status: "archived" }, ["/status"]],
    [{}, { ...RENAME, id: 1 }, ["/id"]],
  ])("the merged model is checked as a new one: %j with %j", async (given, body, paths) => {
    const before = await create(api, "/billing-models", flatModel(given));
    const answer = await api("PUT", `/billing-models/${before.id}`, body);
    expect(answer.status).toBe(422);
    expect(answer.body.details.map(({ path }: { path: string }) => path)).toEqual(paths);
    expect((await api("GET", `/billing-models/${before.id}`)).body.data).toEqual(before);
  });
});

/** A model with a subscription that uses it. */
async function used(given: Record<string, unknown>): Promise<{ model: Json; subscription: Json }> {
  const model = await create(api, "/billing-models", flatModel(given));
  const catalog = { ...(await addCatalog(service)), billing_model_id: model.id };
  return { model, subscription: await subscribe(api, catalog) };
}

describe("a billing model in use", () => {
  test.each([
    [PER_UNIT, { price: 4 }],
    [PER_UNIT, { currency: "EUR" }],
    [PER_UNIT, { billing_type_id: 5, package_size: "10" }],
    [PER_UNIT, { recurring_fee: "1" }],
    [PER_UNIT, { free_units: "0" }],
    [PER_UNIT, { minimum_charge: null }],
    [PER_UNIT, { maximum_charge: "9" }],
    [GRADUATED, { charge_flat_on_zero: true }],
    [GRADUATED, { usage_tiers: [{ up_to: null, unit_price: "2", flat_fee: "0" }] }],
  ])("keeps its price, also when the subscription has ended: %j with %j", async (given, change) => {
    const { model, subscription } = await used(given);
    const path = `/billing-models/${model.id}`;
    const expectRefusal = async () => {
      const answer = await api("PUT", path, { ...RENAME, ...change });
      expect(answer.status).toBe(409);
      expect(answer.body.error).toContain("schedule a billing model change");
      expect((await api("GET", path)).body.data).toEqual(model);
    };
    await expectRefusal();
    await api("POST", `/subscriptions/${subscription.id}/cancel`, { at: "now" });
    await expectRefusal();
  });

  test("takes a new name, also beside the same price in other words", async () => {
    const { model } = await used(GRADUATED);
    const usage_tiers = [{ flat_fee: 0, unit_price: "1.00", up_to: null }];
    const same = { billing_type_id: 3, price: "0.0", currency: "USD", usage_tiers, credit_plan: null };
    const answer = await api("PUT", `/billing-models/${model.id}`, { ...RENAME, ...same });
    expect(answer).toMatchObject({
      status: 200,
      body: { data: { ...RENAME, usage_tiers: model.usage_tiers } },
    });
  });

  test("is kept until its subscriptions have ended, then archived and no more to be had", async () => {
    const { model, subscription } = await used({});
    const path = `/billing-models/${model.id}`;
    expect(await api("DELETE", path)).toMatchObject({
      status: 409,
      body: { error: `Cannot delete billing model ${model.id}: it has 1 active subscription` },
    });
    await api("POST", `/subscriptions/${subscription.id}/cancel`, { at: "period_end" });
    expect((await api("DELETE", path)).status).toBe(409);
    await api("POST", `/subscriptions/${subscription.id}/cancel`, { at: "now" });
    expect(await api("DELETE", path)).toMatchObject({ status: 200, body: { data: {} } });

    for (const [method, body] of ON_ONE) expect((await api(method, path, body)).status).toBe(404);
    const { data } = (await api("GET", "/billing-models")).body;
    expect(data.map(({ id }: { id: number }) => id)).not.toContain(model.id);
    const ended = (await api("GET", `/subscriptions/${subscription.id}`)).body.data;
    expect(ended.billing_model).toMatchObject({ id: model.id, status: "archived" });
  });

  test("never charges a subscription another price than the one it was made with", async () => {
    const catalog = await addCatalog(service);
    const statuses = new Set<number>();
    for (let round = 0; round < 10; round++) {
      const model = await create(api, "/billing-models", flatModel({ price: 1 }));
      const path = `/billing-models/${model.id}`;
      const body = subscriptionBody({ ...catalog, billing_model_id: model.id });
      const change = () => api("PUT", path, { ...RENAME, price: 2 });
      const start = () => api("POST", "/subscriptions", body);
      const [first, second] = round % 2 === 0 ? [change, start] : [start, change];
      const answers = await Promise.all([first(), second()]);
      const [changed, started] = round % 2 === 0 ? answers : answers.toReversed();
      expect(started).toMatchObject({ status: 201 });
      statuses.add(changed?.status ?? 0);
      const now = (await api("GET", path)).body.data;
      expect(now.price).toBe(changed?.status === 200 ? 2 : 1);
      expect(started?.body.data.billing_model.price).toBe(now.price);
    }
    expect([...statuses].every((status) => status === 200 || status === 409)).toBe(true);
  });
});

describe("who may see and change billing models", () => {
  test.each(["abc", "0", "-1", "1e3", "0x10", "1.0", "9007199254740992", "%20"])(
    "an id that is no positive whole number is a 422: %s",
    async (id) => {
      for (const [method, body] of ON_ONE) {
        const answer = await api(method, `/billing-models/${id}`, body);
        expect(answer).toMatchObject({ status: 422, body: { details: [{ path: "/id" }] } });
      }
    },
  );

  test("another company's billing model is not there", async () => {
    const id = await addModel();
    for (const [method, body] of ON_ONE) {
      expect((await other.api(method, `/billing-models/${id}`, body)).status).toBe(404);
      expect((await api(method, "/billing-models/9007199254740991", body)).status).toBe(404);
    }
    expect((await other.api("GET", "/billing-models")).body.data).toEqual([]);
    expect((await api("GET", `/billing-models/${id}`)).body.data.name).toBe("Flat");
  });

  test("an analyst reads and may not write; a client user is sent to /my", async () => {
    const id = await addModel();
    const { client_id } = await addCatalog(service);
    const analyst = await service.addUser(service, "analyst");
    const client = await service.addUser(service, "client", client_id);
    for (const path of ["/billing-models", `/billing-models/${id}`, "/billing-types"]) {
      expect((await analyst("GET", path)).status).toBe(200);
      expect((await client("GET", path)).status).toBe(403);
      expect((await service.anonymous("GET", path)).status).toBe(401);
    }
    for (const [method, path, body] of [
      ["POST", "/billing-models", flatModel()],
      ["PUT", `/billing-models/${id}`, RENAME],
      ["DELETE", `/billing-models/${id}`],
    ] as const) {
      expect((await analyst(method, path, body)).status).toBe(403);
      expect((await client(method, path, body)).status).toBe(403);
    }
  });
});
