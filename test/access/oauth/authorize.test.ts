import { beforeAll, describe, expect, test } from "bun:test";
import { call } from "../../../src/app/operation.ts";
import type { Actor } from "../../../src/core/access.ts";
import { LIMITS } from "../../../src/access/limits.ts";
import { findWaitingAgent, grantAuthorization, signInToAuthorize } from "../../../src/access/oauth/grants.ts";
import { authorizationRequestTable } from "../../../src/access/oauth/tables.ts";
import {
  type Service,
  type Json,
  PASSWORD,
  startService,
  TestClock,
  useService,
} from "../../support/harness.ts";
import { OAuthClient, destination, open, pkce, REDIRECT, send } from "./fixtures.ts";

const clock = new TestClock("2026-03-10T12:00:00Z");
const service = useService({ clock });
let agent: OAuthClient;

beforeAll(async () => {
  agent = await OAuthClient.register(service);
});

const { challenge } = pkce();
const show = (change: Record<string, string | undefined> = {}) => open(agent.url(challenge, change));
const yes = (email = service.admin_email) => ({ email, password: PASSWORD, decision: "allow" });

async function grants(place: Service = service): Promise<Json[]> {
  const { body } = await place.api("GET", "/audit-log?operation=grant_authorization");
  return body.data.filter(({ outcome }: Json) => outcome === "ok");
}

describe("the page", () => {
  test("shows the agent's name and where it leads, without scripts, kept and framed by nobody", async () => {
    const page = await show();
    expect(page.status).toBe(200);
    expect(page.html).toContain("<bdi>Test agent</bdi>");
    expect(page.html).toContain("<bdi>127.0.0.1:33418</bdi>");
    expect(page.html).not.toContain("<script");
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("cache-control")).toContain("no-store");
    expect(page.headers.get("x-frame-options")).toBe("DENY");
    // With no-referrer browsers would send the form with `Origin: null`.
    expect(page.headers.get("referrer-policy")).toBe("same-origin");
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("base-uri 'none'");
    // Chromium applies it to the redirect after the form.
    expect(policy).not.toContain("form-action");
    const style = /<style>([^]*)<\/style>/.exec(page.html)?.[1] ?? "";
    const hash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
    expect(policy).toContain(`style-src 'sha256-${hash}'`);
  });

  test("beyond ten thousand that nobody has answered, the oldest gives way", async () => {
    const own = await startService({ clock });
    try {
      const page = (await OAuthClient.register(own)).url(challenge);
      const first = await open(page);
      const t = own.deps.store.read.use(authorizationRequestTable);
      const [row] = await own.deps.store.read.select().from(t);
      if (!row) throw new Error("No page was opened");
      const { id: _, ...opened } = row;
      const later = "2026-03-10T12:10:01.000Z";
      for (let i = 1; i < LIMITS.oauth_requests; i += 500) {
        const count = Math.min(500, LIMITS.oauth_requests - i);
        const rows = Array.from({ length: count }, (__, j) => ({
          ...opened,
          hash: `${i + j}`,
          expires_at: later,
        }));
        await own.deps.store.tx((q) => q.insert(t).values(rows));
      }
      const last = await open(page);
      expect([last.status, await own.deps.store.read.$count(t)]).toEqual([200, LIMITS.oauth_requests]);
      const typed = { email: own.admin_email, password: PASSWORD, decision: "allow" };
      expect((await send(own, first, typed)).status).toBe(403);
      expect((await send(own, last, typed)).status).toBe(303);
    } finally {
      await own.stop();
    }
  });

  test("has a label for each field, and says in words what was wrong", async () => {
    const page = await send(service, await show(), { ...yes(), password: "wrong" });
    for (const field of ["email", "password"]) {
      expect(page.html).toContain(`<label for="${field}">`);
      expect(page.html).toMatch(new RegExp(`<input id="${field}"[^>]*aria-describedby="problem"`));
    }
    expect(page.html).toContain('<p role="alert" id="problem">Wrong email or password</p>');
    expect(page.html).toMatch(/<title>Error: /);
    expect(page.html).toMatch(/<input id="password"[^>]* autofocus>/);
    expect((await show()).html).not.toContain("autofocus");
  });

  test("escapes whatever comes from outside", async () => {
    const evil = `<script>alert("1")</script>`;
    const other = await OAuthClient.register(service, { client_name: evil });
    const first = await open(other.url(challenge, { state: evil, scope: undefined }));
    expect(first.html).toContain("&lt;script&gt;");
    const again = await send(service, first, { email: `"><script>@x`, password: evil, decision: "allow" });
    const failed = await open(other.url(challenge, { client_id: evil }));
    for (const { html } of [first, again, failed]) expect(html).not.toContain("<script");
    expect(again.html).toContain('value="&quot;&gt;&lt;script&gt;@x"');
    expect(again.html).not.toContain(evil);
  });

  test("its cookie is for this service alone, and for https alone where the public origin is https", async () => {
    const plain = (await show()).headers.getSetCookie()[0];
    expect(plain).toMatch(/^meterhouse_authorize=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/);
    const secure = await startService({ env: { PUBLIC_URL: "https://billing.example.com" } });
    try {
      const page = await open((await OAuthClient.register(secure)).url(challenge, { resource: undefined }));
      expect(page.headers.getSetCookie()[0]).toMatch(
        /^__Host-meterhouse_authorize=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/,
      );
    } finally {
      await secure.stop();
    }
  });

  test("two of them may be open in one browser", async () => {
    const first = await show();
    const second = await open(agent.url(challenge), first.cookie);
    expect(second.cookie).toBe(first.cookie);
    for (const page of [first, second]) expect((await send(service, page, yes())).status).toBe(303);
  });
});

