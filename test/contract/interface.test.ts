import { describe, expect, test } from "bun:test";
import { type Api, type Json, TestClock, useService } from "../support/harness.ts";
import { OAuthClient } from "../access/oauth/fixtures.ts";
import { DATE_TIME, expectList, expectShape, type Shape, stamps, UUID } from "./shapes.ts";

// Every row of every endpoint table of the interface document, by its name there, driven over HTTP: the
// status, the envelope, and each field with its type. Rows about billing model changes, forms and e-mandates are in files
// beside this one.

const clock = new TestClock("2026-03-10T12:00:00Z");
let client: Api;
/** Ids of records made in the rows above, for the rows below. */
const ids: Record<string, number> = {};

const service = useService({ clock });

const Client: Shape = { id: "integer", name: "string", company_id: "integer", ...stamps };
const Product = Client;
const BillingModel: Shape = {
  ...Client,
  billing_type_id: "integer",
  price: "number",
  currency: "string",
  description: "string",
};
const Subscription: Shape = {
  ...Client,
  external_subscription_id: "string",
  client_id: "integer",
  product_id: "integer",
  billing_model_id: "integer",
};
const BillingRecord: Shape = {
  id: "integer",
  subscription_id: "integer",
  billedUnits: "number",
  totalCharges: "string",
  billingStartAt: DATE_TIME,
  billingEndAt: DATE_TIME,
  ...stamps,
};
const UsageEvent: Shape = {
  id: UUID,
  subscription_id: "string",
  timestamp: "integer",
  usage: "number",
  metadata: "object",
  created_at: DATE_TIME,
};
const UsageAggregation: Shape = { group_key: "string", total_usage: "number", event_count: "integer" };

const META = { page: 1, limit: 20, total: expect.any(Number), total_pages: expect.any(Number) };

describe("Authentication", () => {
  test("POST /login", async () => {
    const { status, body } = await service.anonymous("POST", "/login", {
      email: service.admin_email,
      password: "correct horse battery",
    });
    expect(status).toBe(200);
    expectShape(body, { type: /^bearer$/, token: /^[\w-]+\.[\w-]+\.[\w-]+$/, expiresAt: DATE_TIME });
    expect(
      (await service.anonymous("POST", "/login", { email: service.admin_email, password: "no" })).status,
    ).toBe(401);
  });
});

describe("Company: clients", () => {
  test("POST /clients", async () => {
    const { status, body } = await service.api("POST", "/clients", { name: "Acme" });
    expect(status).toBe(201);
    expectShape(body.data, Client);
    ids.client = body.data.id;
    client = await service.addUser(service, "client", ids.client);
  });
  test("GET /clients", async () => {
    expectList((await service.api("GET", "/clients")).body, Client);
  });
  test("GET /clients/{id}", async () => {
    const { status, body } = await service.api("GET", `/clients/${ids.client}`);
    expect(status).toBe(200);
    expectShape(body.data, Client);
    expect(body.data.subscriptions).toBeArray();
    expect(await service.api("GET", "/clients/999999")).toMatchObject({
      status: 404,
      body: { error: expect.any(String) },
    });
  });
  test("PUT /clients/{id}", async () => {
    const { status, body } = await service.api("PUT", `/clients/${ids.client}`, { name: "Acme Ltd" });
    expect([status, body.data.name]).toEqual([200, "Acme Ltd"]);
    expectShape(body.data, Client);
  });
  test("DELETE /clients/{id}", async () => {
    const { id } = (await service.api("POST", "/clients", { name: "gone" })).body.data;
    expect((await service.api("DELETE", `/clients/${id}`)).status).toBe(200);
  });
});

describe("Company: products", () => {
  test("POST /products", async () => {
    const { status, body } = await service.api("POST", "/products", { name: "Tokens" });
    expect(status).toBe(201);
    expectShape(body.data, Product);
    ids.product = body.data.id;
  });
  test("GET /products", async () => {
    expectList((await service.api("GET", "/products")).body, Product);
  });
  test("GET /products/{id}", async () => {
    expectShape((await service.api("GET", `/products/${ids.product}`)).body.data, Product);
  });
  test("PUT /products/{id}", async () => {
    const { status, body } = await service.api("PUT", `/products/${ids.product}`, { name: "LLM tokens" });
    expect([status, body.data.name]).toEqual([200, "LLM tokens"]);
  });
  test("DELETE /products/{id}", async () => {
    const { id } = (await service.api("POST", "/products", { name: "gone" })).body.data;
    expect((await service.api("DELETE", `/products/${id}`)).status).toBe(200);
  });
});

