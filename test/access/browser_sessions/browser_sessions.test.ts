import { describe, expect, test } from "bun:test";
import { browserSessionTable } from "../../../src/access/browser_sessions/tables.ts";
import { openBrowser, OWN_PAGE } from "../../support/browser.ts";
import { apiOf, PASSWORD, startService, TestClock, useService } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";

const SIGNED_IN_AT = "2026-03-10T12:00:00Z";
const clock = new TestClock(SIGNED_IN_AT);
const service = useService({ clock });

const login = () => ({ email: service.admin_email, password: PASSWORD });
const at = (later: Temporal.DurationLike) => Temporal.Instant.from(SIGNED_IN_AT).add(later).toString();

/** A tenant of its own, whose admin is signed in by a browser. */
async function open() {
  clock.set(SIGNED_IN_AT);
  const tenant = await service.addTenant();
  return { tenant, browser: await openBrowser(service, tenant.admin_email) };
}

/** The sessions on record, of any user. */
const stored = async () => {
  const { read } = service.deps.store;
  return read.select().from(read.use(browserSessionTable));
};

describe("signing in", () => {
  test("answers as /me does, and gives the token to the cookie alone", async () => {
    const { tenant, browser } = await open();
    const { body, headers } = browser.answer;
    expect(body).toEqual((await tenant.api("GET", "/me")).body);
    const { name } = (await tenant.api("GET", "/company")).body.data;
    const { company_id: id } = tenant;
    expect(body.data.company).toEqual({ id, name, timezone: "UTC", currency: "USD" });
    expect(headers.get("set-cookie")).toMatch(
      /^meterhouse_session_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/,
    );
    expect(headers.get("cache-control")).toBe("no-store");
    const token = browser.cookie.split("=")[1] ?? "";
    expect(JSON.stringify(body)).not.toContain(token);
    expect(JSON.stringify(await stored())).not.toContain(token);
  });

  test("over https has a cookie that no other host can set, and takes no other", async () => {
    const secure = await startService({ env: { PUBLIC_URL: "https://billing.example.com" } });
    const { cookie, answer, api } = await openBrowser(secure, secure.admin_email);
    expect(answer.headers.get("set-cookie")).toMatch(
      /^__Host-meterhouse_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800; Secure$/,
    );
    expect((await api("GET", "/me")).status).toBe(200);
    const token = cookie.split("=")[1] ?? "";
    for (const name of ["meterhouse_session", "meterhouse_session_0", "__host-meterhouse_session"])
      expect((await apiOf(secure.url, { cookie: `${name}=${token}` })("GET", "/me")).status).toBe(401);
    await secure.stop();
  });

  test("takes the company of one email and password in several, and refuses as /login does", async () => {
    const [one, other] = [await service.addTenant(), await service.addTenant()];
    await other.api("POST", "/users", { email: one.admin_email, password: PASSWORD, role: "analyst" });
    const body = { email: one.admin_email, password: PASSWORD, company_id: other.company_id };
    const { body: me } = await service.anonymous("POST", "/session", body, OWN_PAGE);
    expect(me.data).toMatchObject({ company_id: other.company_id, role: "analyst" });
    for (const wrong of [
      { ...login(), password: "wrong" },
      { ...login(), email: "nobody@example.com" },
      {},
      { ...login(), user_agent: "x" },
    ]) {
      const session = await service.anonymous("POST", "/session", wrong, OWN_PAGE);
      const { status, body: error } = await service.anonymous("POST", "/login", wrong);
      expect([session.status, session.body, session.headers.get("set-cookie")]).toEqual([
        status,
        error,
        null,
      ]);
    }
  });

  test("has the entries of /login in the audit log", async () => {
    const { tenant } = await open();
    const wrong = { email: tenant.admin_email, password: "wrong" };
    expect((await service.anonymous("POST", "/session", wrong, OWN_PAGE)).status).toBe(401);
    const entries = async () => (await tenant.api("GET", "/audit-log?operation=login")).body.data;
    // That of a failure is written a moment later.
    while ((await entries()).length < 3) await Bun.sleep(5);
    const data = await entries();
    const known = data.map((entry: { outcome: string; actor: { kind: string } }) => [
      entry.outcome,
      entry.actor.kind,
    ]);
    // Newest first: the failure, the browser, and the tenant's own token.
    expect(known).toEqual([
      ["refused", "anonymous"],
      ["ok", "user"],
      ["ok", "user"],
    ]);
    expect(JSON.stringify(data)).not.toContain("wrong");
  });

  test("counts failures together with those of /login", async () => {
    const limited = await startService({ env: { RATE_LIMIT_ENABLED: "true", RATE_LIMIT_LOGIN: "3" } });
    const wrong = { email: limited.admin_email, password: "wrong" };
    for (const path of ["/session", "/login", "/session"])
      expect((await limited.anonymous("POST", path, wrong, OWN_PAGE)).status).toBe(401);
    const right = { email: limited.admin_email, password: PASSWORD };
    const refused = await limited.anonymous("POST", "/session", right, OWN_PAGE);
    expect([refused.status, refused.headers.get("set-cookie")]).toEqual([429, null]);
    expect(refused.headers.get("retry-after")).toBeString();
    await limited.stop();
  });

  test("is for every role, with its own paths", async () => {
    const { tenant } = await open();
    const { id } = (await tenant.api("POST", "/clients", { name: "Acme" })).body.data;
    for (const [role, client_id, path] of [
      ["client", id, "/my/subscriptions"],
      ["loan_officer", undefined, "/lending/staging/programs"],
      ["analyst", undefined, "/clients"],
    ]) {
      const email = `${role}@example.com`;
      const user = { email, password: PASSWORD, role, ...(client_id && { client_id }) };
      expect((await tenant.api("POST", "/users", user)).status).toBe(201);
      const { api } = await openBrowser(service, email);
      expect((await api("GET", path)).status).toBe(200);
      expect((await api("GET", "/users")).status).toBe(403);
    }
  });
});

