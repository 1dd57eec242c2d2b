import { beforeAll, describe, expect, test } from "bun:test";
import { type Tenant, useService } from "../../support/harness.ts";
import { addCatalog, create, subscribe, tally } from "../subscriptions/fixtures.ts";

const service = useService();
const { api } = service;
let other: Tenant;

beforeAll(async () => {
  other = await service.addTenant();
});

async function addProduct(name = "Gold"): Promise<number> {
  return (await create(api, "/products", { name })).id;
}

const ON_ONE = [["GET"], ["PUT", { name: "x" }], ["DELETE"]] as const;

describe("products", () => {
  test("a product is created, read, renamed and deleted", async () => {
    const created = await api("POST", "/products", { name: "  Gold  " });
    expect(created.status).toBe(201);
    const { id, created_at } = created.body.data;
    expect(created.body).toEqual({
      data: { id, name: "Gold", company_id: service.company_id, created_at, updated_at: created_at },
    });
    expect(created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(await api("GET", `/products/${id}`)).toMatchObject({ status: 200, body: created.body });

    const renamed = await api("PUT", `/products/${id}`, { name: "Platinum" });
    expect(renamed).toMatchObject({ status: 200, body: { data: { id, name: "Platinum", created_at } } });

    expect(await api("DELETE", `/products/${id}`)).toMatchObject({ status: 200, body: { data: {} } });
    for (const [method, body] of ON_ONE) {
      expect((await api(method, `/products/${id}`, body)).status).toBe(404);
    }
  });

  test("the list is whole without a page, and a page with meta when one is asked for", async () => {
    const tenant = await service.addTenant();
    for (const name of ["Alpha", "beta 100%", "Gamma", "ALPHABET", "a_b"])
      await tenant.api("POST", "/products", { name });
    const names = async (query: string) => {
      const { body } = await tenant.api("GET", `/products${query}`);
      return { names: body.data.map((product: { name: string }) => product.name), meta: body.meta };
    };
    expect(await names("")).toEqual({
      names: ["Alpha", "beta 100%", "Gamma", "ALPHABET", "a_b"],
      meta: undefined,
    });
    expect(await names("?page=2&limit=2")).toEqual({
      names: ["Gamma", "ALPHABET"],
      meta: { page: 2, limit: 2, total: 5, total_pages: 3 },
    });
    expect((await names("?search=alpha")).names).toEqual(["Alpha", "ALPHABET"]);
    expect((await names("?search=100%25")).names).toEqual(["beta 100%"]);
    expect((await names("?search=_")).names).toEqual(["a_b"]);
  });

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

  test.each([
    [{}, [{ path: "/name", message: "is required" }]],
    [{ name: "" }, [{ path: "/name", message: "must be 1 to 200 characters, not blank" }]],
    [{ name: " \t " }, [{ path: "/name", message: "must be 1 to 200 characters, not blank" }]],
    [{ name: "x".repeat(201) }, [{ path: "/name", message: "must be 1 to 200 characters, not blank" }]],
    [{ name: 7 }, [{ path: "/name", message: "must be a string" }]],
    [{ name: null }, [{ path: "/name", message: "must be a string" }]],
    [{ name: "a\0b" }, [{ path: "/name", message: "must not contain the NUL character" }]],
    [{ name: "x", price: 2 }, [{ path: "/price", message: "is not a known field; known are name" }]],
    [[], [{ path: "", message: "must be an object" }]],
  ])("POST and PUT answer 422 naming the field: %j", async (body, details) => {
    const id = await addProduct();
    for (const [method, path] of [
      ["POST", "/products"],
      ["PUT", `/products/${id}`],
    ] as const) {
      expect(await api(method, path, body)).toMatchObject({ status: 422, body: { details } });
    }
  });

  test.each(["abc", "0", "-1", "1e3", "0x10", "1.0", "9007199254740992", "%20"])(
    "an id that is no positive whole number is a 422: %s",
    async (id) => {
      for (const [method, body] of ON_ONE) {
        const answer = await api(method, `/products/${id}`, body);
        expect(answer).toMatchObject({ status: 422, body: { details: [{ path: "/id" }] } });
      }
    },
  );

  test.each(["?page=0", "?limit=201", "?limit=1e1", "?page=", "?pgae=2", "?search="])(
    "a query out of range is refused, never clamped: %s",
    async (query) => {
      expect((await api("GET", `/products${query}`)).status).toBe(422);
    },
  );

  test("another company's product is not there", async () => {
    const id = await addProduct();
    for (const [method, body] of ON_ONE) {
      expect((await other.api(method, `/products/${id}`, body)).status).toBe(404);
    }
    expect((await other.api("GET", "/products")).body.data).toEqual([]);
    expect((await api("GET", `/products/${id}`)).body.data.name).toBe("Gold");
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
