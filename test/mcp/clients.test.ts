import { describe, expect, test } from "bun:test";
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
  UnauthorizedError as ModernUnauthorized,
} from "@modelcontextprotocol/client";
import { UnauthorizedError as LegacyUnauthorized } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { destination, open, REDIRECT, send } from "../access/oauth/fixtures.ts";
import { type Json, PASSWORD, TestClock, useService } from "../support/harness.ts";
import { CLIENTS, type ClientKind } from "../support/mcp_clients.ts";
import { NOW } from "./fixtures.ts";

// Acceptance 4 of the MCP design: real clients, unmodified, from nothing but the endpoint's address to a call.

const clock = new TestClock(NOW);

const service = useService({ clock });

/** What a client keeps, and where it would send a browser. */
class TokenStore {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = {
    client_name: "An agent",
    redirect_uris: [REDIRECT],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  kept: Record<string, Json> = {};
  sent_to: URL | null = null;

  state = () => "a state";
  clientInformation = () => this.kept.client;
  saveClientInformation = (client: Json) => void (this.kept.client = client);
  tokens = () => this.kept.tokens;
  saveTokens = (tokens: Json) => void (this.kept.tokens = tokens);
  redirectToAuthorization = (url: URL) => void (this.sent_to = url);
  saveCodeVerifier = (verifier: string) => void (this.kept.verifier = verifier);
  codeVerifier = () => this.kept.verifier;
  saveDiscoveryState = (found: Json) => void (this.kept.discovery = found);
  discoveryState = () => this.kept.discovery;
  /** What no longer holds is thrown away, as every client that lives on does. */
  invalidateCredentials = (what: string) => {
    if (what === "all" || what === "tokens") delete this.kept.tokens;
    if (what === "all" || what === "client") delete this.kept.client;
  };
}

/** One of the clients with its transport, and the requests that it has made. */
function clientOf(kind: ClientKind, keeper: TokenStore, requests: string[]) {
  const url = new URL(`${service.url}/api/v1/mcp`);
  const watched = async (input: string | URL | Request, init?: RequestInit) => {
    const response = await fetch(input, init);
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    requests.push(`${init?.method ?? "GET"} ${pathname} ${response.status}`);
    return response;
  };
  const identity = { name: "meterhouse-test", version: "1.0.0" };
  const options: Json = { authProvider: keeper, fetch: watched };
  if (kind === "sdk 1.x") {
    const transport: Json = new LegacyTransport(url, options);
    return { client: new LegacyClient(identity), transport, Unauthorized: LegacyUnauthorized };
  }
  const mode = kind === "client 2.x" ? ({ pin: "2026-07-28" } as const) : "legacy";
  const client = new ModernClient(identity, { versionNegotiation: { mode } });
  const transport: Json = new ModernTransport(url, options);
  return { client, transport, Unauthorized: ModernUnauthorized };
}

/** What a person does in the browser that the client opens. */
async function allow(url: URL | null): Promise<URLSearchParams> {
  const page = await open(url?.href ?? "");
  const typed = { email: service.admin_email, password: PASSWORD, decision: "allow" };
  return destination(await send(service, page, typed)).searchParams;
}

describe.each(CLIENTS)("acceptance 4: %s", (kind) => {
  const keeper = new TokenStore();
  const requests: string[] = [];

  test("finds the authorization server, registers, and is told to sign in", async () => {
    const { client, transport, Unauthorized } = clientOf(kind, keeper, requests);
    expect(await client.connect(transport).catch((error: unknown) => error)).toBeInstanceOf(Unauthorized);
    expect(requests[0]).toBe("POST /api/v1/mcp 401");
    expect(requests).toContain("GET /.well-known/oauth-protected-resource/api/v1/mcp 200");
    expect(requests).toContain("GET /.well-known/oauth-authorization-server 200");
    expect(requests).toContain("POST /oauth/register 201");
    expect(keeper.sent_to?.pathname).toBe("/oauth/authorize");
    expect(keeper.sent_to?.searchParams.get("code_challenge_method")).toBe("S256");

    const back = await allow(keeper.sent_to);
    await transport.finishAuth(kind === "sdk 1.x" ? back.get("code") : back);
    const { expires_in, refresh_token } = keeper.kept.tokens;
    expect([expires_in, typeof refresh_token]).toEqual([28_800, "string"]);
  });

  test("lists and calls tools, and shows what a refusal says", async () => {
    const { client, transport } = clientOf(kind, keeper, requests);
    await client.connect(transport);
    expect(client.getServerVersion()?.name).toBe("meterhouse");
    const { tools } = await client.listTools();
    expect(tools.length).toBeGreaterThan(15);
    const made: Json = await client.callTool({
      name: "billing_save",
      arguments: { kind: "client", name: kind },
    });
    expect(made.structuredContent.data.name).toBe(kind);
    const bad: Json = await client.callTool({ name: "billing_find_clients", arguments: { limit: 0 } });
    expect(bad).toMatchObject({ isError: true, content: [{ text: "limit must be from 1 to 200" }] });
    expect(await client.callTool({ name: "nope", arguments: {} }).catch((error: Json) => error.code)).toBe(
      -32_602,
    );
    await client.close();
  });

  test("refreshes its tokens by itself when the access token has ended", async () => {
    const { access_token } = keeper.kept.tokens;
    clock.set("2026-03-10T20:30:00Z");
    requests.length = 0;
    const { client, transport } = clientOf(kind, keeper, requests);
    await client.connect(transport);
    expect((await client.listTools()).tools.length).toBeGreaterThan(15);
    await client.close();
    expect(requests).toContain("POST /oauth/token 200");
    expect(requests).not.toContain("POST /oauth/register 201");
    expect(keeper.kept.tokens.access_token).not.toBe(access_token);
    clock.set(NOW);
  });

  test("is told to sign in again when the user has ended what was granted", async () => {
    const { body } = await service.api("GET", "/me/authorizations");
    for (const { id } of body.data)
      expect((await service.api("DELETE", `/me/authorizations/${id}`)).status).toBe(200);
    keeper.sent_to = null;
    const { client, transport, Unauthorized } = clientOf(kind, keeper, requests);
    expect(await client.connect(transport).catch((error: unknown) => error)).toBeInstanceOf(Unauthorized);
    expect(keeper.sent_to).not.toBeNull();
  });
});
