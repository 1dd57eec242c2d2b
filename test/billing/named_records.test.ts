import { beforeAll, describe, expect, test } from "bun:test";
import { type Json, type Tenant, useService } from "../support/harness.ts";

// What clients and products have in common: records of a company that have a name and nothing else.

const service = useService();
const { api } = service;
let other: Tenant;

beforeAll(async () => {
  other = await service.addTenant();
});

const ON_ONE = [["GET"], ["PUT", { name: "x" }], ["DELETE"]] as const;

describe.each(["/clients", "/products"])("%s", (path) => {
  async function add(name = "Acme"): Promise<number> {
    return (await api("POST", path, { name })).body.data.id;
  }

  test("a record is created, read, renamed and deleted", async () => {
    const created = await api("POST", path, { name: "  Acme  " });
    expect(created.status).toBe(201);
    const { id, created_at } = created.body.data;
    expect(created.body).toEqual({
      data: { id, name: "Acme", company_id: service.company_id, created_at, updated_at: created_at },
    });
    expect(created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(await api("GET", `${path}/${id}`)).toMatchObject({ status: 200, body: created.body });

    const renamed = await api("PUT", `${path}/${id}`, { name: "Acme Ltd" });
    expect(renamed).toMatchObject({ status: 200, body: { data: { id, name: "Acme Ltd", created_at } } });

    expect(await api("DELETE", `${path}/${id}`)).toMatchObject({ status: 200, body: { data: {} } });
    for (const [method, body] of ON_ONE) {
      expect((await api(method, `${path}/${id}`, body)).status).toBe(404);
    }
  });

  test("the list is whole without a page, and a page with meta when one is asked for", async () => {
    const tenant = await service.addTenant();
    const all = ["Alpha", "beta 100%", "Gamma", "ALPHABET", "a_b", "Ärzte ÖL"];
    for (const name of all) await tenant.api("POST", path, { name });
    const names = async (query: string) => {
      const { body } = await tenant.api("GET", `${path}${query}`);
      return { names: body.data.map(({ name }: Json) => name), meta: body.meta };
    };
    expect(await names("")).toEqual({ names: all, meta: undefined });
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
    [{ name: "x", price: 2 }, [{ path: "/price", message: "is not a known field; known are name" }]],
    [[], [{ path: "", message: "must be an object" }]],
  ])("POST and PUT answer 422 naming the field: %j", async (body, details) => {
    const id = await add();
    for (const [method, at] of [
      ["POST", path],
      ["PUT", `${path}/${id}`],
    ] as const) {
      const answer = await api(method, at, body);
      expect(answer).toMatchObject({ status: 422, body: { details } });
      expect(answer.body.error).toBeString();
    }
  });

  test.each(["abc", "0", "-1", "1e3", "0x10", "1.0", "9007199254740992", "%20"])(
    "an id that is no positive whole number is a 422: %s",
    async (id) => {
      for (const [method, body] of ON_ONE) {
        const answer = await api(method, `${path}/${id}`, body);
        expect(answer).toMatchObject({ status: 422, body: { details: [{ path: "/id" }] } });
      }
    },
  );

  test("the largest exact id in JSON is merely not found", async () => {
    expect((await api("GET", `${path}/9007199254740991`)).status).toBe(404);
  });

  test.each(["?page=0", "?page=x", "?limit=0", "?limit=201", "?limit=1e1", "?page=", "?pgae=2", "?search="])(
    "a query out of range is refused, never clamped: %s",
    async (query) => {
      expect((await api("GET", `${path}${query}`)).status).toBe(422);
    },
  );

  test("another company's record is not there", async () => {
    const id = await add();
    for (const [method, body] of ON_ONE) {
      expect((await other.api(method, `${path}/${id}`, body)).status).toBe(404);
    }
    expect((await other.api("GET", path)).body.data).toEqual([]);
    expect((await api("GET", `${path}/${id}`)).body.data.name).toBe("Acme");
  });
});
