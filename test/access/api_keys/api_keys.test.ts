import { afterEach, describe, expect, test } from "bun:test";
import { LIMITS } from "../../../src/access/limits.ts";
import { apiKeyTable } from "../../../src/access/api_keys/tables.ts";
import { auditLogTable } from "../../../src/audit/tables.ts";
import { idempotencyKeyTable } from "../../../src/idempotency/tables.ts";
import { type Api, type Json, TestClock, useService } from "../../support/harness.ts";
import { addKey, addMachine, exchange } from "./fixtures.ts";

// Keys as their company manages them.

const NOW = "2026-03-10T12:00:00.000Z";
const clock = new TestClock(NOW);
const limits = { ...LIMITS };

const service = useService({ clock });

afterEach(() => {
  Object.assign(LIMITS, limits);
  clock.set(NOW);
});

const good = { name: "Kiosk", role: "agent", environment: "staging" };

async function list(api: Api, query = ""): Promise<Json> {
  const { status, body } = await api("GET", `/api-keys${query}`);
  expect(status).toBe(200);
  return body;
}

describe("a new key", () => {
  test.each([
    ["lender", "staging", "stg_"],
    ["agent", "production", "prd_"],
    ["ingest", "production", "prd_"],
  ])("of the role %s for %s is answered with its secret, once", async (role, environment, prefix) => {
    const tenant = await service.addTenant();
    const { status, body } = await tenant.api("POST", "/api-keys", { name: " Kiosk ", role, environment });
    const { clientSecret, ...key } = body.data;
    expect(status).toBe(201);
    expect(key).toEqual({
      id: expect.any(Number),
      company_id: tenant.company_id,
      clientId: expect.stringMatching(new RegExp(`^${prefix}[A-Za-z0-9]{24}$`)),
      name: "Kiosk",
      role,
      environment,
      last4: clientSecret.slice(-4),
      old_secret_ends_at: null,
      replaces_id: null,
      last_used_at: null,
      revoked_at: null,
      created_at: NOW,
      updated_at: NOW,
    });
    expect(Buffer.from(clientSecret, "base64url")).toHaveLength(32);
    expect((await tenant.api("GET", `/api-keys/${key.id}`)).body).toEqual({ data: key });
    expect(await list(tenant.api)).toEqual({ data: [key] });
  });

  test("has an id and a secret of its own", async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => addKey(service, "agent")));
    expect(new Set(keys.map(({ clientId }) => clientId)).size).toBe(20);
    expect(new Set(keys.map(({ clientSecret }) => clientSecret)).size).toBe(20);
  });

  test("leaves no secret in the database, only its digest and how it ends", async () => {
    const { clientSecret, id } = await addKey(service, "lender");
    await service.api("POST", `/api-keys/${id}/rotate`, {});
    const api_keys = service.deps.store.read.use(apiKeyTable);
    const audit_log = service.deps.store.read.use(auditLogTable);
    const rows = [
      ...(await service.deps.store.read.select().from(api_keys)),
      ...(await service.deps.store.read.select().from(audit_log)),
    ];
    expect(JSON.stringify(rows)).toContain(
      new Bun.CryptoHasher("sha256").update(clientSecret).digest("base64url"),
    );
    expect(JSON.stringify(rows)).not.toContain(clientSecret);
  });

  test.each([
    [{}, ["/name", "/role", "/environment"]],
    [{ ...good, name: "" }, ["/name"]],
    [{ ...good, name: "x".repeat(101) }, ["/name"]],
    [{ ...good, name: 1 }, ["/name"]],
    [{ ...good, role: "admin" }, ["/role"]],
    [{ ...good, environment: "prod" }, ["/environment"]],
    [{ ...good, environment: ["staging"] }, ["/environment"]],
    [{ ...good, role: "ingest" }, ["/environment"]],
    [{ ...good, company_id: 1 }, ["/company_id"]],
    [{ ...good, clientSecret: "mine" }, ["/clientSecret"]],
    [[good], [""]],
  ])("that breaks a rule is a 422 that names it: %j", async (body, paths) => {
    const before = (await list(service.api)).data.length;
    const answer = await service.api("POST", "/api-keys", body);
    expect(answer.status).toBe(422);
    expect(answer.body.details.map(({ path }: Json) => path)).toEqual(paths);
    expect((await list(service.api)).data).toHaveLength(before);
  });

  test("may have a name of 100 characters", async () => {
    expect((await service.api("POST", "/api-keys", { ...good, name: "é".repeat(100) })).status).toBe(201);
  });

  test("is a 409 where there are as many as may be; a revoked one makes room", async () => {
    const { api } = await service.addTenant();
    Object.assign(LIMITS, { api_keys: 3 });
    const answers = await Promise.all(Array.from({ length: 8 }, () => api("POST", "/api-keys", good)));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([201, 201, 201, 409, 409, 409, 409, 409]);
    const [{ id }] = (await list(api)).data;
    await api("DELETE", `/api-keys/${id}`);
    expect((await api("POST", "/api-keys", good)).status).toBe(201);
  });
});

