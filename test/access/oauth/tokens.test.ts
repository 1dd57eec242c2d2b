import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Json, PASSWORD, startService, TestClock, useService } from "../../support/harness.ts";
import { OAuthClient, pkce, post, REDIRECT } from "./fixtures.ts";

const NOW = "2026-03-10T12:00:00Z";
const clock = new TestClock(NOW);
const service = useService({ clock });
let agent: OAuthClient;

beforeAll(async () => {
  agent = await OAuthClient.register(service);
});
beforeEach(() => clock.set(NOW));

const code = () => agent.code(service.admin_email);
const tokens = () => agent.authorize(service.admin_email);

/** Whether an access token lets an agent act. */
async function opens(access_token: string, place = service): Promise<boolean> {
  return place.deps.authenticateAccessToken(access_token).then(
    () => true,
    () => false,
  );
}

function expectError(answer: { status: number; body: Json }, error: string): void {
  expect([answer.status, answer.body.error]).toEqual([error === "invalid_client" ? 401 : 400, error]);
  expect(answer.body.error_description).toBeString();
}

/** The ends in the audit log, the last written first, whatever the clock said. */
async function ends(): Promise<Json[]> {
  const { data } = (await service.api("GET", "/audit-log?operation=end_authorization&limit=200")).body;
  return data.toSorted((a: Json, b: Json) => b.id - a.id);
}

describe("a code", () => {
  test("is exchanged for tokens: access for 8 hours, refresh, scope; nobody keeps the answer", async () => {
    const { code: given, verifier } = await code();
    const { status, body, headers } = await agent.exchange(given, verifier);
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^mha_[\w-]{43}$/),
      token_type: "Bearer",
      expires_in: 28_800,
      refresh_token: expect.stringMatching(/^mhr_[\w-]{43}$/),
      scope: "mcp:tools",
    });
    expect(headers.get("cache-control")).toBe("no-store");
    expect(await opens(body.access_token)).toBe(true);
  });

  test("needs no redirect_uri and no resource, and takes the right ones", async () => {
    const first = await code();
    const short = { grant_type: "authorization_code", code: first.code, code_verifier: first.verifier };
    expect((await agent.token(short)).status).toBe(200);
    const second = await code();
    const whole = { resource: `${service.url}/api/v1/mcp`, scope: "mcp:tools", redirect_uri: REDIRECT };
    expect((await agent.exchange(second.code, second.verifier, whole)).status).toBe(200);
  });

  test("used twice is invalid_grant, and ends what it was given", async () => {
    const { code: given, verifier } = await code();
    const { body } = await agent.exchange(given, verifier);
    const next = (await agent.refresh(body.refresh_token)).body;
    const before = (await ends()).length;
    expectError(await agent.exchange(given, verifier), "invalid_grant");
    for (const { access_token } of [body, next]) expect(await opens(access_token)).toBe(false);
    expectError(await agent.refresh(next.refresh_token), "invalid_grant");
    // Told once, however often it is tried.
    expectError(await agent.exchange(given, verifier), "invalid_grant");
    const told = await ends();
    expect(told.length).toBe(before + 1);
    expect(told[0]).toMatchObject({
      actor: { kind: "system", user_id: null },
      origin: "mcp",
      input: { reason: "code used twice" },
    });
  });

  test("used twice still ends it when the code would have expired", async () => {
    const { code: given, verifier } = await code();
    const { body } = await agent.exchange(given, verifier);
    clock.set("2026-03-10T13:00:00Z");
    expectError(await agent.exchange(given, verifier), "invalid_grant");
    expect(await opens(body.access_token)).toBe(false);
  });

  test("of 8 exchanges at once one at most wins, and nothing is left open", async () => {
    const { code: given, verifier } = await code();
    const answers = await Promise.all(Array.from({ length: 8 }, () => agent.exchange(given, verifier)));
    const [winner, ...others] = answers.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    for (const lost of answers.filter((answer) => answer !== winner)) expectError(lost, "invalid_grant");
    expect(await opens(winner?.body.access_token)).toBe(false);
  });

  test("with the wrong verifier, redirect or agent is invalid_grant, and still there for the right ones", async () => {
    const { code: given, verifier } = await code();
    const other = await OAuthClient.register(service);
    for (const wrong of [pkce().verifier, "short", "x".repeat(129), `${verifier}x`])
      expectError(await agent.exchange(given, wrong), "invalid_grant");
    for (const redirect_uri of ["https://example.com/", REDIRECT.replace("33418", "33419")])
      expectError(await agent.exchange(given, verifier, { redirect_uri }), "invalid_grant");
    expectError(await other.exchange(given, verifier), "invalid_grant");
    expectError(await agent.exchange("mhc_unknown", verifier), "invalid_grant");
    expect((await agent.exchange(given, verifier)).status).toBe(200);
  });

  test("lives for 60 seconds", async () => {
    const [early, late] = [await code(), await code()];
    clock.set("2026-03-10T12:00:59.999Z");
    expect((await agent.exchange(early.code, early.verifier)).status).toBe(200);
    clock.set("2026-03-10T12:01:00Z");
    expectError(await agent.exchange(late.code, late.verifier), "invalid_grant");
  });

  test("is no access token and no refresh token", async () => {
    const { code: given } = await code();
    expect(await opens(given)).toBe(false);
    expectError(await agent.refresh(given), "invalid_grant");
  });
});

