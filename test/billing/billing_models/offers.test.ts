import { describe, expect, test } from "bun:test";
import { FLAT, useBilling } from "../fixtures.ts";
import type { Api, Json } from "../../support/harness.ts";

// Models for one client, and price books.

const billing = useBilling();

async function productOf(api: Api): Promise<number> {
  return (await api("GET", "/products")).body.data[0].id;
}

const said = ({ status, body }: { status: number; body: Json }) => [
  status,
  ...(body.details ?? [{ message: body.error }]).map(({ path, message }: Json) =>
    path === undefined ? message : `${path} ${message}`,
  ),
];

describe("a model for one client", () => {
  test("is a copy with what differs, which only that client's subscriptions can take", async () => {
    const company = await billing.addCompany();
    const { api, client_id } = company;
    const other_id = await company.addClient();
    const product_id = await productOf(api);
    const listed = await company.addModel({
      ...FLAT,
      name: "Pro",
      description: "All of it",
      plan_code: "pro",
    });
    const copied = await api("POST", `/billing-models/${listed}/copy`, {
      for_client_id: client_id,
      price: 25,
      commitment: { minimum: "10", interval: "month" },
    });
    expect([copied.status, copied.body.error]).toEqual([201, undefined]);
    const copy = copied.body.data;
    const original = (await api("GET", `/billing-models/${listed}`)).body.data;
    const { plan_code, ...same } = original;
    expect(plan_code).toBe("pro");
    expect(copy).toEqual({
      ...same,
      id: copy.id,
      price: 25,
      commitment: { minimum: "10", maximum: null },
      for_client_id: client_id,
      created_at: copy.created_at,
      updated_at: copy.updated_at,
    });

    const subscribe = (client: number, model: number) =>
      api("POST", "/subscriptions", {
        name: "Subscription",
        external_subscription_id: crypto.randomUUID(),
        product_id,
        client_id: client,
        billing_model_id: model,
      });
    const made_for_another = "/billing_model_id names a billing model that was made for another client";
    expect(said(await subscribe(other_id, copy.id))).toEqual([422, made_for_another]);
    expect((await subscribe(client_id, copy.id)).status).toBe(201);

    const others = (await subscribe(other_id, listed)).body.data.id;
    const change = (id: number, path: string) =>
      api("POST", `/subscriptions/${id}/${path}`, {
        new_billing_model_id: copy.id,
        ...(path === "billing-model-changes" ? { effective_at: "2040-02-01T00:00:00Z" } : {}),
      });
    const refused = [422, "/new_billing_model_id names a billing model that was made for another client"];
    expect(said(await change(others, "billing-model-changes"))).toEqual(refused);
    expect(said(await change(others, "upgrade"))).toEqual(refused);
    const own = (await subscribe(client_id, listed)).body.data.id;
    expect((await change(own, "billing-model-changes")).body.data.status).toBe("scheduled");

    const moved = await api("PUT", `/billing-models/${copy.id}`, {
      name: "Pro",
      description: "",
      for_client_id: other_id,
    });
    expect(said(moved)).toEqual([
      409,
      `Cannot change the client of billing model ${copy.id}: subscriptions have used it. Create a new billing model and schedule a billing model change`,
    ]);
  });

  test("is seen by users of that client alone, who see no other models", async () => {
    const company = await billing.addCompany();
    const { api, client_id } = company;
    const listed = await company.addModel({ ...FLAT });
    const made = await company.addModel({ ...FLAT, name: "Ours", for_client_id: client_id });
    const [mine, theirs] = [
      await company.addUser("client", client_id),
      await company.addUser("client", await company.addClient()),
    ];
    expect((await mine("GET", "/my/billing-models")).body.data.map(({ id }: Json) => id)).toEqual([made]);
    expect((await theirs("GET", "/my/billing-models")).body.data).toEqual([]);
    expect((await mine("GET", `/billing-models/${listed}`)).status).toBe(403);
    const of_client = await api("GET", `/billing-models?for_client_id=${client_id}`);
    expect(of_client.body.data.map(({ id }: Json) => id)).toEqual([made]);
  });

  test("of another company is not there, nor is its client", async () => {
    const [one, two] = [await billing.addCompany(), await billing.addCompany()];
    const model = await one.addModel(FLAT);
    const copy = (from: number, for_client_id: number) =>
      two.api("POST", `/billing-models/${from}/copy`, { for_client_id });
    expect((await copy(model, two.client_id)).status).toBe(404);
    const own = await two.addModel(FLAT);
    expect(said(await copy(own, one.client_id))).toEqual([
      422,
      "/for_client_id names no client of this company",
    ]);
    expect(
      said(
        await two.api("PUT", `/billing-models/${own}`, {
          name: "A",
          description: "",
          for_client_id: one.client_id,
        }),
      ),
    ).toEqual([422, "/for_client_id names no client of this company"]);
    const analyst = await two.addUser("analyst");
    expect(
      (await analyst("POST", `/billing-models/${own}/copy`, { for_client_id: two.client_id })).status,
    ).toBe(403);
  });
});

test("a price book has one model for each currency; a deleted one gives its place back", async () => {
  const [company, other] = [await billing.addCompany(), await billing.addCompany()];
  const { api } = company;
  const eur = await company.addModel({ ...FLAT, plan_code: "pro" });
  const usd = await company.addModel({ ...FLAT, plan_code: "pro", currency: "USD" });
  await other.addModel({ ...FLAT, plan_code: "pro" });
  const find = async (query: string) =>
    (await api("GET", `/billing-models?${query}`)).body.data.map(({ id }: Json) => id);
  expect(await find("plan_code=pro")).toEqual([eur, usd]);
  expect(await find("plan_code=pro&currency=USD")).toEqual([usd]);
  expect(await find("plan_code=basic")).toEqual([]);

  const taken = "/plan_code is already used by another billing model of this company in that currency";
  const another = { ...FLAT, name: "Plan", description: "", currency: "EUR", plan_code: "pro" };
  expect(said(await api("POST", "/billing-models", another))).toEqual([422, taken]);
  const moved = await api("PUT", `/billing-models/${usd}`, {
    name: "Plan",
    description: "",
    currency: "EUR",
  });
  expect(said(moved)).toEqual([422, taken]);
  expect((await api("POST", "/billing-models", { ...another, plan_code: "No code" })).status).toBe(422);

  const out = await api("PUT", `/billing-models/${eur}`, { name: "Plan", description: "", plan_code: null });
  expect(out.body.data.plan_code).toBeUndefined();
  expect((await api("POST", "/billing-models", another)).status).toBe(201);
  expect((await api("DELETE", `/billing-models/${usd}`)).status).toBe(200);
  expect((await api("POST", "/billing-models", { ...another, currency: "USD" })).status).toBe(201);
});
