import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { destination, OAuthClient, open, pkce, send } from "../access/oauth/fixtures.ts";
import {
  type Json,
  PASSWORD,
  type Service,
  startService,
  type Tenant,
  TestClock,
} from "../support/harness.ts";
import { agentFor, connect, type McpClient } from "../support/mcp_clients.ts";
import { addUser, fillCompany, type FilledCompany, NOW } from "./fixtures.ts";

// What an agent might try with what it has: cursors, ids of another company, a yes of somebody else, a narrow grant.

const clock = new TestClock(NOW);
let service: Service;
let company: FilledCompany;
let other: Tenant;
let agent: McpClient;
let stranger: McpClient;

beforeAll(async () => {
  service = await startService({ clock, env: { LOAN_SERVICE_KEY: "a-service-key" } });
  company = await fillCompany(service, clock);
  other = await service.addTenant();
  await fillCompany(service, clock, other);
  agent = await agentFor(service, service.admin_email);
  stranger = await agentFor(service, other.admin_email);
});
afterAll(async () => {
  await Promise.all([agent.close(), stranger.close()]);
  await service.stop();
});

describe("a cursor", () => {
  const encoded = (place: unknown) => Buffer.from(JSON.stringify(place)).toString("base64url");
  const forged = [
    ["x", 0],
    ["x", 3],
    [-1, 0],
    [1.5, 0],
    [1e300, 0],
    [null, -1],
    [null, 0.5],
    [[1], 0],
    [{}, 0],
    [1, 0, "x", true],
    [1, 0, -1, false],
    [1, 0, 7, "x"],
  ];
  const others = [null, "s", { at: 1 }, []];

  test.each([
    ["billing_find_clients", {}],
    ["billing_find_records", {}],
    ["billing_find_subscriptions", {}],
    ["billing_search_usage", {}],
    ["billing_search_usage", { group_by: ["day"] }],
    ["emandate_find_payments", {}],
    ["loan_find_applications", { environment: "staging" }],
  ])("that is made up is refused by %s %j, in a sentence about it", async (name, args) => {
    for (const place of [...forged, ...others]) {
      const { is_error, text } = await agent.call(name, { ...args, cursor: encoded(place) });
      expect([place, is_error, text]).toEqual([
        place,
        true,
        expect.stringMatching(/^cursor must be (the|a) next_cursor/),
      ]);
    }
  });

  test("beyond all rows is an empty page", async () => {
    for (const place of [
      [Number.MAX_SAFE_INTEGER, 0],
      [1, Number.MAX_SAFE_INTEGER],
    ]) {
      const { is_error, structured } = await agent.call("billing_find_clients", { cursor: encoded(place) });
      expect([is_error, structured.data]).toEqual([false, []]);
    }
  });

  test("of another company, of one of its clients, or of another question is refused", async () => {
    const next = async (of: McpClient, name: string, args: object = {}): Promise<string> =>
      (await of.call(name, { limit: 1, ...args })).structured.meta.next_cursor;
    const { email } = await addUser(service.api, "client", company.client);
    const client = await agentFor(service, email);
    const of_client = await next(client, "billing_search_my_usage");
    const own = await next(agent, "billing_search_usage");
    const theirs = await next(stranger, "billing_search_usage");
    for (const [of, name, args] of [
      [agent, "billing_search_usage", { cursor: theirs }],
      [agent, "billing_search_usage", { cursor: of_client }],
      [agent, "billing_search_usage", { cursor: own, sort_order: "asc" }],
      [agent, "billing_search_usage", { cursor: own, metadata: { model: "large" } }],
      [agent, "billing_search_usage", { cursor: own, group_by: ["day"] }],
      [client, "billing_search_my_usage", { cursor: own }],
    ] as const) {
      const { is_error, text } = await of.call(name, args);
      expect([is_error, text]).toEqual([true, expect.stringMatching(/^cursor must be the next_cursor/)]);
    }
    expect((await agent.call("billing_search_usage", { limit: 1, cursor: own })).is_error).toBe(false);
    await client.close();
  });
});

describe("a yes", () => {
  test("of another company's admin, or of one who may do less by now, counts for nothing", async () => {
    const { id } = (await service.api("POST", "/products", { name: "Guarded" })).body.data;
    const args = { kind: "product", id };
    const isThere = async () => (await service.api("GET", `/products/${id}`)).status === 200;
    const user = await addUser(service.api, "manager");
    const manager = await agentFor(service, user.email);
    const { confirm } = (await manager.call("billing_delete", args)).structured.needs_confirmation;
    const asked = await stranger.call("billing_delete", { ...args, confirm });
    expect([asked.is_error, asked.text]).toEqual([true, expect.stringContaining("not found")]);
    const demoted = await service.api("PUT", `/users/${user.id}`, { email: user.email, role: "analyst" });
    expect(demoted.status).toBe(200);
    const late = await manager.call("billing_delete", { ...args, confirm }).catch((error: Json) => error);
    expect([late.code, late.message]).toEqual([-32_602, "Unknown tool: billing_delete"]);
    expect(await isThere()).toBe(true);
    await manager.close();
  });
});

describe("a narrow grant", () => {
  test("is not widened at the token endpoint, by a refresh, or by an address", async () => {
    const { verifier, challenge } = pkce();
    const client = await OAuthClient.register(service);
    const root = `${service.url}/api/v1/mcp`;
    const page = await open(
      client.url(challenge, { scope: "mcp:usage:read", resource: `${root}/x/usage/readonly` }),
    );
    const typed = { usage: "read", email: service.admin_email, password: PASSWORD, decision: "allow" };
    const code = destination(await send(service, page, typed)).searchParams.get("code") ?? "";
    const wide = { scope: "mcp:tools", resource: root };
    const first = (await client.exchange(code, verifier, wide)).body;
    const second = (await client.refresh(first.refresh_token, wide)).body;
    expect([first.scope, second.scope]).toEqual(["mcp:usage:read", "mcp:usage:read"]);
    const narrow = await connect(service, second.access_token, "client 2.x", "/api/v1/mcp/x/usage/readonly");
    const granted = (await narrow.list()).map(({ name }) => name);
    expect(granted).toContain("billing_search_usage");
    await narrow.close();
    for (const address of [
      "",
      "/x/billing",
      "/x/usage,billing",
      "/x/billing%2Cusage",
      "/x/usage,billing/readonly",
    ]) {
      const at = await connect(service, second.access_token, "client 2.x", `/api/v1/mcp${address}`);
      const names = (await at.list()).map(({ name }) => name);
      expect([address, names.filter((name) => !granted.includes(name))]).toEqual([address, []]);
      const hidden = await at
        .call("billing_save", { kind: "client", name: "x" })
        .catch((error: Json) => error);
      expect([address, hidden.code]).toEqual([address, -32_602]);
      await at.close();
    }
  });

  test("of a client's user calls no tool of the company", async () => {
    const { email } = await addUser(service.api, "client", company.client);
    const client = await agentFor(service, email);
    const companys = (await agent.list()).map(({ name }) => name);
    expect(companys.length).toBeGreaterThan(40);
    for (const name of companys) {
      const error = await client.call(name, {}).catch((refusal: Json) => refusal);
      expect([name, error.code, error.message]).toEqual([name, -32_602, `Unknown tool: ${name}`]);
    }
    await client.close();
  });
});