describe("what can't be understood", () => {
  test.each([
    [{ grant_type: "password", username: "x", password: "y" }, "unsupported_grant_type"],
    [{ grant_type: "client_credentials" }, "unsupported_grant_type"],
    [{}, "invalid_request"],
    [{ grant_type: "authorization_code", code: "x" }, "invalid_request"],
    [{ grant_type: "refresh_token" }, "invalid_request"],
    [
      { grant_type: "refresh_token", refresh_token: "x", resource: "https://other.example" },
      "invalid_target",
    ],
    [{ grant_type: "refresh_token", refresh_token: "x", scope: "admin" }, "invalid_scope"],
    [{ grant_type: "refresh_token", refresh_token: "x\0" }, "invalid_request"],
  ] as [Record<string, string>, string][])("%j is %s", async (fields, error) => {
    expectError(await agent.token(fields), error);
  });

  test("an agent that is not registered is told to register: 401 invalid_client", async () => {
    const unknown = new OAuthClient(service, "mh_unknown");
    expectError(await unknown.exchange("mhc_x", pkce().verifier), "invalid_client");
    expectError(await unknown.refresh("mhr_x"), "invalid_client");
    expectError(await unknown.revoke("mhr_x"), "invalid_client");
    const nobody = { grant_type: "refresh_token", refresh_token: "mhr_x" };
    expectError(await post(service, "token", nobody), "invalid_client");
  });

  test("a field twice, a body that is no form, and one that is too large", async () => {
    const twice = `grant_type=refresh_token&client_id=${agent.client_id}&refresh_token=a&refresh_token=b`;
    expectError(await post(service, "token", twice), "invalid_request");
    const json = { grant_type: "refresh_token", client_id: agent.client_id, refresh_token: "x" };
    expectError(await service.anonymous("POST", "origin:/oauth/token", json), "invalid_request");
    expect((await agent.refresh("x".repeat(70_000))).status).toBe(413);
  });

  test("in the query counts for nothing", async () => {
    const { access_token, refresh_token } = await tokens();
    const query = `grant_type=refresh_token&client_id=${agent.client_id}&refresh_token=${refresh_token}`;
    expectError(await post(service, `token?${query}`, {}), "invalid_request");
    const me = await service.anonymous("GET", `/me?access_token=${access_token}`);
    expect(me.status).toBe(401);
    expect(await opens(access_token)).toBe(true);
  });
});

