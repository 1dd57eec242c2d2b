import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import { decodeJwt, SignJWT, UnsecuredJWT } from "jose";
import { auditLogTable } from "../../../src/audit/tables.ts";
import {
  type Api,
  apiOf,
  INSTANCES,
  type Json,
  PASSWORD,
  startService,
  TestClock,
  useService,
} from "../../support/harness.ts";
import { OAuthClient } from "../oauth/fixtures.ts";
import { addKey, addMachine, exchange, type Machine, withToken } from "./fixtures.ts";

// A key becomes a token, and the token ends with what it came from. The one path of machines that is always there
// is POST /usage/events: a token that it takes gets to the operation, which refuses a body without events.

const SECRET = "a secret of the tests, thirty-two bytes or more";
const NOW = "2026-03-10T12:00:00.000Z";
const clock = new TestClock(NOW);

const service = useService({ clock, env: { JWT_SECRET: SECRET } });

afterEach(() => clock.set(NOW));

/** Whether a token is taken: the operation then answers 422. */
async function statusOf(api: Api): Promise<number> {
  return (await api("POST", "/usage/events", {})).status;
}

async function rotate({ id }: Json, body: object = {}): Promise<Json> {
  const answer = await service.api("POST", `/api-keys/${id}/rotate`, body);
  expect(answer.status).toBe(200);
  return answer.body.data;
}

describe("the exchange", () => {
  test.each([
    ["lender", "staging", "loan"],
    ["agent", "production", "loan"],
    ["ingest", "production", "ingest"],
  ])(
    "of a key of the role %s for %s: a token for the audience %s, for an hour",
    async (role, environment, aud) => {
      const tenant = await service.addTenant();
      const key = await addKey(tenant, role, environment);
      const { status, body } = await exchange(service, key);
      expect([status, body]).toEqual([
        200,
        { type: "bearer", token: expect.any(String), expiresAt: "2026-03-10T13:00:00.000Z" },
      ]);
      expect(decodeJwt(body.token)).toEqual({
        iss: "meterhouse",
        aud,
        sub: key.clientId,
        role,
        company_id: tenant.company_id,
        environment,
        ver: 1,
        iat: clock.now().epochMilliseconds / 1_000,
        exp: clock.now().epochMilliseconds / 1_000 + 3_600,
        jti: expect.any(String),
      });
      expect(JSON.stringify(decodeJwt(body.token))).not.toContain(key.clientSecret);
    },
  );

  test("refuses an unknown id, a wrong secret and a revoked key in the same words", async () => {
    const [key, revoked] = [await addKey(service, "lender"), await addKey(service, "lender")];
    await service.api("DELETE", `/api-keys/${revoked.id}`);
    const { clientId, clientSecret } = key;
    const answers = [
      await exchange(service, { clientId: `prd_${"A".repeat(24)}`, clientSecret }),
      await exchange(service, { clientId, clientSecret: `${clientSecret.slice(0, -1)}_` }),
      await exchange(service, { clientId, clientSecret: revoked.clientSecret }),
      await exchange(service, { clientId: ` ${clientId}`, clientSecret }),
      await exchange(service, { clientId: clientId.toLowerCase(), clientSecret }),
      await exchange(service, revoked),
      await exchange(service, { clientId: "' OR 1=1 --", clientSecret: "%" }),
    ];
    for (const { status, body, headers } of answers) {
      expect([status, body]).toEqual([401, { error: "Invalid credentials" }]);
      expect(headers.get("www-authenticate")).toBe("Bearer");
    }
    expect((await exchange(service, key)).status).toBe(200);
  });

  test.each([
    [{}, ["/clientId", "/clientSecret"]],
    [{ clientId: "prd_x" }, ["/clientSecret"]],
    [{ clientSecret: "x" }, ["/clientId"]],
    [{ clientId: "", clientSecret: "x" }, ["/clientId"]],
    [{ clientId: null, clientSecret: "x" }, ["/clientId"]],
    [{ clientId: "prd_x", clientSecret: ["x"] }, ["/clientSecret"]],
    [{ clientId: "prd_x", clientSecret: "x".repeat(201) }, ["/clientSecret"]],
    [{ clientId: "prd_x", clientSecret: "x", environment: "staging" }, ["/environment"]],
    [
      { client_id: "prd_x", client_secret: "x" },
      ["/clientId", "/clientSecret", "/client_id", "/client_secret"],
    ],
  ])("of a body that does not fit is a 422: %j", async (body, paths) => {
    const answer = await service.anonymous("POST", "/auth/token", body);
    expect(answer.status).toBe(422);
    expect(answer.body.details.map(({ path }: Json) => path).toSorted()).toEqual(paths.toSorted());
  });

  test("tells the key when it was used, to the minute", async () => {
    const key = await addKey(service, "lender");
    const used = async () => (await service.api("GET", `/api-keys/${key.id}`)).body.data.last_used_at;
    for (const [at, told] of [
      ["2026-03-10T12:00:00.000Z", "2026-03-10T12:00:00.000Z"],
      ["2026-03-10T12:00:59.999Z", "2026-03-10T12:00:00.000Z"],
      ["2026-03-10T12:01:00.000Z", "2026-03-10T12:01:00.000Z"],
    ] as const) {
      clock.set(at);
      expect((await exchange(service, key)).status).toBe(200);
      expect(await used()).toBe(told);
    }
    await exchange(service, { ...key, clientSecret: "wrong" });
    expect(await used()).toBe("2026-03-10T12:01:00.000Z");
  });

  test("that is refused is in the audit log of the key's company, without the secret; unknown ids are in none", async () => {
    const tenant = await service.addTenant();
    const { id, clientId } = await addKey(tenant, "lender");
    await exchange(service, { clientId, clientSecret: "a-guess-that-fails" });
    await exchange(service, { clientId: `prd_${"B".repeat(24)}`, clientSecret: "a-guess-that-fails" });
    const refused = async () =>
      (await tenant.api("GET", "/audit-log?operation=exchange_api_key")).body.data as Json[];
    while ((await refused()).length === 0) await Bun.sleep(10);
    expect(await refused()).toEqual([
      expect.objectContaining({
        actor: expect.objectContaining({ kind: "anonymous", user_id: null }),
        outcome: "refused",
        target: { type: "api_key", id },
        input: { clientId },
        withheld: ["/clientSecret"],
      }),
    ]);
    const audit_log = service.deps.store.read.use(auditLogTable);
    const rows = JSON.stringify(await service.deps.store.read.select().from(audit_log));
    expect(rows).not.toContain("a-guess-that-fails");
    expect(rows).not.toContain("B".repeat(24));
  });
});