describe("the list", () => {
  test("has revoked keys too, and is narrowed by role, environment, state and words", async () => {
    const { api } = await service.addTenant();
    const add = async (name: string, role: string, environment: string) =>
      (await api("POST", "/api-keys", { name, role, environment })).body.data;
    const a = await add("Bank", "lender", "staging");
    const b = await add("Bank", "lender", "production");
    await add("Broker", "agent", "production");
    await add("Meter", "ingest", "production");
    await api("DELETE", `/api-keys/${b.id}`);
    const names = async (query: string) =>
      (await list(api, query)).data.map(({ name, environment }: Json) => `${name} ${environment}`);
    expect(await names("")).toHaveLength(4);
    expect(await names("?role=lender")).toEqual(["Bank staging", "Bank production"]);
    expect(await names("?environment=production&role=agent")).toEqual(["Broker production"]);
    expect(await names("?revoked=true")).toEqual(["Bank production"]);
    expect(await names("?revoked=false")).toEqual(["Bank staging", "Broker production", "Meter production"]);
    expect(await names("?search=bro")).toEqual(["Broker production"]);
    expect(await names(`?search=${a.clientId}`)).toEqual(["Bank staging"]);
    expect(await names("?search=%25")).toEqual([]);
    const page = await list(api, "?page=2&limit=3");
    expect(page.meta).toEqual({ page: 2, limit: 3, total: 4, total_pages: 2 });
    expect(page.data.map(({ name }: Json) => name)).toEqual(["Meter"]);
  });

  test.each(["role=admin", "environment=prod", "revoked=1", "limit=0", "limit=201", "search=", "secret=x"])(
    "a query that does not fit is a 422: %s",
    async (query) => {
      const { status, body } = await service.api("GET", `/api-keys?${query}`);
      expect([status, body.details[0].path]).toEqual([422, `/${query.split("=")[0]}`]);
    },
  );
});

describe("who manages keys", () => {
  const calls: [string, string, unknown?][] = [
    ["GET", "/api-keys"],
    ["POST", "/api-keys", good],
    ["GET", "/api-keys/1"],
    ["POST", "/api-keys/1/rotate", {}],
    ["DELETE", "/api-keys/1"],
  ];

  test("admins only: managers, analysts and client users get 403, strangers 401", async () => {
    const { id } = (await service.api("POST", "/clients", { name: "Acme" })).body.data;
    const users = [
      await service.addUser(service, "manager"),
      await service.addUser(service, "analyst"),
      await service.addUser(service, "client", id),
      (await addMachine(service, service, "lender")).api,
    ];
    for (const [method, path, body] of calls) {
      for (const api of users) expect((await api(method, path, body)).status).toBe(403);
      expect((await service.anonymous(method, path, body)).status).toBe(401);
    }
  });

  test("of one company: another's key is a 404, and stays as it is", async () => {
    const other = await service.addTenant();
    const key = await addKey(other, "agent");
    const path = `/api-keys/${key.id}`;
    expect((await service.api("GET", path)).status).toBe(404);
    expect((await service.api("POST", `${path}/rotate`, { grace_hours: 0 })).status).toBe(404);
    expect((await service.api("DELETE", path)).status).toBe(404);
    expect((await list(service.api)).data.map(({ id }: Json) => id)).not.toContain(key.id);
    expect((await exchange(service, key)).status).toBe(200);
    expect((await other.api("GET", path)).body.data).toMatchObject({ revoked_at: null });
  });
});

