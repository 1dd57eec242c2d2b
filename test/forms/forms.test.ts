import { beforeAll, describe, expect, test } from "bun:test";
import { LIMITS } from "../../src/forms/limits.ts";
import { type Api, type Json, type Tenant, TestClock, useService } from "../support/harness.ts";
import { create, tally } from "../billing/subscriptions/fixtures.ts";

const NOW = "2026-03-15T10:00:00.000Z";
const clock = new TestClock(NOW);
const service = useService({ clock });
let other: Tenant;
let client_id: number;
/** Users of two clients of one company, and of another company's. */
let mine: Api;
let theirs: Api;
let foreign: Api;

beforeAll(async () => {
  other = await service.addTenant();
  const addClient = async (tenant: Tenant) => (await create(tenant.api, "/clients", { name: "Client" })).id;
  client_id = await addClient(service);
  mine = await service.addUser(service, "client", client_id);
  theirs = await service.addUser(service, "client", await addClient(service));
  foreign = await service.addUser(other, "client", await addClient(other));
});

/** Its keys stand in an order that a database would change. */
const CONFIG = {
  title: "Loan",
  fields: [
    { type: "select", options: ["b", "a"], name: "__proto__", label: " Purpose ", required: true },
    { placeholder: "", name: "zeta", label: "Ω", type: "text" },
  ],
  description: "d",
};
const form = (given: Json = {}) => ({ name: "Loan form", config: CONFIG, ...given });
const add = (api: Api, given: Json = {}): Promise<Json> => create(api, "/my/forms", form(given));

describe("a client's forms", () => {
  test("are created, read, replaced and deleted", async () => {
    const created = await mine("POST", "/my/forms", form({ name: "  Loan form ", description: "First" }));
    expect(created.status).toBe(201);
    const { id } = created.body.data;
    const stamps = { created_at: NOW, updated_at: NOW };
    expect(created.body.data).toEqual({
      ...stamps,
      id,
      name: "Loan form",
      description: "First",
      config: CONFIG,
      is_active: true,
      client_id,
      company_id: service.company_id,
    });
    expect(await mine("GET", `/my/forms/${id}`)).toMatchObject({ status: 200, body: created.body });

    clock.set("2026-03-15T11:00:00Z");
    const config = { title: "Other", fields: [{ name: "a", label: "A", type: "date" }] };
    const put = (body: Json) => mine("PUT", `/my/forms/${id}`, body);
    expect((await put({ name: "Second", config, is_active: false })).body.data).toEqual({
      ...created.body.data,
      name: "Second",
      description: null,
      config,
      is_active: false,
      updated_at: "2026-03-15T11:00:00.000Z",
    });
    expect((await put({ name: "Third", config })).body.data).toMatchObject({
      name: "Third",
      is_active: false,
    });
    clock.set(NOW);

    expect(await mine("DELETE", `/my/forms/${id}`)).toMatchObject({ status: 200, body: { data: {} } });
    for (const [method, body] of [["GET"], ["PUT", form()], ["DELETE"]] as const) {
      expect((await mine(method, `/my/forms/${id}`, body)).status).toBe(404);
    }
    expect((await service.api("GET", `/forms/${id}`)).status).toBe(404);
    expect((await mine("GET", "/my/forms")).body.data).toEqual([]);
  });

  test("come back exactly as they were sent", async () => {
    const { id } = await add(mine);
    for (const [api, path] of [
      [mine, "/my/forms"],
      [service.api, "/forms"],
    ] as const) {
      const { config } = (await api("GET", `${path}/${id}`)).body.data;
      expect(JSON.stringify(config)).toBe(JSON.stringify(CONFIG));
    }
  });

  test("are listed whole, in pages and by what is asked", async () => {
    const api = await service.addUser(
      service,
      "client",
      (await create(service.api, "/clients", { name: "L" })).id,
    );
    const ids: number[] = [];
    for (const name of ["Alpha", "Beta", "alphabet"]) ids.push((await add(api, { name })).id);
    await api("PUT", `/my/forms/${ids[1]}`, form({ name: "Beta", is_active: false }));
    const names = async (query: string) => {
      const { status, body } = await api("GET", `/my/forms${query}`);
      expect(status).toBe(200);
      return body.data.map((row: Json) => row.name);
    };
    expect(await names("")).toEqual(["Alpha", "Beta", "alphabet"]);
    expect((await api("GET", "/my/forms")).body).not.toHaveProperty("meta");
    expect(await names("?search=ALPHA")).toEqual(["Alpha", "alphabet"]);
    expect(await names("?search=%25")).toEqual([]);
    expect(await names("?is_active=false")).toEqual(["Beta"]);
    expect(await names("?is_active=true&search=bet")).toEqual(["alphabet"]);
    expect(await names("?page=2&limit=2")).toEqual(["alphabet"]);
    expect((await api("GET", "/my/forms?limit=2")).body.meta).toEqual({
      page: 1,
      limit: 2,
      total: 3,
      total_pages: 2,
    });
  });

  test("are at most as many as may be, however many are added at once", async () => {
    const api = await service.addUser(
      service,
      "client",
      (await create(service.api, "/clients", { name: "M" })).id,
    );
    const { forms_client } = LIMITS;
    Object.assign(LIMITS, { forms_client: 3 });
    try {
      const answers = await Promise.all(Array.from({ length: 8 }, () => api("POST", "/my/forms", form())));
      expect(tally(answers)).toEqual({ 201: 3, 409: 5 });
      await api("DELETE", `/my/forms/${(await api("GET", "/my/forms")).body.data[0].id}`);
      expect((await api("POST", "/my/forms", form())).status).toBe(201);
    } finally {
      Object.assign(LIMITS, { forms_client });
    }
  });
});

