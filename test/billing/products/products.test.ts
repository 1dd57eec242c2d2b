import { describe, expect, test } from "bun:test";
import { useService } from "../../support/harness.ts";
import { addCatalog, create, subscribe, tally } from "../subscriptions/fixtures.ts";

const service = useService();
const { api } = service;

async function addProduct(name = "Gold"): Promise<number> {
  return (await create(api, "/products", { name })).id;
}

const ON_ONE = [["GET"], ["PUT", { name: "x" }], ["DELETE"]] as const;

describe("products", () => {
  test("a product is kept while an active subscription uses it, and may go when that has ended", async () => {
    const catalog = await addCatalog(service);
    const { id } = await subscribe(api, catalog);
    const path = `/products/${catalog.product_id}`;
    const refused = await api("DELETE", path);
    expect(refused).toMatchObject({
      status: 409,
      body: { error: `Cannot delete product ${catalog.product_id}: it has 1 active subscription` },
    });
    expect((await api("GET", path)).status).toBe(200);

    await api("POST", `/subscriptions/${id}/cancel`, { at: "now" });
    expect((await api("DELETE", path)).status).toBe(200);
    const ended = (await api("GET", `/subscriptions/${id}`)).body.data;
    expect(ended).toMatchObject({ status: "cancelled", product: { id: catalog.product_id } });
  });

  test("an analyst reads and may not write; a client user is sent to /my", async () => {
    const id = await addProduct();
    const { client_id } = await addCatalog(service);
    const analyst = await service.addUser(service, "analyst");
    const client = await service.addUser(service, "client", client_id);
    expect((await analyst("GET", `/products/${id}`)).status).toBe(200);
    expect((await analyst("GET", "/products")).status).toBe(200);
    expect((await analyst("POST", "/products", { name: "x" })).status).toBe(403);
    for (const [method, body] of ON_ONE) {
      if (method !== "GET") expect((await analyst(method, `/products/${id}`, body)).status).toBe(403);
      expect((await client(method, `/products/${id}`, body)).status).toBe(403);
    }
    expect((await client("GET", "/products")).status).toBe(403);
    expect((await service.anonymous("GET", "/products")).status).toBe(401);
  });

  test("of many parallel deletes one succeeds", async () => {
    const id = await addProduct();
    const answers = await Promise.all(Array.from({ length: 20 }, () => api("DELETE", `/products/${id}`)));
    expect(tally(answers)).toEqual({ 200: 1, 404: 19 });
  });
});
