import { describe, expect, test } from "bun:test";
import { SignJWT, UnsecuredJWT } from "jose";
import { PASSWORD_COST } from "../../../src/core/passwords.ts";
import { endedTokenTable } from "../../../src/access/sessions/tables.ts";
import { apiOf, INSTANCES, PASSWORD, startService, TestClock, useService } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";

const SECRET = "a secret of the tests, thirty-two bytes or more";
const SIGNED_IN_AT = "2026-03-10T12:00:00Z";

const clock = new TestClock(SIGNED_IN_AT);

const service = useService({ clock, env: { JWT_SECRET: SECRET }, password_cost: PASSWORD_COST });

async function tokenOf(email: string): Promise<string> {
  return (await service.anonymous("POST", "/login", { email, password: PASSWORD })).body.token;
}

function withToken(token: string) {
  return apiOf(service.url, { authorization: `Bearer ${token}` });
}

describe("login", () => {
  test("answers a bearer token for 24 hours, at the top level", async () => {
    const { status, body } = await service.anonymous("POST", "/login", {
      email: service.admin_email,
      password: PASSWORD,
    });
    expect(status).toBe(200);
    expect(body).toEqual({ type: "bearer", token: body.token, expiresAt: "2026-03-11T12:00:00.000Z" });
    expect((await withToken(body.token)("GET", "/me")).status).toBe(200);
  });

  test("the email's case does not matter", async () => {
    const { status } = await service.anonymous("POST", "/login", {
      email: service.admin_email.toUpperCase(),
      password: PASSWORD,
    });
    expect(status).toBe(200);
  });

  test("a wrong password and an unknown email get the same answer", async () => {
    const wrong = await service.anonymous("POST", "/login", {
      email: service.admin_email,
      password: "wrong",
    });
    const unknown = await service.anonymous("POST", "/login", {
      email: "nobody@example.com",
      password: PASSWORD,
    });
    expect(wrong).toMatchObject({ status: 401, body: { error: "Invalid credentials" } });
    expect(unknown).toMatchObject({ status: wrong.status, body: wrong.body });
  });

  test.each([
    [{}, "/email"],
    [{ email: "x@example.com" }, "/password"],
    [{ email: "not an email", password: "x" }, "/email"],
    [{ email: "x@example.com", password: "" }, "/password"],
    [{ email: "x@example.com", password: 1 }, "/password"],
    [{ email: "x@example.com", password: "x", remember: true }, "/remember"],
  ])("a body that does not fit is a 422: %j", async (body, path) => {
    const answer = await service.anonymous("POST", "/login", body);
    expect(answer.status).toBe(422);
    expect(answer.body.details.map((detail: { path: string }) => detail.path)).toContain(path);
  });
});

