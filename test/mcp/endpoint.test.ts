import { beforeAll, describe, expect, test } from "bun:test";
import { OAuthClient, destination, open, pkce, send as submit } from "../access/oauth/fixtures.ts";
import {
  type Service,
  type Json,
  PASSWORD,
  startService,
  TestClock,
  useService,
} from "../support/harness.ts";
import { grantAccess } from "../support/mcp_clients.ts";

// Acceptance 1 and 5 of the MCP design: what the endpoint says before any tool is called.

const clock = new TestClock("2026-03-10T12:00:00Z");
const service = useService({ clock });
let token: string;

beforeAll(async () => {
  token = await grantAccess(service, service.admin_email);
});

const BOTH = "application/json, text/event-stream";
const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  query?: string;
}

/** One plain HTTP request with a token, as no client library would send it. */
async function send({ method = "POST", headers = {}, body = ping, query = "" }: Sent = {}, at = service) {
  const response = await fetch(`${at.url}/api/v1/mcp${query}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: BOTH,
      ...headers,
    },
    ...(method === "GET" ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Grants access on pages that a browser has under another origin than this server's. */
async function grantFrom(at: Service, origin: string): Promise<string> {
  const agent = await OAuthClient.register(at);
  const { verifier, challenge } = pkce();
  const resource = `${origin}/api/v1/mcp`;
  const page = await open(agent.url(challenge, { resource }));
  const typed = { email: at.admin_email, password: PASSWORD, decision: "allow" };
  const code = destination(await submit(at, page, typed, { origin })).searchParams.get("code") ?? "";
  return (await agent.exchange(code, verifier, { resource })).body.access_token;
}

/** The JSON-RPC message of an answer: the older era always sends a stream of one event. */
function messageOf(text: string): Json {
  return JSON.parse(text.startsWith("{") ? text : text.slice(text.indexOf("data: ") + 6));
}

describe("acceptance 1: without an access token", () => {
  const METADATA = () => `${service.url}/.well-known/oauth-protected-resource/api/v1/mcp`;

  test("401 says where to authorize, and of no error, since no token was sent", async () => {
    const { status, headers } = await send({ headers: { authorization: "" } });
    expect(status).toBe(401);
    expect(headers.get("www-authenticate")).toBe(
      `Bearer resource_metadata="${METADATA()}", scope="mcp:tools"`,
    );
  });

  test("a token that is none of ours, a REST token or one in the query is refused", async () => {
    const { body } = await service.anonymous("POST", "/login", {
      email: service.admin_email,
      password: "correct horse battery",
    });
    for (const sent of ["mha_unknown", body.token]) {
      const { status, headers } = await send({ headers: { authorization: `Bearer ${sent}` } });
      expect([status, headers.get("www-authenticate")]).toEqual([
        401,
        `Bearer resource_metadata="${METADATA()}", scope="mcp:tools", error="invalid_token"`,
      ]);
    }
    const inQuery = await send({ headers: { authorization: "" }, query: `?access_token=${token}` });
    expect(inQuery.status).toBe(401);
  });

  test("an access token is refused on REST", async () => {
    const headers = { authorization: `Bearer ${token}` };
    expect((await service.anonymous("GET", "/clients", undefined, headers)).status).toBe(401);
  });

  test("a token ends after 8 hours", async () => {
    clock.set("2026-03-10T19:59:59Z");
    expect((await send()).status).toBe(200);
    clock.set("2026-03-10T20:00:00Z");
    expect((await send()).status).toBe(401);
    clock.set("2026-03-10T12:00:00Z");
  });
});

describe("acceptance 5: the transport", () => {
  test.each(["https://evil.example", "null", "http://localhost", "http://localhost.evil.example", "file://"])(
    "a page of %s may not call",
    async (origin) => {
      const { status, text } = await send({ headers: { origin } });
      expect(status).toBe(403);
      expect(text).toContain(origin);
    },
  );

  test("a name that was bound to this machine's address is as foreign", async () => {
    const host = `evil.example:${new URL(service.url).port}`;
    expect((await send({ headers: { host, origin: `http://${host}` } })).status).toBe(403);
  });

  test("the service's own origin, whole with its port, may call, and so may programs, which send none", async () => {
    const { port } = new URL(service.url);
    for (const origin of [service.url, `http://127.0.0.1:${port}`])
      expect((await send({ headers: { origin } })).status).toBe(200);
    expect((await send()).status).toBe(200);
  });

  test("with PUBLIC_URL only that origin may", async () => {
    const env = { PUBLIC_URL: "https://billing.example.com" };
    const other = await startService({ clock, env });
    try {
      const own = await grantFrom(other, env.PUBLIC_URL);
      const ask = (origin: string) =>
        send({ headers: { authorization: `Bearer ${own}`, origin } }, other).then(({ status }) => status);
      expect(await ask("https://billing.example.com")).toBe(200);
      expect(await ask(other.url)).toBe(403);
      expect(await ask("http://billing.example.com")).toBe(403);
      expect(await ask("https://billing.example.com:8443")).toBe(403);
    } finally {
      await other.stop();
    }
  });

  test.each(["GET", "DELETE", "PUT"])("%s is answered with 405 and what is allowed", async (method) => {
    const { status, headers } = await send({ method });
    expect([status, headers.get("allow")]).toEqual([405, "POST"]);
  });

  test("a notification is accepted with 202 and no body", async () => {
    const { status, text } = await send({ body: { jsonrpc: "2.0", method: "notifications/initialized" } });
    expect([status, text]).toEqual([202, ""]);
  });

  test("malformed JSON is 400 with -32700, text that no database stores is 400 too", async () => {
    const { status, text } = await send({ body: '{"jsonrpc": ' });
    expect([status, messageOf(text).error.code]).toEqual([400, -32_700]);
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "a\0b" } };
    const nul = await send({ body: call });
    expect([nul.status, messageOf(nul.text).error.code]).toEqual([400, -32_600]);
  });

  test("a batch is refused: as one request it would pass the limit", async () => {
    const { status, text } = await send({ body: [ping, ping] });
    expect([status, messageOf(text).error.code]).toEqual([400, -32_600]);
  });

  test("another media type is 415, and a body beyond its bound 413", async () => {
    expect((await send({ headers: { "content-type": "text/plain" } })).status).toBe(415);
    expect((await send({ body: `"${"x".repeat(5 * 1024 * 1024)}"` })).status).toBe(413);
  });

  test("no session is issued, and initialize names the service and what it can do", async () => {
    const body = {
      ...ping,
      method: "initialize",
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "test", version: "1" },
      },
    };
    const { status, headers, text } = await send({ body });
    expect([status, headers.get("mcp-session-id")]).toEqual([200, null]);
    expect(headers.get("x-request-id")).toBeString();
    expect(messageOf(text).result).toMatchObject({
      protocolVersion: "2025-06-18",
      serverInfo: { name: "meterhouse", title: "Meterhouse" },
      capabilities: { tools: {} },
      instructions: expect.stringContaining("consent"),
    });
    const company = { name: "Tokyo", timezone: "Asia/Tokyo", currency: "JPY" };
    expect((await service.api("PUT", "/company", company)).status).toBe(200);
    const day = service.deps.clock.now().toZonedDateTimeISO("Asia/Tokyo").toPlainDate().toString();
    expect(messageOf((await send({ body })).text).result.instructions).toContain(
      `The company's time zone is Asia/Tokyo, where its months and days begin; today is ${day} there.`,
    );
  });

  test("methods that the service does not have are refused as such", async () => {
    const { text } = await send({ body: { ...ping, method: "logging/setLevel", params: { level: "info" } } });
    expect(messageOf(text).error.code).toBe(-32_601);
  });

  test("requests count towards the user's limit, shared with REST", async () => {
    const env = { RATE_LIMIT_ENABLED: "true", RATE_LIMIT_REQUESTS: "4" };
    const limited = await startService({ clock, env });
    try {
      const own = await grantAccess(limited, limited.admin_email);
      const ask = () => send({ headers: { authorization: `Bearer ${own}` } }, limited);
      expect((await limited.api("GET", "/me")).status).toBe(200);
      expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([200, 200, 200]);
      const { status, headers } = await ask();
      expect([status, headers.get("retry-after")]).toEqual([429, "60"]);
      expect((await limited.api("GET", "/me")).status).toBe(429);
    } finally {
      await limited.stop();
    }
  });
});