describe("rotation", () => {
  test("keeps the id; within the grace both secrets work, after it only the new one", async () => {
    const key = await addKey(service, "ingest");
    const next = await rotate(key, { grace_hours: 2 });
    expect(next).toMatchObject({
      id: key.id,
      clientId: key.clientId,
      last4: next.clientSecret.slice(-4),
      old_secret_ends_at: "2026-03-10T14:00:00.000Z",
    });
    expect(next.clientSecret).not.toBe(key.clientSecret);
    clock.set("2026-03-10T13:59:59.999Z");
    expect([(await exchange(service, key)).status, (await exchange(service, next)).status]).toEqual([
      200, 200,
    ]);
    clock.set("2026-03-10T14:00:00.000Z");
    expect([(await exchange(service, key)).status, (await exchange(service, next)).status]).toEqual([
      401, 200,
    ]);
  });

  test("has a grace of 24 hours by default", async () => {
    const { id } = await addKey(service, "agent");
    for (const body of [undefined, {}]) {
      const day = await service.api("POST", `/api-keys/${id}/rotate`, body);
      expect(day.body.data.old_secret_ends_at).toBe("2026-03-11T12:00:00.000Z");
    }
    const week = await rotate(await addKey(service, "agent"), { grace_hours: 168 });
    expect(week.old_secret_ends_at).toBe("2026-03-17T12:00:00.000Z");
  });

  test("without grace ends the old secret at once, and the tokens that it was exchanged for", async () => {
    const { key, api } = await addMachine(service, service, "ingest");
    expect(await statusOf(api)).toBe(422);
    const next = await rotate(key, { grace_hours: 0 });
    expect(next.old_secret_ends_at).toBeNull();
    expect([(await exchange(service, key)).status, await statusOf(api)]).toEqual([401, 401]);
    expect(await statusOf(withToken(service, (await exchange(service, next)).body.token))).toBe(422);
  });

  test("leaves tokens of the old secret good for as long as it is, and no longer", async () => {
    const { key, api } = await addMachine(service, service, "ingest");
    await rotate(key, { grace_hours: 1 });
    clock.set("2026-03-10T12:30:00.000Z");
    const late = await exchange(service, key);
    expect(late.body.expiresAt).toBe("2026-03-10T13:00:00.000Z");
    clock.set("2026-03-10T12:59:59.000Z");
    expect([await statusOf(api), await statusOf(withToken(service, late.body.token))]).toEqual([422, 422]);
    clock.set("2026-03-10T13:00:00.000Z");
    expect([await statusOf(api), await statusOf(withToken(service, late.body.token))]).toEqual([401, 401]);
  });

  test("a second time within the grace ends the oldest secret and its tokens: two live, never three", async () => {
    const { key: first, api } = await addMachine(service, service, "ingest");
    const second = await rotate(first);
    expect(await statusOf(api)).toBe(422);
    const third = await rotate(first);
    const statuses = [];
    for (const key of [first, second, third]) statuses.push((await exchange(service, key)).status);
    expect(statuses).toEqual([401, 200, 200]);
    expect(await statusOf(api)).toBe(401);
  });

  test.each([
    [24, 2],
    [0, 1],
  ])("many at once, each with a grace of %d hours, leave %d secrets that work", async (grace_hours, live) => {
    const key = await addKey(service, "ingest");
    const rotated = await Promise.all(Array.from({ length: 6 }, () => rotate(key, { grace_hours })));
    const works = await Promise.all([key, ...rotated].map((made) => exchange(service, made)));
    expect(works.filter(({ status }) => status === 200)).toHaveLength(live);
    const { last4 } = (await service.api("GET", `/api-keys/${key.id}`)).body.data;
    const newest = rotated.find(({ clientSecret }) => clientSecret.endsWith(last4));
    expect((await exchange(service, newest)).status).toBe(200);
  });

  test.each([-1, 169, 1.5, "24", null])("with a grace of %j is a 422", async (grace_hours) => {
    const key = await addKey(service, "agent");
    const { status, body } = await service.api("POST", `/api-keys/${key.id}/rotate`, { grace_hours });
    expect([status, body.details[0].path]).toEqual([422, "/grace_hours"]);
    expect((await exchange(service, key)).status).toBe(200);
  });
});