describe("tokens", () => {
  const sign = (
    claims: Record<string, unknown>,
    options: { alg?: string; secret?: string; ttl_s?: number } = {},
  ) => {
    const now_s = Temporal.Instant.from(SIGNED_IN_AT).epochMilliseconds / 1_000;
    return new SignJWT({
      ver: 1,
      sub: "1",
      jti: "one of ours",
      iss: "meterhouse",
      aud: "meterhouse:rest",
      iat: now_s,
      exp: now_s + (options.ttl_s ?? 3_600),
      ...claims,
    })
      .setProtectedHeader({ alg: options.alg ?? "HS256" })
      .sign(new TextEncoder().encode(options.secret ?? SECRET));
  };

  test("one of our own making passes, so that the cases below fail for their own reason", async () => {
    expect((await withToken(await sign({}))("GET", "/me")).status).toBe(200);
  });

  const cases: [string, () => Promise<string> | string][] = [
    ["of another secret", () => sign({}, { secret: "another secret, thirty-two bytes or more" })],
    ["of another algorithm", () => sign({}, { alg: "HS512" })],
    [
      "without a signature",
      () =>
        new UnsecuredJWT({ sub: "1", ver: 1 })
          .setIssuer("meterhouse")
          .setAudience("meterhouse:rest")
          .encode(),
    ],
    ["of another issuer", () => sign({ iss: "someone" })],
    ["for another audience", () => sign({ aud: "loan" })],
    ["expired", () => sign({}, { ttl_s: -1 })],
    ["without an expiry", () => sign({ exp: undefined })],
    ["without an id, which could not be ended", () => sign({ jti: undefined })],
    ["of a user who is not there", () => sign({ sub: "999999" })],
    ["of no user", () => sign({ sub: "admin" })],
    ["of an older version", () => sign({ ver: 0 })],
    ["that is no token", () => "abc.def.ghi"],
  ];
  test.each(cases)("a token %s is a 401 with WWW-Authenticate", async (_, make) => {
    const { status, headers, body } = await withToken(await make())("GET", "/me");
    expect(status).toBe(401);
    expect(headers.get("www-authenticate")).toBe("Bearer");
    expect(body.error).toBeString();
  });

  test.each([
    {},
    { authorization: "Basic YTpi" },
    { authorization: "Bearer" },
    { authorization: "Bearer a b" },
  ])("no bearer token is a 401, before the body is looked at: %j", async (headers) => {
    const answer = await service.anonymous("POST", "/clients", "{not json", headers);
    expect(answer.status).toBe(401);
  });

  test("ends after 24 hours, also when it was verified before", async () => {
    const api = withToken(await tokenOf(service.admin_email));
    clock.set("2026-03-11T11:59:59.999Z");
    expect((await api("GET", "/me")).status).toBe(200);
    clock.set("2026-03-11T12:00:00Z");
    expect((await api("GET", "/me")).status).toBe(401);
    clock.set(SIGNED_IN_AT);
  });
});

describe("signing out", () => {
  test("ends the token at once, and no other", async () => {
    const tenant = await service.addTenant();
    const [token, other] = [await tokenOf(tenant.admin_email), await tokenOf(tenant.admin_email)];
    const api = withToken(token);
    expect((await api("GET", "/me")).status).toBe(200);
    expect(await api("POST", "/logout")).toMatchObject({ status: 200, body: { data: {} } });
    const refused = await api("GET", "/me");
    expect([refused.status, refused.body.error]).toEqual([401, "The token was signed out: sign in again"]);
    expect((await api("POST", "/logout")).status).toBe(401);
    expect((await withToken(other)("GET", "/me")).status).toBe(200);
    const { data } = (await tenant.api("GET", "/audit-log?operation=logout")).body;
    expect(data).toMatchObject([
      { outcome: "ok", actor: { email: tenant.admin_email }, target: { type: "user" } },
    ]);
    expect(JSON.stringify(data)).not.toContain(token.split(".")[1] ?? "");
  });

  test("is what a token says that was signed out, also when its user is gone", async () => {
    const tenant = await service.addTenant();
    const analyst = await service.addUser(tenant, "analyst");
    const { id } = (await analyst("GET", "/me")).body.data;
    expect((await analyst("POST", "/logout")).status).toBe(200);
    expect((await tenant.api("DELETE", `/users/${id}`)).status).toBe(200);
    expect((await analyst("GET", "/me")).body.error).toBe("The token was signed out: sign in again");
  });

  test("is for whoever signs in: client users too, machines not", async () => {
    const tenant = await service.addTenant();
    const { id } = (await tenant.api("POST", "/clients", { name: "Acme" })).body.data;
    const client = await service.addUser(tenant, "client", id);
    expect((await client("POST", "/logout", { any: "body" })).status).toBe(200);
    expect((await client("GET", "/my/subscriptions")).status).toBe(401);
    const { clientId, clientSecret } = (
      await tenant.api("POST", "/api-keys", { name: "k", role: "ingest", environment: "production" })
    ).body.data;
    const { token } = (await service.anonymous("POST", "/auth/token", { clientId, clientSecret })).body;
    expect((await withToken(token)("POST", "/logout")).status).toBe(403);
    expect((await service.anonymous("POST", "/logout")).status).toBe(401);
  });

  test("what was ended is forgotten when the token has expired by itself", async () => {
    const ended_tokens = service.deps.store.read.use(endedTokenTable);
    const count = () => service.deps.store.read.$count(ended_tokens);
    await withToken(await tokenOf(service.admin_email))("POST", "/logout");
    await runNamedJob(service, "sessions_prune");
    expect(await count()).toBeGreaterThan(0);
    clock.set("2026-03-11T12:00:00Z");
    await runNamedJob(service, "sessions_prune");
    expect(await count()).toBe(0);
    clock.set(SIGNED_IN_AT);
  });
});