describe("Company: billing models", () => {
  const model = {
    billing_type_id: 2,
    name: "Per token",
    price: 0.5,
    currency: "USD",
    description: "One price",
  };
  test("POST /billing-models", async () => {
    const { status, body } = await service.api("POST", "/billing-models", model);
    expect(status).toBe(201);
    expectShape(body.data, BillingModel);
    expect(body.data).toMatchObject(model);
    ids.billing_model = body.data.id;
  });
  test("GET /billing-models", async () => {
    expectList((await service.api("GET", "/billing-models")).body, BillingModel);
  });
  test("GET /billing-models/{id}", async () => {
    const { body } = await service.api("GET", `/billing-models/${ids.billing_model}`);
    expectShape(body.data, BillingModel);
    expect(body.data.usage_tiers).toBeArray();
  });
  test.each(Object.keys(model))("POST /billing-models requires %s", async (field) => {
    const { status, body } = await service.api("POST", "/billing-models", { ...model, [field]: undefined });
    expect([status, body.details[0].path]).toEqual([422, `/${field}`]);
  });
});

describe("Company: subscriptions", () => {
  const subscription = () => ({
    name: "Acme tokens",
    external_subscription_id: "acme-1",
    product_id: ids.product,
    client_id: ids.client,
    billing_model_id: ids.billing_model,
  });
  const embedded = () => ({
    client: { id: ids.client },
    product: { id: ids.product },
    billing_model: { id: ids.billing_model },
  });

  test("POST /subscriptions", async () => {
    clock.set("2026-01-20T00:00:00Z");
    const api = await service.signIn(service.admin_email);
    const { status, body } = await api("POST", "/subscriptions", subscription());
    clock.set("2026-03-10T12:00:00Z");
    expect(status).toBe(201);
    expectShape(body.data, Subscription);
    ids.subscription = body.data.id;
  });
  test("GET /subscriptions", async () => {
    const { body } = await service.api("GET", "/subscriptions");
    expectList(body, Subscription);
    expect(body.data[0]).toMatchObject(embedded());
  });
  test("GET /subscriptions/{id}", async () => {
    const { body } = await service.api("GET", `/subscriptions/${ids.subscription}`);
    expectShape(body.data, Subscription);
    expect(body.data).toMatchObject(embedded());
  });
  test.each(["name", "external_subscription_id", "product_id", "client_id", "billing_model_id"])(
    "POST /subscriptions requires %s",
    async (field) => {
      const { status, body } = await service.api("POST", "/subscriptions", {
        ...subscription(),
        [field]: undefined,
      });
      expect([status, body.details[0].path]).toEqual([422, `/${field}`]);
    },
  );
  test("DELETE /clients/{id} answers 409 when the client has active subscriptions", async () => {
    const { status, body } = await service.api("DELETE", `/clients/${ids.client}`);
    expect([status, body.error]).toEqual([
      409,
      `Cannot delete client ${ids.client}: it has 1 active subscription`,
    ]);
  });
});

describe("Company: usage search", () => {
  const all = { start_time: 0, end_time: 4_102_444_800_000 };

  test("POST /usage/search", async () => {
    const event = (day: number, usage: number, model: string) => ({
      external_subscription_id: "acme-1",
      timestamp: Temporal.Instant.from(`2026-02-0${day}T10:00:00Z`).epochMilliseconds,
      usage,
      metadata: { model },
    });
    const events = [event(1, 10, "large"), event(2, 20, "small"), event(2, 5, "large")];
    expect((await service.api("POST", "/usage/events", events)).status).toBe(201);
    const { status, body } = await service.api("POST", "/usage/search", all);
    expect(status).toBe(200);
    expectList(body, UsageEvent);
    expect(body.meta).toMatchObject({ page: 1, limit: 50, total: 3, total_pages: 1 });
    expect(body.data[0].subscription_id).toBe(`${service.company_id}:acme-1`);
    // timestamp, descending, is the default order
    const times = body.data.map((found: Json) => found.timestamp);
    expect(times).toEqual(times.toSorted((a: number, b: number) => b - a));
  });
  test("POST /usage/search with aggregate", async () => {
    for (const group_by of ["subscription", "client", "product", "day", "hour"]) {
      const { status, body } = await service.api("POST", "/usage/search", {
        ...all,
        aggregate: true,
        group_by,
      });
      expect(status).toBe(200);
      expectList(body, UsageAggregation);
      const total = body.data.reduce((sum: number, group: Json) => sum + group.total_usage, 0);
      expect(total).toBe(35);
    }
  });
  test.each([
    [{ client_ids: () => [ids.client] }, 3],
    [{ subscription_ids: () => [ids.subscription] }, 3],
    [{ external_subscription_ids: () => ["acme-1"] }, 3],
    [{ product_ids: () => [ids.product] }, 3],
    [{ metadata: () => ({ model: "large" }) }, 2],
    [{ metadata_search: () => "SMAL" }, 1],
    [{ start_time: () => Date.UTC(2026, 1, 2) }, 2],
    [{ end_time: () => Date.UTC(2026, 1, 2) }, 1],
    [{ relative: () => "last_month" }, 3],
    [{ relative: () => "last_24h" }, 0],
    [{ min_usage: () => 10 }, 2],
    [{ max_usage: () => 10 }, 2],
    [{ sort_by: () => "usage", sort_order: () => "asc", limit: () => 1, page: () => 2 }, 1],
  ] as [Record<string, () => unknown>, number][])("POST /usage/search filters: %o", async (filter, count) => {
    const body = Object.fromEntries(Object.entries(filter).map(([field, value]) => [field, value()]));
    const answer = await service.api("POST", "/usage/search", body);
    expect([answer.status, answer.body.data.length]).toEqual([200, count]);
  });
  test("POST /usage/search answers 403 for another company's client, 422 for a limit over 200", async () => {
    expect((await service.api("POST", "/usage/search", { client_ids: [999_999] })).status).toBe(403);
    expect((await service.api("POST", "/usage/search", { limit: 201 })).status).toBe(422);
  });
});

