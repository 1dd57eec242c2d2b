import { beforeAll, describe, expect, test } from "bun:test";
import { type Tenant, useService } from "../../support/harness.ts";

const service = useService();
const { api } = service;
let other: Tenant;

beforeAll(async () => {
  other = await service.addTenant();
});

async function addClient(name = "Acme"): Promise<number> {
  return (await api("POST", "/clients", { name })).body.data.id;
}

describe("clients", () => {
  test("a client is created, read, renamed and deleted", async () => {
    const created = await api("POST", "/clients", { name: "  Acme  " });
    expect(created.status).toBe(201);
    const { id, created_at } = created.body.data;
    expect(created.body).toEqual({
      data: { id, name: "Acme", company_id: service.company_id, created_at, updated_at: created_at },
    });
    expect(created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

    const read = await api("GET", `/clients/${id}`);
    expect(read).toMatchObject({ status: 200, body: { data: { ...created.body.data, subscriptions: [] } } });

    const renamed = await api("PUT", `/clients/${id}`, { name: "Acme Ltd" });
    expect(renamed).toMatchObject({ status: 200, body: { data: { id, name: "Acme Ltd", created_at } } });

    expect(await api("DELETE", `/clients/${id}`)).toMatchObject({ status: 200, body: { data: {} } });
    for (const [method, body] of [["GET"], ["PUT", { name: "x" }], ["DELETE"]] as const) {
      expect((await api(method, `/clients/${id}`, body)).status).toBe(404);
    }
  });

  test("the list is whole without a page, and a page with meta when one is asked for", async () => {
    const tenant = await service.addTenant();
    for (const name of ["Alpha", "beta 100%", "Gamma", "ALPHABET", "a_b", "Ärzte ÖL"])
      await tenant.api("POST", "/clients", { name });
    const names = async (query: string) => {
      const { body } = await tenant.api("GET", `/clients${query}`);
      return { names: body.data.map((client: { name: string }) => client.name), meta: body.meta };
    };
    expect(await names("")).toEqual({
      names: ["Alpha", "beta 100%", "Gamma", "ALPHABET", "a_b", "Ärzte ÖL"],
      meta: undefined,
    });
    expect(await names("?page=2&limit=2")).toEqual({
      names: ["Gamma", "ALPHABET"],
      meta: { page: 2, limit: 2, total: 6, total_pages: 3 },
    });
    expect(await names("?page=9")).toMatchObject({
      names: [],
      meta: { page: 9, limit: 20, total: 6, total_pages: 1 },
    });
    expect((await names("?search=alpha")).names).toEqual(["Alpha", "ALPHABET"]);
    expect((await names("?search=100%25")).names).toEqual(["beta 100%"]);
    expect((await names("?search=_")).names).toEqual(["a_b"]);
    expect((await names(`?search=${encodeURIComponent("Ärzte ÖL")}`)).names).toEqual(["Ärzte ÖL"]);
  });

  test.each([
    [{}, [{ path: "/name", message: "is required" }]],
    [{ name: "" }, [{ path: "/name", message: "must be 1 to 200 characters, not blank" }]],
    [{ name: " \t " }, [{ path: "/name", message: "must be 1 to 200 characters, not blank" }]],
    [{ name: "x".repeat(201) }, [{ path: "/name", message: "must be 1 to 200 characters, not blank" }]],
    [{ name: 7 }, [{ path: "/name", message: "must be a string" }]],
    [{ name: null }, [{ path: "/name", message: "must be a string" }]],
    [{ name: "a\0b" }, [{ path: "/name", message: "must not contain the NUL character" }]],
    [
      { name: "x", company_id: 2 },
      [{ path: "/company_id", message: "is not a known field; known are name" }],
    ],
    [[], [{ path: "", message: "must be an object" }]],
  ])("POST and PUT answer 422 naming the field: %j", async (body, details) => {
    const id = await addClient();
    for (const [method, path] of [
      ["POST", "/clients"],
      ["PUT", `/clients/${id}`],
    ] as const) {
      const answer = await api(method, path, body);
      expect(answer).toMatchObject({ status: 422, body: { details } });
      expect(answer.body.error).toBeString();
    }
  });

  test.each(["abc", "0", "-1", "1e3", "0x10", "1.0", "9007199254740992", "%20"])(
    "an id that is no positive whole number is a 422: %s",
    async (id) => {
      for (const [method, body] of [["GET"], ["PUT", { name: "x" }], ["DELETE"]] as const) {
        const answer = await api(method, `/clients/${id}`, body);
        expect(answer).toMatchObject({ status: 422, body: { details: [{ path: "/id" }] } });
      }
    },
  );

  test("the largest id that JSON can tell is merely not found", async () => {
    expect((await api("GET", "/clients/9007199254740991")).status).toBe(404);
  });

  test.each(["?page=0", "?page=x", "?limit=0", "?limit=201", "?limit=1e1", "?page=", "?pgae=2", "?search="])(
    "a query out of range is refused, never clamped: %s",
    async (query) => {
      expect((await api("GET", `/clients${query}`)).status).toBe(422);
    },
  );

  test("another company's client is not there", async () => {
    const id = await addClient();
    for (const [method, body] of [["GET"], ["PUT", { name: "x" }], ["DELETE"]] as const) {
      expect((await other.api(method, `/clients/${id}`, body)).status).toBe(404);
    }
    expect((await other.api("GET", "/clients")).body.data).toEqual([]);
    expect((await api("GET", `/clients/${id}`)).body.data.name).toBe("Acme");
  });

  test("an analyst reads and may not write; a client user is sent to /my", async () => {
    const id = await addClient();
    const analyst = await service.addUser(service, "analyst");
    expect((await analyst("GET", `/clients/${id}`)).status).toBe(200);
    expect((await analyst("POST", "/clients", { name: "x" })).status).toBe(403);
    expect((await analyst("DELETE", `/clients/${id}`)).status).toBe(403);
    const client = await service.addUser(service, "client", id);
    expect((await client("GET", "/clients")).status).toBe(403);
    expect((await client("POST", "/clients", {})).status).toBe(403);
  });

  test("deleting a client ends its users' tokens", async () => {
    const id = await addClient();
    const client = await service.addUser(service, "client", id);
    expect((await client("GET", "/me")).status).toBe(200);
    await api("DELETE", `/clients/${id}`);
    expect((await client("GET", "/me")).status).toBe(401);
  });

  test("two hundred clients made in parallel get two hundred ids", async () => {
    const tenant = await service.addTenant();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) => tenant.api("POST", "/clients", { name: `c${i}` })),
    );
    expect(new Set(answers.map((answer) => answer.body.data.id)).size).toBe(200);
  });
});