describe("revoking", () => {
  test("ends the key and leaves it listed; a second time is a 409, as is a rotation", async () => {
    const key = await addKey(service, "agent");
    const path = `/api-keys/${key.id}`;
    clock.set("2026-03-11T00:00:00Z");
    expect(await service.api("DELETE", path)).toMatchObject({ status: 200, body: { data: {} } });
    const revoked = { id: key.id, revoked_at: "2026-03-11T00:00:00.000Z", last4: key.last4 };
    expect((await service.api("GET", path)).body.data).toMatchObject(revoked);
    for (const [method, at, action] of [
      ["DELETE", path, "revoke"],
      ["POST", `${path}/rotate`, "rotate"],
    ] as const) {
      const { status, body } = await service.api(method, at, method === "POST" ? {} : undefined);
      expect([status, body.error]).toEqual([409, `Cannot ${action} API key ${key.id}: it is revoked`]);
    }
  });

  test("many at once do it once", async () => {
    const { id } = await addKey(service, "agent");
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => service.api("DELETE", `/api-keys/${id}`)),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200, 409, 409, 409, 409, 409,
    ]);
  });
});

describe("rotating", () => {
  test.each([
    ["null", "", "must be an object"],
    ["[]", "", "must be an object"],
    ["5", "", "must be an object"],
    ['""', "", "must be an object"],
    ['{"__proto__":{"grace_hours":0}}', "/__proto__", "is not a known field; known are grace_hours"],
  ])("refuses the body %s, and keeps the secret", async (body, path, message) => {
    const { id, last4 } = await addKey(service, "agent");
    const answer = await service.api("POST", `/api-keys/${id}/rotate`, body);
    expect(answer).toMatchObject({ status: 422, body: { details: [{ path, message }] } });
    const { data } = (await service.api("GET", `/api-keys/${id}`)).body;
    expect(data).toMatchObject({ last4, old_secret_ends_at: null });
  });

  test("takes no body as an empty one: the old secret is good for a day", async () => {
    const { id } = await addKey(service, "agent");
    const { status, body } = await service.api("POST", `/api-keys/${id}/rotate`);
    expect([status, body.data.old_secret_ends_at]).toEqual([200, "2026-03-11T12:00:00.000Z"]);
  });
});

describe("the audit log", () => {
  test("tells who made, rotated and revoked a key, without its secret", async () => {
    const tenant = await service.addTenant();
    const { id, clientSecret } = await addKey(tenant, "agent");
    const rotated = await tenant.api("POST", `/api-keys/${id}/rotate`, { grace_hours: 1 });
    await tenant.api("DELETE", `/api-keys/${id}`);
    const { body } = await tenant.api("GET", `/audit-log?target_type=api_key&target_id=${id}`);
    expect(body.data.map(({ operation, input }: Json) => [operation, input])).toEqual([
      ["revoke_api_key", { id }],
      ["rotate_api_key", { id, grace_hours: 1 }],
      ["create_api_key", { name: "A agent", role: "agent", environment: "production" }],
    ]);
    for (const secret of [clientSecret, rotated.body.data.clientSecret])
      expect(JSON.stringify(body)).not.toContain(secret);
  });
});

describe("an Idempotency-Key", () => {
  test.each(["", "/rotate"])("makes one secret and keeps none: POST /api-keys…%s", async (action) => {
    const tenant = await service.addTenant();
    const { id } = await addKey(tenant, "agent");
    const path = action === "" ? "/api-keys" : `/api-keys/${id}${action}`;
    const body = action === "" ? good : {};
    const headers = { "idempotency-key": `once${action}` };
    const first = await tenant.api("POST", path, body, headers);
    const again = await tenant.api("POST", path, body, headers);
    expect([first.status, again.status]).toEqual([action === "" ? 201 : 200, 409]);
    expect(again.body.error).toBe(
      `The request with this Idempotency-Key was carried out (api_key ${first.body.data.id}), but its response was not stored: look the record up`,
    );
    const idempotency_keys = service.deps.store.read.use(idempotencyKeyTable);
    const rows = await service.deps.store.read.select().from(idempotency_keys);
    expect(JSON.stringify(rows)).not.toContain(first.body.data.clientSecret);
    expect((await list(tenant.api)).data).toHaveLength(action === "" ? 2 : 1);
  });
});