describe("/me", () => {
  test("tells who is signed in and what they may do, never the password's hash", async () => {
    const analyst = await service.addUser(service, "analyst");
    const { body } = await analyst("GET", "/me");
    expect(Object.keys(body.data).toSorted()).toEqual(
      [
        "client_id",
        "company",
        "company_id",
        "created_at",
        "email",
        "id",
        "name",
        "permissions",
        "role",
        "timezone",
        "updated_at",
      ].toSorted(),
    );
    expect(body.data.permissions).toContain("usage:read");
    expect(body.data.permissions).not.toContain("usage:write");
  });

  test("a changed password ends every token and is the one that signs in", async () => {
    const tenant = await service.addTenant();
    const second = await service.signIn(tenant.admin_email);
    const change = { current_password: PASSWORD, new_password: "another long password" };
    expect((await second("POST", "/me/password", { ...change, current_password: "wrong" })).status).toBe(422);
    expect((await second("POST", "/me/password", { ...change, new_password: "short" })).status).toBe(422);
    expect((await second("POST", "/me/password", change)).status).toBe(200);
    expect((await second("GET", "/me")).status).toBe(401);
    expect((await tenant.api("GET", "/me")).status).toBe(401);
    await service.signIn(tenant.admin_email, "another long password");
  });
});

describe("the sign-in limit", () => {
  test("counts failures by address and email, and tells when to come back", async () => {
    const limited = await startService({ env: { RATE_LIMIT_ENABLED: "true", RATE_LIMIT_LOGIN: "3" } });
    const login = (email: string, password: string) =>
      limited.anonymous("POST", "/login", { email, password });
    // Made at once, so that none has failed yet when the last is counted.
    const failures = await Promise.all(Array.from({ length: 5 }, () => login(limited.admin_email, "wrong")));
    const looked_at = failures.filter(({ status }) => status === 401).length;
    expect(looked_at).toBeWithin(3, 3 + INSTANCES);
    expect(failures.filter(({ status }) => status === 429)).toHaveLength(5 - looked_at);
    const refused = await login(limited.admin_email, PASSWORD);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeWithin(1, 62);
    expect((await login("someone.else@example.com", "wrong")).status).toBe(401);
    await limited.stop();
  });

  test("successes are not counted", async () => {
    const limited = await startService({ env: { RATE_LIMIT_ENABLED: "true", RATE_LIMIT_LOGIN: "3" } });
    // Sixteen at once: they wait for one another, since any three of them might have failed.
    await Promise.all(Array.from({ length: 16 }, () => limited.signIn(limited.admin_email)));
    await limited.stop();
  });
});

test("the request limit answers 429 with Retry-After, by user", async () => {
  const limited = await startService({ env: { RATE_LIMIT_ENABLED: "true", RATE_LIMIT_REQUESTS: "4" } });
  const other = await limited.addTenant();
  const statuses = [];
  for (let i = 0; i < 6; i++) statuses.push((await limited.api("GET", "/me")).status);
  expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
  expect((await other.api("GET", "/me")).status).toBe(200);
  await limited.stop();
});