describe("a session", () => {
  test("acts as its user where no Authorization header is sent", async () => {
    const { tenant, browser } = await open();
    const made = await browser.api("POST", "/clients", { name: "Acme" }, { "idempotency-key": "one" });
    expect(made.status).toBe(201);
    expect((await tenant.api("GET", "/clients")).body.data).toMatchObject([{ name: "Acme" }]);
    const { data } = (await tenant.api("GET", "/audit-log?operation=create_client")).body;
    expect(data).toMatchObject([{ origin: "rest", actor: { kind: "user", email: tenant.admin_email } }]);
    expect((await browser.api("GET", "/whoami")).body.data.credential).toBe("browser_session");
    const list = await browser.api("GET", "/clients", undefined, { accept: "text/csv" });
    expect([list.status, list.body]).toEqual([200, expect.stringContaining("Acme")]);
    // A header counts alone, even a bad one.
    for (const authorization of ["Bearer abc", "Basic YTpi", ""])
      expect((await browser.api("GET", "/me", undefined, { authorization })).status).toBe(401);
    // Other cookies are there, and do not matter.
    const beside = apiOf(service.url, { cookie: `a=1; b="x"; ${browser.cookie}; c=%zz` });
    expect((await beside("GET", "/me")).status).toBe(200);
  });

  test("changes nothing for a page of another site", async () => {
    const { tenant, browser } = await open();
    const { host } = new URL(service.url);
    const other = apiOf(service.url, { cookie: browser.cookie });
    const refused: Record<string, string>[] = [
      {},
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "none" },
      { "sec-fetch-site": "Same-Origin" },
      { "sec-fetch-site": "cross-site", origin: `http://${host}` },
      { origin: "null" },
      { origin: "https://evil.example.com" },
      { origin: `http://${host}.evil.example.com` },
      { origin: host },
    ];
    for (const headers of refused) {
      for (const [method, path] of [
        ["POST", "/clients"],
        ["PUT", "/company"],
        ["DELETE", "/session"],
        ["POST", "/logout"],
      ] as const) {
        const { status, body } = await other(method, path, { name: "Forged" }, headers);
        expect([status, body.error]).toEqual([403, expect.stringContaining("this service's own pages")]);
      }
      const signed_in = await service.anonymous("POST", "/session", login(), headers);
      expect([signed_in.status, signed_in.headers.get("set-cookie")]).toEqual([403, null]);
    }
    expect((await tenant.api("GET", "/clients")).body.data).toEqual([]);
    // A plain link brings no header that says so: reading is no change.
    expect((await other("GET", "/clients")).status).toBe(200);
    // Where browsers say nothing of the site, the origin does.
    const own = await other("POST", "/clients", { name: "Own" }, { origin: `http://${host}` });
    expect(own.status).toBe(201);
  });

  test("behind a proxy is known by the service's own address", async () => {
    const proxied = await startService({ env: { PUBLIC_URL: "http://billing.example.com:8080" } });
    const origin = "http://billing.example.com:8080";
    const answer = await proxied.anonymous(
      "POST",
      "/session",
      { email: proxied.admin_email, password: PASSWORD },
      { origin },
    );
    const cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? "";
    expect(cookie).toStartWith("meterhouse_session_8080=");
    const api = apiOf(proxied.url, { cookie });
    expect((await api("POST", "/clients", { name: "Acme" }, { origin })).status).toBe(201);
    const others = ["http://billing.example.com", "https://billing.example.com:8080"];
    for (const other of others)
      expect((await api("POST", "/clients", { name: "Acme" }, { origin: other })).status).toBe(403);
    await proxied.stop();
  });

  test("is of no use to agents, machines and the operator", async () => {
    const { browser } = await open();
    const { api } = browser;
    const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const accept = "application/json, text/event-stream";
    expect((await api("POST", "/mcp", message, { accept })).status).toBe(401);
    expect((await api("GET", "origin:/metrics")).status).toBe(401);
    expect((await api("POST", "origin:/operator", {})).status).toBeGreaterThanOrEqual(401);
    expect((await api("GET", "/lender/programs")).status).toBe(403);
    expect((await api("GET", "/agent/programs")).status).toBe(403);
  });

  test.each([
    "",
    "meterhouse_session_0=",
    "meterhouse_session_0=abc",
    `meterhouse_session_0=${"A".repeat(43)}`,
    `meterhouse_session_0=${"A".repeat(8_000)}`,
    "meterhouse_session_0=%00' OR 1=1",
    ";;;=;",
  ])("that is none of ours is a 401: %#", async (cookie) => {
    const { status, headers } = await service.anonymous("GET", "/clients", undefined, { cookie });
    expect([status, headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  });
});

describe("a session ends", () => {
  test("when its user signs out, at once, with the links made by it", async () => {
    const { tenant, browser } = await open();
    const other = await openBrowser(service, tenant.admin_email);
    const { url } = (await browser.api("POST", "/usage/exports", { format: "csv" })).body.data;
    const link = url.slice(url.indexOf("/usage"));
    expect((await service.anonymous("GET", link)).status).toBe(200);
    const ended = await browser.api("DELETE", "/session");
    expect([ended.status, ended.body]).toEqual([200, { data: {} }]);
    expect(ended.headers.get("set-cookie")).toMatch(/^meterhouse_session_\d+=; .*Max-Age=0$/);
    const refused = await browser.api("GET", "/me");
    expect([refused.status, refused.body.error]).toEqual([401, "The session has ended: sign in again"]);
    expect((await browser.api("DELETE", "/session")).status).toBe(401);
    expect((await service.anonymous("GET", link)).status).toBe(404);
    expect((await other.api("POST", "/logout")).status).toBe(200);
    expect((await other.api("GET", "/me")).status).toBe(401);
    expect((await tenant.api("GET", "/me")).status).toBe(200);
    const { data } = (await tenant.api("GET", "/audit-log?operation=logout")).body;
    expect(data).toMatchObject([{ outcome: "ok" }, { outcome: "ok", actor: { email: tenant.admin_email } }]);
  });

  test("after 12 hours without use", async () => {
    const { browser } = await open();
    clock.set(at({ hours: 11, minutes: 59 }));
    expect((await browser.api("GET", "/me")).status).toBe(200);
    await written(at({ hours: 11, minutes: 59 }));
    clock.set(at({ hours: 23, minutes: 58, seconds: 59 }));
    expect((await browser.api("GET", "/me")).status).toBe(200);
    await written(at({ hours: 23, minutes: 58, seconds: 59 }));
    clock.set(at({ hours: 35, minutes: 58, seconds: 59 }));
    expect((await browser.api("GET", "/me")).status).toBe(401);
    expect((await browser.api("POST", "/clients", { name: "Acme" })).status).toBe(401);
  });

  test("after 7 days however much it is used", async () => {
    const { browser } = await open();
    for (let hours = 11; hours < 168; hours += 11) {
      clock.set(at({ hours }));
      expect((await browser.api("GET", "/me")).status).toBe(200);
      await written(at({ hours }));
    }
    clock.set(at({ hours: 167, minutes: 59 }));
    const [session] = (await browser.api("GET", "/me/sessions")).body.data;
    expect(session.expires_at).toBe("2026-03-17T12:00:00.000Z");
    clock.set(at({ hours: 168 }));
    expect((await browser.api("GET", "/me")).status).toBe(401);
  });

  test("with a new password, role or client, and with its user", async () => {
    const { tenant } = await open();
    const { api } = tenant;
    const change = async (email: string, body: object) => {
      const { id } = (await api("GET", `/users?search=${email}`)).body.data[0];
      expect((await api("PUT", `/users/${id}`, { email, role: "manager", ...body })).status).toBe(200);
    };
    const end: Record<string, (email: string) => Promise<unknown>> = {
      role: (email) => change(email, { role: "analyst" }),
      password: (email) => change(email, { password: "another long password" }),
      deleted: async (email) => {
        const { id } = (await api("GET", `/users?search=${email}`)).body.data[0];
        expect((await api("DELETE", `/users/${id}`)).status).toBe(200);
      },
    };
    for (const [what, act] of Object.entries(end)) {
      const email = `${what}@example.org`;
      await api("POST", "/users", { email, password: PASSWORD, role: "manager" });
      const browser = await openBrowser(service, email);
      // A new name ends nothing.
      await change(email, { name: "Renamed" });
      expect((await browser.api("GET", "/me")).status).toBe(200);
      await act(email);
      expect((await browser.api("GET", "/me")).status).toBe(401);
    }
    const own = await openBrowser(service, tenant.admin_email);
    const passwords = { current_password: PASSWORD, new_password: "another long password" };
    expect((await own.api("POST", "/me/password", passwords)).status).toBe(200);
    expect((await own.api("GET", "/me")).status).toBe(401);
    const again = await openBrowser(service, tenant.admin_email, { password: passwords.new_password });
    expect((await again.api("GET", "/me/sessions")).body.data).toHaveLength(1);
  });

  test("and is forgotten by the job, never one that goes on", async () => {
    const { tenant, browser } = await open();
    await runNamedJob(service, "sessions_prune");
    expect((await browser.api("GET", "/me")).status).toBe(200);
    clock.set(at({ hours: 12 }));
    const later = await openBrowser(service, tenant.admin_email);
    await runNamedJob(service, "sessions_prune");
    const left = (await stored()).filter(({ company_id }) => company_id === tenant.company_id);
    expect(left.map(({ created_at }) => created_at)).toEqual(["2026-03-11T00:00:00.000Z"]);
    expect((await later.api("GET", "/me")).status).toBe(200);
  });
});

/** Until the use of a session is on record, which is written behind the answer. */
async function written(last_used_at: string): Promise<void> {
  const instant = Temporal.Instant.from(last_used_at).toString({ smallestUnit: "millisecond" });
  while (!(await stored()).some((session) => session.last_used_at === instant)) await Bun.sleep(5);
}

describe("my sessions", () => {
  test("are listed with where they are from, newest first; this one is marked", async () => {
    const { tenant, browser } = await open();
    clock.set(at({ minutes: 1 }));
    const phone = { "user-agent": `Phone ${"x".repeat(400)}` };
    const second = await openBrowser(service, tenant.admin_email, { headers: phone });
    const { data } = (await browser.api("GET", "/me/sessions")).body;
    expect(data).toEqual([
      {
        id: data[0].id,
        address: "127.0.0.1",
        user_agent: phone["user-agent"].slice(0, 300),
        created_at: "2026-03-10T12:01:00.000Z",
        last_used_at: "2026-03-10T12:01:00.000Z",
        expires_at: "2026-03-11T00:01:00.000Z",
        is_current: false,
      },
      { ...data[1], is_current: true, created_at: "2026-03-10T12:00:00.000Z" },
    ]);
    expect(data[1].user_agent).toStartWith("Bun/");
    const { body } = await second.api("GET", "/me/sessions?limit=1&page=2");
    expect(body).toMatchObject({ data: [{ id: data[1].id, is_current: false }], meta: { total: 2 } });
    const with_token = (await tenant.api("GET", "/me/sessions")).body.data;
    expect(with_token.map((session: { is_current: boolean }) => session.is_current)).toEqual([false, false]);
  });

  test("are ended by their user alone", async () => {
    const { tenant, browser } = await open();
    const second = await openBrowser(service, tenant.admin_email);
    const colleague = await service.addUser(tenant, "admin");
    const { tenant: other } = await open();
    const [newest] = (await browser.api("GET", "/me/sessions")).body.data;
    for (const api of [colleague, other.api])
      expect((await api("DELETE", `/me/sessions/${newest.id}`)).status).toBe(404);
    expect((await browser.api("DELETE", `/me/sessions/${newest.id}`)).status).toBe(200);
    expect((await browser.api("DELETE", `/me/sessions/${newest.id}`)).status).toBe(404);
    expect((await second.api("GET", "/me")).status).toBe(401);
    expect((await browser.api("GET", "/me")).status).toBe(200);
    for (const id of ["0", "x", "1.5", "99999999999999999999"])
      expect((await browser.api("DELETE", `/me/sessions/${id}`)).status).toBe(422);
    const { data } = (await tenant.api("GET", "/audit-log?operation=end_browser_session")).body;
    expect(data).toMatchObject([{ target: { type: "browser_session", id: newest.id } }]);
  });

  test("are 50 at most: the oldest gives way", async () => {
    const { tenant, browser } = await open();
    for (let i = 0; i < 50; i++) await openBrowser(service, tenant.admin_email);
    expect((await browser.api("GET", "/me")).status).toBe(401);
    expect((await tenant.api("GET", "/me/sessions")).body.data).toHaveLength(50);
  });

  test("are not written at each request", async () => {
    const { browser } = await open();
    const use = async () => (await browser.api("GET", "/me/sessions")).body.data[0].last_used_at;
    clock.set(at({ minutes: 4, seconds: 59 }));
    expect(await use()).toBe("2026-03-10T12:00:00.000Z");
    expect(await use()).toBe("2026-03-10T12:00:00.000Z");
    clock.set(at({ minutes: 5 }));
    await Promise.all(Array.from({ length: 8 }, use));
    await written(at({ minutes: 5 }));
    clock.set(at({ minutes: 9, seconds: 59 }));
    expect(await use()).toBe("2026-03-10T12:05:00.000Z");
  });
});