describe("a token", () => {
  let machine: Machine;
  beforeAll(async () => {
    machine = await addMachine(service, service, "ingest");
  });

  test("ends after an hour, also when it was verified before", async () => {
    expect(await statusOf(machine.api)).toBe(422);
    clock.set("2026-03-10T12:59:59.999Z");
    expect(await statusOf(machine.api)).toBe(422);
    clock.set("2026-03-10T13:00:00.000Z");
    expect(await statusOf(machine.api)).toBe(401);
  });

  test("ends with its key; another key of the same company goes on", async () => {
    const { key, api } = await addMachine(service, service, "ingest");
    expect(await statusOf(api)).toBe(422);
    await service.api("DELETE", `/api-keys/${key.id}`);
    const { status, headers } = await api("POST", "/usage/events", {});
    expect([status, headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect((await exchange(service, key)).status).toBe(401);
    expect(await statusOf(machine.api)).toBe(422);
  });

  function sign(claims: Record<string, unknown>, options: { alg?: string; secret?: string } = {}) {
    return new SignJWT({ ...decodeJwt(machine.token), ...claims })
      .setProtectedHeader({ alg: options.alg ?? "HS256" })
      .sign(new TextEncoder().encode(options.secret ?? SECRET));
  }

  test("of our own making passes, so that the cases below fail for their own reason", async () => {
    expect(await statusOf(withToken(service, await sign({})))).toBe(422);
  });

  const cases: [string, () => Promise<string> | string][] = [
    ["of another secret", () => sign({}, { secret: "another secret, thirty-two bytes or more" })],
    ["of another algorithm", () => sign({}, { alg: "HS512" })],
    ["without a signature", () => new UnsecuredJWT(decodeJwt(machine.token)).encode()],
    ["with another's signature", () => `${machine.token.slice(0, -4)}AAAA`],
    ["of another issuer", () => sign({ iss: "someone" })],
    ["for users", () => sign({ aud: "meterhouse:rest" })],
    ["for links", () => sign({ aud: "meterhouse:link" })],
    ["for loans", () => sign({ aud: "loan" })],
    ["for both", () => sign({ aud: ["ingest", "loan"] })],
    ["for nobody", () => sign({ aud: undefined })],
    ["of a role that the key has not", () => sign({ role: "lender", aud: "loan" })],
    ["of no role", () => sign({ role: "admin" })],
    ["of a key that is not there", () => sign({ sub: `prd_${"A".repeat(24)}` })],
    ["of no key", () => sign({ sub: undefined })],
    ["of a secret to come", () => sign({ ver: 2 })],
    ["of no secret", () => sign({ ver: undefined })],
    ["expired", () => sign({ exp: clock.now().epochMilliseconds / 1_000 })],
    ["without an expiry", () => sign({ exp: undefined })],
  ];
  test.each(cases)("%s is a 401", async (_, make) => {
    expect(await statusOf(withToken(service, await make()))).toBe(401);
  });

  test("says its company and environment for its holder only: the key's own count", async () => {
    const other = await service.addTenant();
    const token = await sign({ company_id: other.company_id, environment: "staging" });
    expect(await service.deps.authenticate(token)).toEqual({
      kind: "key",
      key_id: machine.key.id,
      agent_key_id: machine.key.id,
      company_id: service.company_id,
      role: "ingest",
      environment: "production",
    });
  });

  test("is taken from the Authorization header only", async () => {
    const { token } = machine;
    const path = `/usage/events?token=${token}&access_token=${token}`;
    expect((await service.anonymous("POST", path, {}, { cookie: `token=${token}` })).status).toBe(401);
    const basic = btoa(`${machine.key.clientId}:${machine.key.clientSecret}`);
    expect((await service.anonymous("POST", path, {}, { authorization: `Basic ${basic}` })).status).toBe(401);
    expect(await statusOf(withToken(service, machine.key.clientSecret))).toBe(401);
  });
});

test("what signs in elsewhere is no token of a machine: an agent's access token, a link", async () => {
  const { access_token } = await (await OAuthClient.register(service)).authorize(
    service.admin_email,
    PASSWORD,
  );
  const { url } = (await service.api("POST", "/usage/exports", { format: "csv" })).body.data;
  const link = String(url).split("/").at(-1) ?? "";
  for (const token of [access_token, link]) {
    expect(await statusOf(withToken(service, token))).toBe(401);
  }
});

test("a key's token is no access token and no link", async () => {
  const { token } = await addMachine(service, service, "ingest");
  const mcp = await withToken(service, token)("POST", "/mcp", {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/list",
  });
  expect(mcp.status).toBe(401);
  expect((await service.anonymous("GET", `/usage/exports/${token}`)).status).toBe(404);
});

describe("the limits", () => {
  test("ten failures a minute for one address and clientId, then 429; others go on", async () => {
    const limited = await startService({ clock, env: { RATE_LIMIT_ENABLED: "true", TRUST_PROXY: "true" } });
    const [key, other] = [await addKey(limited, "lender"), await addKey(limited, "lender")];
    const guess = { ...key, clientSecret: "wrong" };
    for (let i = 0; i < 5; i++) expect((await exchange(limited, key)).status).toBe(200);
    // Made at once, so that none has failed yet when the last is counted.
    const failures = await Promise.all(Array.from({ length: 12 }, () => exchange(limited, guess)));
    const looked_at = failures.filter(({ status }) => status === 401).length;
    expect(looked_at).toBeWithin(10, 10 + INSTANCES);
    expect(failures.filter(({ status }) => status === 429)).toHaveLength(12 - looked_at);
    const refused = await exchange(limited, key);
    expect([refused.status, Number(refused.headers.get("retry-after"))]).toEqual([429, 60]);
    expect((await exchange(limited, other)).status).toBe(200);
    const elsewhere = apiOf(limited.url, { "x-forwarded-for": "203.0.113.7" });
    expect((await exchange({ anonymous: elsewhere }, key)).status).toBe(200);
    clock.set("2026-03-10T12:01:00.000Z");
    expect((await exchange(limited, key)).status).toBe(200);
    await limited.stop();
  });

  test("an unknown clientId is counted like any other", async () => {
    const limited = await startService({ env: { RATE_LIMIT_ENABLED: "true", RATE_LIMIT_LOGIN: "2" }, clock });
    const guess = { clientId: `prd_${"C".repeat(24)}`, clientSecret: "wrong" };
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await exchange(limited, guess)).status);
    expect(statuses).toEqual([401, 401, 429]);
    await limited.stop();
  });

  test("RATE_LIMIT_ENABLED=false turns them off", async () => {
    const guess = { clientId: `prd_${"D".repeat(24)}`, clientSecret: "wrong" };
    for (let i = 0; i < 15; i++) expect((await exchange(service, guess)).status).toBe(401);
  });
});
