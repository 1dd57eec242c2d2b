import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SCOPES } from "../../../src/access/authorizations/scopes.ts";
import { LIMITS } from "../../../src/access/limits.ts";
import { oauthClientTable } from "../../../src/access/authorizations/tables.ts";
import { type Service, startService, TestClock, useService } from "../../support/harness.ts";
import { OAuthClient, open, pkce, REDIRECT, register } from "./fixtures.ts";

let behind_proxy: Service;
const ORIGIN = "https://billing.example.com";

const service = useService();

beforeAll(async () => {
  behind_proxy = await startService({ env: { PUBLIC_URL: ORIGIN } });
});
afterAll(async () => {
  await behind_proxy.stop();
});

const read = (place: Service, path: string) => place.anonymous("GET", `origin:/.well-known/${path}`);

describe("metadata", () => {
  test.each(["oauth-protected-resource", "oauth-protected-resource/api/v1/mcp"])(
    "%s names the resource and its one authorization server",
    async (path) => {
      const { status, body } = await read(behind_proxy, path);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        resource: `${ORIGIN}/api/v1/mcp`,
        authorization_servers: [ORIGIN],
        scopes_supported: [...SCOPES],
        bearer_methods_supported: ["header"],
      });
    },
  );

  test("the issuer is that authorization server, letter by letter, without a slash at the end", async () => {
    for (const place of [service, behind_proxy]) {
      const [resource, server] = [
        (await read(place, "oauth-protected-resource")).body,
        (await read(place, "oauth-authorization-server")).body,
      ];
      expect(server.issuer).toBe(resource.authorization_servers[0]);
      expect(server.issuer).toMatch(/[^/]$/);
    }
  });

  test("the server offers codes with S256 and refresh tokens, and nothing else", async () => {
    expect((await read(behind_proxy, "oauth-authorization-server")).body).toEqual({
      issuer: ORIGIN,
      authorization_endpoint: `${ORIGIN}/oauth/authorize`,
      token_endpoint: `${ORIGIN}/oauth/token`,
      registration_endpoint: `${ORIGIN}/oauth/register`,
      revocation_endpoint: `${ORIGIN}/oauth/revoke`,
      scopes_supported: [...SCOPES],
      response_types_supported: ["code"],
      response_modes_supported: ["query"],
      grant_types_supported: ["authorization_code", "refresh_token"],
      token_endpoint_auth_methods_supported: ["none"],
      revocation_endpoint_auth_methods_supported: ["none"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
    });
  });

  test("mcp.json holds all of it, and addresses that answer", async () => {
    const { body } = await read(service, "mcp.json");
    expect(body).toMatchObject((await read(service, "oauth-authorization-server")).body);
    expect(body).toMatchObject({
      mcp_endpoint: `${service.url}/api/v1/mcp`,
      resource: `${service.url}/api/v1/mcp`,
    });
    for (const url of [body.authorization_server_metadata, body.protected_resource_metadata])
      expect((await fetch(url)).status, url).toBe(200);
  });

  test("agents in browsers may read it, register and ask for tokens from anywhere, but not show the page", async () => {
    const headers = { origin: "https://inspector.example.com" };
    const paths = ["/.well-known/mcp.json", "/oauth/register", "/oauth/token", "/oauth/revoke"];
    for (const path of paths) {
      const preflight = await fetch(service.url + path, { method: "OPTIONS", headers });
      expect([preflight.status, preflight.headers.get("access-control-allow-origin")], path).toEqual([
        204,
        "*",
      ]);
    }
    const metadata = await fetch(`${service.url}/.well-known/mcp.json`, { headers });
    expect(metadata.headers.get("access-control-allow-origin")).toBe("*");
    const page = await open((await OAuthClient.register(service)).url(pkce().challenge));
    expect(page.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("registration", () => {
  test("answers 201 with an id of its own for each, and no secret", async () => {
    const metadata = { client_name: "An agent", redirect_uris: [REDIRECT] };
    const first = await register(service, metadata);
    expect(first.status).toBe(201);
    expect(first.headers.get("cache-control")).toBe("no-store");
    expect(first.body).toEqual({
      client_id: expect.stringMatching(/^mh_[\w-]{43}$/),
      client_id_issued_at: expect.any(Number),
      client_name: "An agent",
      redirect_uris: [REDIRECT],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope: "mcp:tools",
    });
    expect((await register(service, metadata)).body.client_id).not.toBe(first.body.client_id);
  });

  test("takes what other servers need, too, and answers what holds here", async () => {
    const { status, body } = await register(service, {
      redirect_uris: [REDIRECT],
      application_type: "native",
      token_endpoint_auth_method: "client_secret_basic",
      grant_types: ["authorization_code"],
      contacts: ["someone@example.com"],
      logo_uri: "https://example.com/logo.png",
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({ application_type: "native", token_endpoint_auth_method: "none" });
    expect(body).not.toHaveProperty("client_secret");
  });

  test.each([
    "https://example.com/callback",
    "https://example.com/callback?tenant=1",
    "http://localhost:3000/callback",
    "http://127.0.0.1/callback",
    "http://[::1]:8080/",
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "com.example.app:/oauth",
    "HTTPS://Example.com:8443/callback",
    "https://[2001:db8::1]/callback",
  ])("takes %s", async (uri) => {
    expect((await register(service, { redirect_uris: [uri] })).status).toBe(201);
  });

  test.each([
    "javascript:alert(1)",
    "JavaScript://example.com/%0aalert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "https://example.com/callback#fragment",
    "https://user:password@example.com/",
    "https://*.example.com/callback",
    "/callback",
    "callback",
    "",
    "http://example.com/callback",
    "http://localhost.example.com/",
    "http://10.0.0.1/callback",
    "https:example.com",
    "https:///example.com",
    "mailto:someone@example.com",
    "opaque:path",
    "https://example.com/a b",
    "https://example.com\\@evil.example",
    "https://exämple.com/",
    "https://@example.com/",
    "https://:@example.com/",
    "https://example%2ecom/",
    "cursor://@anysphere.cursor-mcp/oauth",
    "http://127.1/callback",
    "http://0x7f000001/callback",
    "ms-msdt:/id",
    "search-ms:/query=x",
    "smb://evil.example/x",
    `https://example.com/${"a".repeat(2_000)}`,
  ])("refuses %s", async (uri) => {
    const { status, body } = await register(service, { redirect_uris: [REDIRECT, uri] });
    expect([status, body.error]).toEqual([400, "invalid_redirect_uri"]);
    expect(body.error_description).toBeString();
  });

  test.each([
    [{}, "invalid_redirect_uri"],
    [{ redirect_uris: [] }, "invalid_redirect_uri"],
    [{ redirect_uris: "https://example.com" }, "invalid_redirect_uri"],
    [{ redirect_uris: Array.from({ length: 11 }, () => REDIRECT) }, "invalid_redirect_uri"],
    [{ redirect_uris: [7] }, "invalid_redirect_uri"],
    [{ redirect_uris: [REDIRECT], client_name: 7 }, "invalid_client_metadata"],
    [{ redirect_uris: [REDIRECT], client_name: "x".repeat(201) }, "invalid_client_metadata"],
    [[], "invalid_redirect_uri"],
    ["{", "invalid_client_metadata"],
    ['"text"', "invalid_client_metadata"],
  ])("refuses %j", async (metadata, error) => {
    const answer = await register(service, metadata);
    expect([answer.status, answer.body.error]).toEqual([400, error]);
  });

  test("wants JSON", async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const { status } = await service.anonymous("POST", "origin:/oauth/register", "redirect_uris=x", headers);
    expect(status).toBe(400);
  });

  test("beyond ten thousand that nobody has authorized, the oldest gives way", async () => {
    const own = await startService({ clock: new TestClock("2026-03-10T12:00:00Z") });
    try {
      const t = own.deps.store.read.use(oauthClientTable);
      const first = (await register(own, { redirect_uris: [REDIRECT] })).body.client_id;
      const at = "2026-03-10T12:00:00.000Z";
      for (let i = 1; i < LIMITS.oauth_clients_unused; i += 500) {
        const count = Math.min(500, LIMITS.oauth_clients_unused - i);
        const rows = Array.from({ length: count }, (_, j) => ({
          public_id: `mh_${i + j}`,
          name: null,
          redirect_uris: [REDIRECT],
          created_at: at,
          updated_at: at,
        }));
        await own.deps.store.tx((q) => q.insert(t).values(rows));
      }
      expect(await own.deps.store.read.$count(t)).toBe(LIMITS.oauth_clients_unused);
      const added = await register(own, { redirect_uris: [REDIRECT] });
      expect(added.status).toBe(201);
      expect(await own.deps.store.read.$count(t)).toBe(LIMITS.oauth_clients_unused);
      const left = (await own.deps.store.read.select({ id: t.public_id }).from(t)).map(({ id }) => id);
      expect(left).not.toContain(first);
      expect(left).toContain(added.body.client_id);
    } finally {
      await own.stop();
    }
  });

  test("is counted by address", async () => {
    const clock = new TestClock("2026-03-10T12:00:20Z");
    const guarded = await startService({ clock, env: { RATE_LIMIT_ENABLED: "true" } });
    try {
      const again = () => register(guarded, { redirect_uris: [REDIRECT] });
      for (let i = 0; i < LIMITS.oauth_registrations_minute; i++) expect((await again()).status).toBe(201);
      const refused = await again();
      expect([refused.status, refused.body.error]).toEqual([429, "temporarily_unavailable"]);
      expect(refused.headers.get("retry-after")).toBe("60");
      clock.set("2026-03-10T12:01:19Z");
      expect((await again()).status).toBe(429);
      clock.set("2026-03-10T12:01:20Z");
      expect((await again()).status).toBe(201);
    } finally {
      await guarded.stop();
    }
  });
});