describe("refresh tokens", () => {
  test("are exchanged for new ones; access tokens given before go on", async () => {
    const first = await tokens();
    const { status, body: second } = await agent.refresh(first.refresh_token);
    expect(status).toBe(200);
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect(await opens(first.access_token)).toBe(true);
    expect(await opens(second.access_token)).toBe(true);
    expect((await agent.refresh(second.refresh_token)).status).toBe(200);
  });

  test("used twice is invalid_grant, and ends all that came of the authorization", async () => {
    const first = await tokens();
    const second = (await agent.refresh(first.refresh_token)).body;
    expectError(await agent.refresh(first.refresh_token), "invalid_grant");
    for (const { access_token } of [first, second]) expect(await opens(access_token)).toBe(false);
    expectError(await agent.refresh(second.refresh_token), "invalid_grant");
    expect((await ends())[0]).toMatchObject({ origin: "mcp", input: { reason: "refresh used twice" } });
  });

  test("of 8 refreshes at once one wins; the others are its second use", async () => {
    const { refresh_token } = await tokens();
    const answers = await Promise.all(Array.from({ length: 8 }, () => agent.refresh(refresh_token)));
    const winners = answers.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    for (const lost of answers.filter(({ status }) => status !== 200)) expectError(lost, "invalid_grant");
    expect(await opens(winners[0]?.body.access_token)).toBe(false);
  });

  test("of another agent are invalid_grant, and stay good for their own", async () => {
    const { refresh_token } = await tokens();
    expectError(await (await OAuthClient.register(service)).refresh(refresh_token), "invalid_grant");
    expect((await agent.refresh(refresh_token)).status).toBe(200);
  });

  test("are no access tokens, nor the other way round", async () => {
    const { access_token, refresh_token } = await tokens();
    expect(await opens(refresh_token)).toBe(false);
    expectError(await agent.refresh(access_token), "invalid_grant");
  });

  test("may be used again for as long as REFRESH_GRACE says, and not longer", async () => {
    const patient = await startService({ clock, env: { REFRESH_GRACE: "10" } });
    try {
      const other = await OAuthClient.register(patient);
      const { refresh_token } = await other.authorize(patient.admin_email);
      const first = (await other.refresh(refresh_token)).body;
      clock.set("2026-03-10T12:00:10Z");
      const again = await other.refresh(refresh_token);
      expect(again.status).toBe(200);
      for (const { access_token } of [first, again.body])
        expect(await opens(access_token, patient)).toBe(true);
      clock.set("2026-03-10T12:00:10.001Z");
      expectError(await other.refresh(refresh_token), "invalid_grant");
      expect(await opens(first.access_token, patient)).toBe(false);
    } finally {
      await patient.stop();
    }
  });
});

describe("expiry", () => {
  test("an access token lasts 8 hours, a refresh token 30 days", async () => {
    const [first, second] = [await tokens(), await tokens()];
    clock.set("2026-03-10T19:59:59.999Z");
    expect(await opens(first.access_token)).toBe(true);
    clock.set("2026-03-10T20:00:00Z");
    expect(await opens(first.access_token)).toBe(false);
    clock.set("2026-04-09T11:59:59.999Z");
    expect((await agent.refresh(first.refresh_token)).status).toBe(200);
    clock.set("2026-04-09T12:00:00Z");
    expectError(await agent.refresh(second.refresh_token), "invalid_grant");
  });

  test("each refresh counts anew", async () => {
    let { refresh_token } = await tokens();
    for (const now of ["2026-04-08T12:00:00Z", "2026-05-07T12:00:00Z", "2026-06-05T12:00:00Z"]) {
      clock.set(now);
      const { status, body } = await agent.refresh(refresh_token);
      expect([now, status]).toEqual([now, 200]);
      refresh_token = body.refresh_token;
    }
  });
});