describe("Company: billing records", () => {
  test("GET /billing-records", async () => {
    expect((await service.api("POST", "/billing-runs", {})).status).toBe(200);
    const { status, body } = await service.api("GET", "/billing-records");
    expect(status).toBe(200);
    expectList(body, BillingRecord);
    expect(body.meta).toEqual({ ...META, total: 2, total_pages: 1 });
    const february = body.data.find((record: Json) => record.billingStartAt === "2026-02-01T00:00:00.000Z");
    expect(february).toMatchObject({
      billedUnits: 35,
      totalCharges: "17.50",
      billingEndAt: "2026-03-01T00:00:00.000Z",
    });
    ids.billing_record = february.id;
    expect((await service.api("GET", "/billing-records?page=2&limit=1")).body.meta).toEqual({
      page: 2,
      limit: 1,
      total: 2,
      total_pages: 2,
    });
  });
  test("GET /billing-records/{id}", async () => {
    const { body } = await service.api("GET", `/billing-records/${ids.billing_record}`);
    expectShape(body.data, BillingRecord);
    expect(body.data.subscription.id).toBe(ids.subscription);
    expect(body.data.lines).toBeArray();
  });
});

describe("Client self-service", () => {
  test("GET /my/subscriptions", async () => {
    expectList((await client("GET", "/my/subscriptions")).body, Subscription);
  });
  test("GET /my/subscriptions/{id}", async () => {
    expectShape((await client("GET", `/my/subscriptions/${ids.subscription}`)).body.data, Subscription);
  });
  test("GET /my/billing-records", async () => {
    const { body } = await client("GET", "/my/billing-records");
    expectList(body, BillingRecord);
    expect(body.meta).toEqual({ ...META, total: 2, total_pages: 1 });
  });
  test("GET /my/billing-records/{id}", async () => {
    expectShape((await client("GET", `/my/billing-records/${ids.billing_record}`)).body.data, BillingRecord);
  });
});

describe("MCP", () => {
  test("POST /mcp", async () => {
    const { access_token } = await (await OAuthClient.register(service)).authorize(service.admin_email);
    const headers = {
      authorization: `Bearer ${access_token}`,
      accept: "application/json, text/event-stream",
    };
    const request = { jsonrpc: "2.0", id: 7, method: "tools/list" };
    const answer = await service.anonymous("POST", "/mcp", request, headers);
    expect(answer.status).toBe(200);
    const { jsonrpc, id, result } = JSON.parse(answer.body.slice(answer.body.indexOf("data: ") + 6));
    expect([jsonrpc, id]).toEqual(["2.0", 7]);
    expect(result.tools.map(({ name }: Json) => name)).toContain("billing_find_subscriptions");
    expect((await service.anonymous("POST", "/mcp", request)).status).toBe(401);
  });
});

describe("OAuth support endpoints", () => {
  test("POST /oauth/register", async () => {
    const redirect_uris = ["http://127.0.0.1:33418/callback"];
    const { status, body } = await service.anonymous("POST", "origin:/oauth/register", { redirect_uris });
    expect(status).toBe(201);
    expect(body).toMatchObject({ client_id: expect.any(String), redirect_uris, scope: "mcp:tools" });
  });
  test("GET /.well-known/mcp.json", async () => {
    const { status, body } = await service.anonymous("GET", "origin:/.well-known/mcp.json");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      registration_endpoint: `${service.url}/oauth/register`,
      authorization_endpoint: `${service.url}/oauth/authorize`,
      mcp_endpoint: `${service.url}/api/v1/mcp`,
      scopes_supported: expect.arrayContaining(["mcp:tools"]),
      code_challenge_methods_supported: ["S256"],
    });
  });
});
