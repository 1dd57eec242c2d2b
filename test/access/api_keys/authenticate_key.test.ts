import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { operation } from "../../../src/app/operation.ts";
import { ById, Nothing } from "../../../src/core/schema.ts";
import { endpoint, route, routes } from "../../../src/http/route.ts";
import { INSTANCES, type Service, startService, TestClock } from "../../support/harness.ts";
import { addMachine, exchange, serve, withToken } from "./fixtures.ts";

// What holds for every call of a machine, whatever it asks for: tried on an operation of the tests' own.

const NOW = "2026-03-10T12:00:00.000Z";
const clock = new TestClock(NOW);
let service: Service;
let served: ReturnType<typeof serve>;
let runs = 0;

/** Something that a lender may do. */
const approveSomething = operation({
  name: "approve_something",
  permission: "lending:write",
  input: ById,
  output: Nothing,
  run: ({ store }) =>
    store.tx(async () => {
      runs++;
      return {};
    }),
});

beforeAll(async () => {
  service = await startService({ clock });
  served = serve(
    service,
    routes({ tag: "Tests", admits: "lender" }, [
      route("POST /lender/approve", approveSomething, { summary: "Approve" }),
      route("POST /lender/other", approveSomething, { summary: "Approve elsewhere" }),
    ])(service.deps),
  );
});
afterEach(() => clock.set(NOW));
afterAll(async () => {
  await served.stop();
  await service.stop();
});

async function addLender(
  tenant: Pick<Service, "api"> & { company_id: number; admin_email: string } = service,
) {
  const { key, token } = await addMachine(service, tenant, "lender");
  return { key, token, api: withToken(served, token) };
}

describe("the audit log", () => {
  test("tells which key did it, and finds what a key did", async () => {
    const tenant = await service.addTenant();
    const [one, two] = [await addLender(tenant), await addLender(tenant)];
    expect((await one.api("POST", "/lender/approve", { id: 7 })).status).toBe(200);
    expect((await two.api("POST", "/lender/approve", { id: 8 })).status).toBe(200);
    const { body } = await tenant.api("GET", `/audit-log?key_id=${one.key.id}&target_type=something`);
    expect(body.meta.total).toBe(1);
    expect(body.data).toEqual([
      expect.objectContaining({
        actor: {
          kind: "key",
          key_id: one.key.id,
          user_id: null,
          email: null,
          role: null,
          authorization_id: null,
        },
        operation: "approve_something",
        origin: "rest",
        outcome: "ok",
        target: { type: "something", id: 7 },
      }),
    ]);
  });

  test.each(["0", "x", "1.5"])("refuses a key_id that can't be one: %s", async (key_id) => {
    const { status, body } = await service.api("GET", `/audit-log?key_id=${key_id}`);
    expect([status, body.details[0].path]).toEqual([422, "/key_id"]);
  });

  test("finds nothing of another company's key", async () => {
    const other = await service.addTenant();
    const { key, api } = await addLender(other);
    await api("POST", "/lender/approve", { id: 7 });
    expect((await service.api("GET", `/audit-log?key_id=${key.id}`)).body.data).toEqual([]);
  });
});

describe("an Idempotency-Key", () => {
  const headers = { "idempotency-key": "once" };

  test("is carried out once for a key, also after its token was renewed", async () => {
    const { key, api } = await addLender();
    const before = runs;
    const first = await api("POST", "/lender/approve", { id: 7 }, headers);
    const { token } = (await exchange(service, key)).body;
    const again = await withToken(served, token)("POST", "/lender/approve", { id: 7 }, headers);
    expect([first.status, again.status, runs - before]).toEqual([200, 200, 1]);
    expect([first, again].map((answer) => answer.headers.get("idempotent-replayed"))).toEqual([null, "true"]);
    const another = await api("POST", "/lender/approve", { id: 8 }, headers);
    expect([another.status, runs - before]).toEqual([409, 1]);
  });

  test("of many requests at once is carried out once", async () => {
    const { api } = await addLender();
    const before = runs;
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => api("POST", "/lender/approve", { id: 7 }, headers)),
    );
    expect(runs - before).toBe(1);
    expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
  });

  test("belongs to one key and path: no other key, no user with the same id meets it", async () => {
    // Ids of keys and users count up from 1 on their own.
    const fresh = await startService({ clock });
    const server = serve(
      fresh,
      routes({ tag: "Tests", admits: ["company", "lender"] }, [
        {
          method: "POST",
          path: "/both",
          schemas: { response: {} },
          detail: { summary: "Who calls" },
          reads_body: true,
          is_list: false,
          run: async ({ ctx }) => ({ status: 200, answer: { actor: ctx.actor } }),
        },
      ])(fresh.deps),
    );
    const machine = await addMachine(fresh, fresh, "lender");
    const { token } = (
      await fresh.anonymous("POST", "/login", {
        email: fresh.admin_email,
        password: "correct horse battery",
      })
    ).body;
    const me = (await fresh.api("GET", "/me")).body.data;
    expect(machine.key.id).toBe(me.id);
    const kinds = [];
    for (const one of [token, machine.token]) {
      const { status, body } = await withToken(server, one)("POST", "/both", {}, headers);
      kinds.push([status, body.actor?.kind]);
    }
    expect(kinds).toEqual([
      [200, "user"],
      [200, "key"],
    ]);
    await server.stop();
    await fresh.stop();
  });

  test("that can't be one is a 422", async () => {
    const { api } = await addLender();
    const { status, body } = await api("POST", "/lender/approve", { id: 7 }, { "idempotency-key": "a b" });
    expect([status, body.details[0].path]).toEqual([422, "/Idempotency-Key"]);
  });
});

test("the request limit counts each key for itself, apart from users with the same id", async () => {
  // The server below is one instance's, with its share.
  const RATE_LIMIT_REQUESTS = String(4 * INSTANCES);
  const limited = await startService({ clock, env: { RATE_LIMIT_ENABLED: "true", RATE_LIMIT_REQUESTS } });
  const server = serve(
    limited,
    routes({ tag: "Tests", admits: "lender" }, [
      endpoint("GET /lender", { response: {}, detail: { summary: "Ok" } }, async () => "ok"),
    ])(limited.deps),
  );
  const [one, two] = [
    await addMachine(limited, limited, "lender"),
    await addMachine(limited, limited, "lender"),
  ];
  const statuses = [];
  for (const { token } of [one, one, one, one, one, two])
    statuses.push((await withToken(server, token)("GET", "/lender")).status);
  expect(statuses).toEqual([200, 200, 200, 200, 429, 200]);
  // Two of the admin's were spent on the keys.
  expect((await limited.api("GET", "/me")).status).toBe(200);
  await server.stop();
  await limited.stop();
});

describe("a revoked key", () => {
  test("ends between two requests, for all that its company has of other keys not", async () => {
    const [one, two] = [await addLender(), await addLender()];
    expect((await one.api("POST", "/lender/approve", { id: 1 })).status).toBe(200);
    await service.api("DELETE", `/api-keys/${one.key.id}`);
    const before = runs;
    expect((await one.api("POST", "/lender/approve", { id: 1 })).status).toBe(401);
    expect(runs).toBe(before);
    expect((await two.api("POST", "/lender/approve", { id: 1 })).status).toBe(200);
  });
});