describe("revocation", () => {
  test.each(["access_token", "refresh_token"])("of the %s ends the whole authorization", async (kind) => {
    const given = await tokens();
    const { status, body } = await agent.revoke(given[kind]);
    expect([status, body]).toEqual([200, {}]);
    expect(await opens(given.access_token)).toBe(false);
    expectError(await agent.refresh(given.refresh_token), "invalid_grant");
    const { id: user_id } = (await service.api("GET", "/me")).body.data;
    const [entry] = await ends();
    expect(entry).toMatchObject({
      actor: { kind: "user", user_id, email: service.admin_email, authorization_id: entry.target.id },
      origin: "mcp",
      target: { type: "authorization" },
      input: { reason: "revoked by the OAuth client" },
    });
    expect((await agent.revoke(given[kind])).status).toBe(200);
  });

  test("of another agent's token, and of none, changes nothing and is a 200", async () => {
    const { access_token } = await tokens();
    expect((await (await OAuthClient.register(service)).revoke(access_token)).status).toBe(200);
    expect((await agent.revoke("mha_unknown")).status).toBe(200);
    expect(await opens(access_token)).toBe(true);
  });
});

describe("each interface takes its own tokens only", () => {
  test("an agent's token at REST is a 401", async () => {
    const { access_token } = await tokens();
    const headers = { authorization: `Bearer ${access_token}` };
    expect((await service.anonymous("GET", "/me", undefined, headers)).status).toBe(401);
    expect((await service.anonymous("GET", "/me/authorizations", undefined, headers)).status).toBe(401);
  });

  test("a REST token is no agent's", async () => {
    const login = { email: service.admin_email, password: PASSWORD };
    const { token } = (await service.anonymous("POST", "/login", login)).body;
    expect(await service.deps.authenticateAccessToken(token).catch(({ kind }) => kind)).toBe("unauthorized");
  });
});

describe("the user behind a token", () => {
  async function addUser(role: "manager" | "analyst" = "manager") {
    const api = await service.addUser(service, role);
    const { id, email } = (await api("GET", "/me")).body.data;
    const given = await agent.authorize(email);
    const change = (body: object) => service.api("PUT", `/users/${id}`, { email, role, ...body });
    return { api, id, email, given, change };
  }

  test("a new role counts on the next call with the same token", async () => {
    const { given, change } = await addUser();
    expect(await service.deps.authenticateAccessToken(given.access_token)).toMatchObject({ role: "manager" });
    expect((await change({ role: "analyst" })).status).toBe(200);
    expect(await service.deps.authenticateAccessToken(given.access_token)).toMatchObject({ role: "analyst" });
    expect((await agent.refresh(given.refresh_token)).status).toBe(200);
  });

  test("a deleted user ends access and refresh", async () => {
    const { id, given } = await addUser();
    expect((await service.api("DELETE", `/users/${id}`)).status).toBe(200);
    expect(await opens(given.access_token)).toBe(false);
    expectError(await agent.refresh(given.refresh_token), "invalid_grant");
    expect((await agent.revoke(given.refresh_token)).status).toBe(200);
  });

  test("a deleted client ends what its users granted", async () => {
    const { id: client_id } = (await service.api("POST", "/clients", { name: "Gone" })).body.data;
    const api = await service.addUser(service, "client", client_id);
    const given = await agent.authorize((await api("GET", "/me")).body.data.email);
    await service.api("DELETE", `/clients/${client_id}`);
    expect(await opens(given.access_token)).toBe(false);
    expectError(await agent.refresh(given.refresh_token), "invalid_grant");
  });

  test("a new password ends access, refresh and codes, whoever sets it", async () => {
    const NEW = "another horse battery";
    const own = await addUser();
    const open_code = await agent.code(own.email);
    const body = { current_password: PASSWORD, new_password: NEW };
    expect((await own.api("POST", "/me/password", body)).status).toBe(200);
    const admins = await addUser();
    expect((await admins.change({ password: NEW })).status).toBe(200);
    for (const { given } of [own, admins]) {
      expect(await opens(given.access_token)).toBe(false);
      expectError(await agent.refresh(given.refresh_token), "invalid_grant");
    }
    expectError(await agent.exchange(open_code.code, open_code.verifier), "invalid_grant");
    expect(await opens((await agent.authorize(own.email, NEW)).access_token)).toBe(true);
  });
});