describe("who may see forms", () => {
  test("another client's or company's are not there", async () => {
    const { id } = await add(mine, { name: "Mine" });
    for (const api of [theirs, foreign]) {
      for (const [method, body] of [["GET"], ["PUT", form()], ["DELETE"]] as const) {
        expect((await api(method, `/my/forms/${id}`, body)).status).toBe(404);
      }
      expect((await api("GET", "/my/forms")).body.data.map((row: Json) => row.id)).not.toContain(id);
    }
    expect((await other.api("GET", `/forms/${id}`)).status).toBe(404);
    expect((await other.api("GET", `/forms?client_id=${client_id}`)).body.data).toEqual([]);
    expect((await mine("GET", `/my/forms/${id}`)).body.data.name).toBe("Mine");
  });

  test("company users read those of all clients, page by page, and change none", async () => {
    const { id } = await add(theirs, { name: "Theirs, findable" });
    const analyst = await service.addUser(service, "analyst");
    for (const api of [service.api, analyst]) {
      expect((await api("GET", `/forms/${id}`)).body.data).toMatchObject({ id, name: "Theirs, findable" });
      const { body } = await api("GET", "/forms?search=findable&is_active=true");
      expect(body.data.map((row: Json) => row.id)).toEqual([id]);
      expect(body.meta).toEqual({ page: 1, limit: 20, total: 1, total_pages: 1 });
    }
    const [found] = (await service.api("GET", `/forms?client_id=${client_id}&limit=1`)).body.data;
    expect(found.client_id).toBe(client_id);
    expect((await service.api("POST", "/forms", form())).status).toBe(405);
    for (const method of ["PUT", "DELETE"])
      expect((await service.api(method, `/forms/${id}`, {})).status).toBe(405);
  });

  test("each level has its own paths, and nobody has any", async () => {
    const { id } = await add(mine);
    for (const [method, path, body] of [
      ["GET", "/my/forms"],
      ["POST", "/my/forms", form()],
      ["POST", "/my/forms/validate", {}],
      ["GET", `/my/forms/${id}`],
      ["PUT", `/my/forms/${id}`, form()],
      ["DELETE", `/my/forms/${id}`],
    ] as const) {
      expect((await service.api(method, path, body)).status).toBe(403);
      expect((await service.anonymous(method, path, body)).status).toBe(401);
    }
    for (const path of ["/forms", `/forms/${id}`]) {
      expect((await mine("GET", path)).status).toBe(403);
      expect((await service.anonymous("GET", path)).status).toBe(401);
    }
  });
});