describe("what an agent asks", () => {
  test.each([
    ["without response_type", { response_type: undefined }, "unsupported_response_type"],
    ["for a token", { response_type: "token" }, "unsupported_response_type"],
    ["without PKCE", { code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
    ["with PKCE plain", { code_challenge_method: "plain" }, "invalid_request"],
    ["with PKCE plain by default", { code_challenge_method: undefined }, "invalid_request"],
    ["with a challenge that is none", { code_challenge: "short" }, "invalid_request"],
    ["for another scope", { scope: "mcp:tools admin" }, "invalid_scope"],
    ["for another resource", { resource: "https://other.example/mcp" }, "invalid_target"],
  ])("%s is sent back with the error and the state", async (_, change, error) => {
    const answer = await show(change);
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([302, "no-store"]);
    const back = destination(answer);
    expect(`${back.origin}${back.pathname}`).toBe(REDIRECT);
    expect(back.searchParams.get("error")).toBe(error);
    expect(back.searchParams.get("error_description")).toBeString();
    expect(back.searchParams.get("state")).toBe("the state");
    expect(back.searchParams.get("iss")).toBe(service.url);
    expect(back.searchParams.has("code")).toBe(false);
  });

  test.each([
    ["by an unknown agent", { client_id: "mh_unknown" }],
    ["without an agent", { client_id: undefined }],
    ["to another host", { redirect_uri: "http://evil.example:33418/callback" }],
    ["to another path", { redirect_uri: "http://127.0.0.1:33418/other" }],
    ["to another name of this machine", { redirect_uri: "http://localhost:33418/callback" }],
    ["to an address with more in it", { redirect_uri: `${REDIRECT}?x=1` }],
    ["to a script", { redirect_uri: "javascript:alert(1)" }],
    ["with too long a state", { state: "x".repeat(4_001) }],
  ])("%s is a page, and never a redirect", async (_, change) => {
    const page = await show(change);
    expect(page.status).toBe(400);
    expect(page.headers.get("location")).toBeNull();
    expect(page.html).toContain('role="alert"');
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  });

  test("twice in one query is a page", async () => {
    expect((await open(`${agent.url(challenge)}&redirect_uri=${REDIRECT}`)).status).toBe(400);
  });

  test("may come to another port of this machine", async () => {
    const page = await show({ redirect_uri: "http://127.0.0.1:50001/callback" });
    const back = destination(await send(service, page, yes()));
    expect(back.host).toBe("127.0.0.1:50001");
    expect(back.searchParams.get("code")).toMatch(/^mhc_/);
  });

  test("may leave out scope, resource, state, and the address where it registered one", async () => {
    const none = { scope: undefined, resource: undefined, state: undefined, redirect_uri: undefined };
    const back = destination(await send(service, await show(none), yes()));
    expect([...back.searchParams.keys()].toSorted()).toEqual(["code", "iss"]);
  });

  test("may come to a program's own scheme, or to an address with a query, which stays as it was", async () => {
    const uris = ["cursor://anysphere.cursor-mcp/oauth/callback", "https://example.com/cb?tenant=a%20b"];
    const other = await OAuthClient.register(service, { redirect_uris: uris });
    for (const redirect_uri of uris) {
      const page = await open(other.url(challenge, { redirect_uri }));
      const location = (await send(service, page, yes())).headers.get("location") ?? "";
      expect(location).toStartWith(`${redirect_uri}${redirect_uri.includes("?") ? "&" : "?"}code=mhc_`);
    }
  });
});

describe("what a user answers", () => {
  test("allow: a code with state and issuer, as a redirect that forgets the form", async () => {
    const answer = await send(service, await show(), yes());
    expect(answer.status).toBe(303);
    const back = destination(answer);
    expect(back.searchParams.get("code")).toMatch(/^mhc_[\w-]{43}$/);
    expect(back.searchParams.get("state")).toBe("the state");
    expect(back.searchParams.get("iss")).toBe(service.url);
    expect(answer.headers.get("cache-control")).toContain("no-store");
  });

  test("deny: access_denied, without a password", async () => {
    const back = destination(await send(service, await show(), { decision: "deny" }));
    expect(back.searchParams.get("error")).toBe("access_denied");
    expect(back.searchParams.get("state")).toBe("the state");
    expect(back.searchParams.get("iss")).toBe(service.url);
  });

  test("a wrong password, or an unknown email, is the page again, which may then be answered", async () => {
    const page = await show();
    const wrong = await send(service, page, { ...yes(), password: "wrong" });
    const unknown = await send(service, page, yes("nobody@example.com"));
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    expect(unknown.html.replaceAll("nobody@example.com", service.admin_email)).toBe(wrong.html);
    expect(wrong.html).not.toContain('value="wrong"');
    expect((await send(service, wrong, yes())).status).toBe(303);
  });

  test("no email or password is the page again", async () => {
    for (const typed of [{ decision: "allow" }, { ...yes(), email: "no email" }]) {
      const page = await send(service, await show(), typed);
      expect([page.status, page.fields.transaction !== undefined]).toEqual([422, true]);
    }
  });

  test("without the CSRF value, with another's, or without its cookie is a 403", async () => {
    const [page, other] = [await show(), await show()];
    const forged: [Record<string, string>, string][] = [
      [{ transaction: page.fields.transaction ?? "" }, page.cookie],
      [{ ...page.fields, csrf: "" }, page.cookie],
      [{ ...page.fields, csrf: other.fields.csrf ?? "" }, page.cookie],
      [{ ...page.fields, transaction: other.fields.transaction ?? "" }, page.cookie],
      [page.fields, ""],
      [page.fields, other.cookie],
      [{ ...page.fields, transaction: "unknown" }, page.cookie],
    ];
    const before = (await grants()).length;
    for (const [fields, cookie] of forged) {
      const answer = await send(service, { fields, cookie }, yes());
      expect([answer.status, answer.headers.get("location")], JSON.stringify(fields)).toEqual([403, null]);
    }
    expect((await grants()).length).toBe(before);
    expect((await send(service, page, yes())).status).toBe(303);
  });

  test.each(["https://evil.example", "null", "http://localhost:1", "http://localhost"])(
    "from the origin %s is a 403",
    async (origin) => {
      expect((await send(service, await show(), yes(), { origin })).status).toBe(403);
    },
  );

  test("counts once, also when it comes many times at once", async () => {
    const page = await show();
    const before = (await grants()).length;
    const answers = await Promise.all(Array.from({ length: 6 }, () => send(service, page, yes())));
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(5);
    expect((await grants()).length).toBe(before + 1);
    expect((await send(service, page, { decision: "deny" })).status).toBe(403);
  });

  test("counts for ten minutes", async () => {
    const page = await show();
    clock.set("2026-03-10T12:10:00Z");
    const answer = await send(service, page, yes());
    clock.set("2026-03-10T12:00:00Z");
    expect(answer.status).toBe(403);
    expect(answer.html).toContain("expired");
  });

  test("something else than yes or no is a 400", async () => {
    expect((await send(service, await show(), { ...yes(), decision: "maybe" })).status).toBe(400);
  });

  test("counts for nothing when the password was changed between sign-in and grant, and may be given again", async () => {
    const tenant = await service.addTenant();
    const { id: user_id, ...me } = (await tenant.api("GET", "/me")).body.data;
    const page = await open(agent.url(challenge));
    const caller = { origin: "rest" as const, request_id: "test", address: null };
    const context = (actor: Actor) => service.deps.openContext({ ...caller, actor });
    const anonymous = context({ kind: "anonymous" });
    const login = { email: tenant.admin_email, password: PASSWORD };
    const { version } = await call(anonymous, signInToAuthorize, login);
    const transaction = page.fields.transaction ?? "";
    const { id: waiting_id } = await call(anonymous, findWaitingAgent, { transaction });
    const new_password = "another horse battery";
    await tenant.api("POST", "/me/password", { current_password: PASSWORD, new_password });
    const grant = { waiting_id, origin: service.url, version, scope: "mcp:tools" };
    const as_user = context({ kind: "user", user_id, ...me });
    const refused = await call(as_user, grantAuthorization, grant).catch(({ kind }) => kind);
    expect(refused).toBe("unauthorized");
    expect((await send(service, page, { ...yes(tenant.admin_email), password: new_password })).status).toBe(
      303,
    );
  });

  test("is of the user who signed in, whatever the level, and is in that company's audit log", async () => {
    const tenant = await service.addTenant();
    const { id: client_id } = (await tenant.api("POST", "/clients", { name: "Acme" })).body.data;
    const api = await service.addUser(tenant, "client", client_id);
    const { id: user_id, email } = (await api("GET", "/me")).body.data;
    const tokens = await agent.authorize(email);
    const actor = { kind: "user", user_id, email, role: "client" };
    expect(await service.deps.authenticateAccessToken(tokens.access_token)).toMatchObject({
      ...actor,
      client_id,
    });
    const [entry, ...others] = (await tenant.api("GET", "/audit-log?operation=grant_authorization")).body
      .data;
    expect(others).toEqual([]);
    const { id } = (await api("GET", "/me/authorizations")).body.data[0];
    expect(entry).toMatchObject({
      actor: { ...actor, authorization_id: null },
      origin: "rest",
      target: { type: "authorization", id },
      changes: {
        agent_name: { old: null, new: "Test agent" },
        redirect_uri: { old: null, new: "http://127.0.0.1:33418/…" },
      },
    });
  });
});

describe("guessing", () => {
  test("failures here and at /login are counted together, and are in the audit log", async () => {
    const limits = { RATE_LIMIT_ENABLED: "true", RATE_LIMIT_LOGIN: "3" };
    const guarded = await startService({ clock, env: limits });
    try {
      const page = await open((await OAuthClient.register(guarded)).url(challenge));
      const { admin_email: email } = guarded;
      const wrong = { email, password: "wrong", decision: "allow" };
      expect((await guarded.anonymous("POST", "/login", { email, password: "wrong" })).status).toBe(401);
      for (let i = 0; i < 2; i++) expect((await send(guarded, page, wrong)).status).toBe(401);
      const refused = await send(guarded, page, { ...wrong, password: PASSWORD });
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
      expect(refused.html).toContain('role="alert"');
      expect((await guarded.anonymous("POST", "/login", { email, password: PASSWORD })).status).toBe(429);
      await Bun.sleep(500);
      const { body } = await guarded.api("GET", "/audit-log?operation=login");
      const data = body.data.filter((entry: Json) => entry.outcome === "refused");
      expect(data.map(({ outcome, input }: Json) => [outcome, input])).toEqual(
        Array.from({ length: 3 }, () => ["refused", { email }]),
      );
    } finally {
      await guarded.stop();
    }
  });

  test("pages are counted by address", async () => {
    const guarded = await startService({ clock, env: { RATE_LIMIT_ENABLED: "true" } });
    try {
      const url = `${guarded.url}/oauth/authorize?client_id=unknown`;
      const statuses = new Map<number, number>();
      for (let i = 0; i < 601; i++) {
        const { status } = await fetch(url);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      expect([...statuses]).toEqual([
        [400, 600],
        [429, 1],
      ]);
    } finally {
      await guarded.stop();
    }
  });
});