describe("what a form may not be", () => {
  const broken = {
    title: "x",
    fields: [
      { name: "a", label: "A", type: "text" },
      { name: "a", label: "A", type: "select" },
    ],
  };

  test.each<[Json, string[]]>([
    [{ name: undefined }, ["/name"]],
    [{ name: " " }, ["/name"]],
    [{ name: "x".repeat(201) }, ["/name"]],
    [{ description: "x".repeat(1_001) }, ["/description"]],
    [{ description: 7 }, ["/description"]],
    [{ config: undefined }, ["/config"]],
    [{ config: null }, ["/config"]],
    [{ config: "x" }, ["/config"]],
    [{ config: broken }, ["/config/fields/1/name", "/config/fields/1/options"]],
    [{ client_id: 1 }, ["/client_id"]],
    [{ id: 1 }, ["/id"]],
  ])("POST and PUT answer 422 naming the field: %j", async (given, paths) => {
    const { id } = await add(mine);
    for (const [method, path] of [
      ["POST", "/my/forms"],
      ["PUT", `/my/forms/${id}`],
    ] as const) {
      const { status, body } = await mine(method, path, form(given));
      expect(status).toBe(422);
      expect(body.details.map((detail: Json) => detail.path)).toEqual(paths);
    }
    expect((await mine("GET", `/my/forms/${id}`)).body.data.name).toBe("Loan form");
  });

  test("is_active is only for PUT, and a boolean", async () => {
    expect((await mine("POST", "/my/forms", form({ is_active: true }))).status).toBe(422);
    const { id } = await add(mine);
    for (const is_active of ["true", 1, null]) {
      expect((await mine("PUT", `/my/forms/${id}`, form({ is_active }))).status).toBe(422);
    }
  });

  test.each(["?client_id=1", "?is_active=1", "?is_active=", "?limit=201", "?page=0", "?search=", "?name=x"])(
    "a query that is not offered is refused: %s",
    async (query) => {
      expect((await mine("GET", `/my/forms${query}`)).status).toBe(422);
    },
  );

  test.each(["?client_id=0", "?client_id=x", "?is_active=yes", "?limit=0", "?sort=client_id"])(
    "a company user's query out of range is refused: %s",
    async (query) => {
      expect((await service.api("GET", `/forms${query}`)).status).toBe(422);
    },
  );

  test.each(["abc", "0", "1e3", "9007199254740992"])("an id that is none is a 422: %s", async (id) => {
    expect((await mine("GET", `/my/forms/${id}`)).status).toBe(422);
    expect((await service.api("GET", `/forms/${id}`)).status).toBe(422);
  });
});

describe("POST /my/forms/validate", () => {
  test.each<[string, unknown, string[]]>([
    ["a good config", { config: CONFIG }, []],
    ["no config", {}, ["/config: is required"]],
    ["no body", undefined, ["/config: is required"]],
    ["a config that is null", { config: null }, ["/config: must be an object"]],
    ["a config of another type", { config: 7 }, ["/config: must be an object"]],
    [
      "several problems",
      { config: { fields: [{ name: "a", label: "A", type: "select" }] } },
      ["/title: is required", "/fields/0/options: a select needs at least one option"],
    ],
  ])("answers %s", async (_, body, errors) => {
    const answer = await mine("POST", "/my/forms/validate", body);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ valid: errors.length === 0, errors });
  });

  test.each([[], [[]], "x", { config: CONFIG, name: "x" }].map((body) => [body]))(
    "refuses %j",
    async (body) => {
      expect((await mine("POST", "/my/forms/validate", JSON.stringify(body))).status).toBe(422);
    },
  );

  test("keeps nothing", async () => {
    const before = (await service.api("GET", "/forms")).body.meta.total;
    await mine("POST", "/my/forms/validate", { config: CONFIG });
    expect((await service.api("GET", "/forms")).body.meta.total).toBe(before);
  });
});
