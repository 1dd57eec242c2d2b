import { describe, expect, test } from "bun:test";
import { OAuthClient, destination, open, type Page, pkce, send } from "../access/oauth/fixtures.ts";
import { type Json, PASSWORD, TestClock, useService } from "../support/harness.ts";
import { CLIENTS, connect, type McpClient, tokensOf } from "../support/mcp_clients.ts";
import { addUser, NOW } from "./fixtures.ts";

// What a user grants, and what an address narrows: decision 0285.

const ROOT = "/api/v1/mcp";
/** What a model pays for the list of what a user grants by pressing Allow. */
const ADMIN_TOKENS = 8_000;
const CLIENT_TOKENS = 3_500;
/** The same for all toolsets. */
const EVERYTHING_TOKENS = 20_000;

const clock = new TestClock(NOW);
const service = useService({ clock, env: { LOAN_SERVICE_KEY: "a-service-key" } });
const bare = useService({ clock });

type Boxes = Record<string, string>;

interface Asked {
  email?: string;
  scope?: string | undefined;
  address?: string;
  /** What is ticked; default: what a browser sends of the page as it comes. */
  boxes?: Boxes;
}

/** The choices that a page comes with, as a browser sends them. */
function tickedOn({ html }: Page): Boxes {
  const radios = html.matchAll(/<input type="radio" name="(\w+)" value="(\w+)" checked>/g);
  return Object.fromEntries([...radios].map(([, name, value]) => [name ?? "", value ?? ""]));
}

/** The choices that a page has. */
function choicesOn({ html }: Page): string[] {
  const radios = html.matchAll(/<input type="radio" name="(\w+)" value="(\w+)"/g);
  return [...radios].map(([, name, value]) => `${name}:${value}`);
}

const pageFor = async ({ scope = "mcp:tools", address = ROOT }: Asked, at = service) => {
  const { verifier, challenge } = pkce();
  const agent = await OAuthClient.register(at);
  const url = agent.url(challenge, { scope, resource: `${at.url}${address}` });
  return { page: await open(url), agent, verifier };
};

/** Has a user grant an agent access; returns the tokens. */
async function granted(asked: Asked = {}): Promise<Json> {
  const { page, agent, verifier } = await pageFor(asked);
  const { email = service.admin_email, boxes = tickedOn(page) } = asked;
  const answer = await send(service, page, { ...boxes, email, password: PASSWORD, decision: "allow" });
  const code = destination(answer).searchParams.get("code") ?? "";
  return (await agent.exchange(code, verifier)).body;
}

async function using<T>(token: string, work: (agent: McpClient) => Promise<T>, address = ROOT): Promise<T> {
  const agent = await connect(service, token, "client 2.x", address);
  try {
    return await work(agent);
  } finally {
    await agent.close();
  }
}

const namesFor = (token: string, address = ROOT): Promise<string[]> =>
  using(token, async (agent) => (await agent.list()).map(({ name }) => name), address);

const families = (names: string[]) =>
  [...new Set(names.map((name) => name.replace(/_.*/, "")))].toSorted((a, b) => (a < b ? -1 : 1));

describe("the consent page", () => {
  test("offers each toolset to read, or to read and write, and ticks billing and usage", async () => {
    const { page } = await pageFor({});
    const each = ["billing", "usage", "debits", "loans", "webhooks"];
    expect(choicesOn(page)).toEqual(
      each.flatMap((name) => [`${name}:none`, `${name}:read`, `${name}:write`]),
    );
    expect(tickedOn(page)).toEqual({
      billing: "write",
      usage: "read",
      debits: "none",
      loans: "none",
      webhooks: "none",
    });
  });

  test("offers no loans where the deployment has none", async () => {
    const { page } = await pageFor({}, bare);
    expect(choicesOn(page)).not.toContain("loans:read");
    expect(choicesOn(page)).toContain("debits:read");
  });

  test("offers and ticks what the agent asks for, and no more", async () => {
    const { page } = await pageFor({ scope: "mcp:debits:read mcp:usage:write" });
    expect(choicesOn(page)).toEqual([
      "usage:none",
      "usage:read",
      "usage:write",
      "debits:none",
      "debits:read",
    ]);
    expect(tickedOn(page)).toEqual({ usage: "write", debits: "read" });
  });

  test("comes again with what was ticked, after a wrong password, and where nothing is ticked", async () => {
    const { page } = await pageFor({});
    const boxes = { ...tickedOn(page), billing: "read", debits: "read" };
    const typed = { email: service.admin_email, decision: "allow" };
    const again = await send(service, page, { ...boxes, ...typed, password: "wrong" });
    expect([again.status, tickedOn(again)]).toEqual([401, boxes]);
    const none = Object.fromEntries(Object.keys(boxes).map((name) => [name, "none"]));
    const empty = await send(service, page, { ...none, ...typed, password: PASSWORD });
    expect([empty.status, empty.html.includes("Tick what it may read or write")]).toEqual([422, true]);
  });

  test("refuses a choice that it does not offer", async () => {
    const { page } = await pageFor({});
    const typed = { email: service.admin_email, password: PASSWORD, decision: "allow", billing: "all" };
    const answer = await send(service, page, typed);
    expect([answer.status, answer.html]).toEqual([400, expect.stringContaining("none, read or write")]);
  });
});

describe("what is granted", () => {
  test("by pressing Allow: billing and usage, in a list under its budget", async () => {
    const tokens = await granted();
    expect(tokens.scope).toBe("mcp:billing:write mcp:usage:read");
    const tools = await using(tokens.access_token, (agent) => agent.list());
    expect(families(tools.map(({ name }) => name))).toEqual(["billing", "forms"]);
    expect(tokensOf({ tools })).toBeLessThanOrEqual(ADMIN_TOKENS);
  });

  test("by a client user who presses Allow: its own tools, in a list under its budget", async () => {
    const client = (await service.api("POST", "/clients", { name: "Acme" })).body.data.id;
    const { email } = await addUser(service.api, "client", client);
    const { access_token } = await granted({ email });
    const tools = await using(access_token, (agent) => agent.list());
    expect(tools.length).toBeGreaterThan(5);
    expect(tokensOf({ tools })).toBeLessThanOrEqual(CLIENT_TOKENS);
  });

  test("by one who ticks everything: what agents were granted before there were boxes", async () => {
    const all = { billing: "write", usage: "write", debits: "write", loans: "write", webhooks: "write" };
    const ticked = await granted({ boxes: all });
    // A program that sends no boxes, as all did before there were any.
    const unticked = await granted({ boxes: {} });
    expect([ticked.scope, unticked.scope]).toEqual(["mcp:tools", "mcp:tools"]);
    const tools = await using(ticked.access_token, (agent) => agent.list());
    expect(families(tools.map(({ name }) => name))).toEqual(["billing", "emandate", "forms", "loan"]);
    expect(tokensOf({ tools })).toBeLessThanOrEqual(EVERYTHING_TOKENS);
    expect(await namesFor(unticked.access_token)).toEqual(tools.map(({ name }) => name));
  });

  test("to read: only tools that read are there", async () => {
    const { access_token, scope } = await granted({ boxes: { ...none, billing: "read", debits: "read" } });
    expect(scope).toBe("mcp:billing:read mcp:debits:read");
    const tools = await using(access_token, (agent) => agent.list());
    expect(families(tools.map(({ name }) => name))).toEqual(["billing", "emandate", "forms"]);
    for (const { name, annotations } of tools) expect([name, annotations.readOnlyHint]).toEqual([name, true]);
    const refused = await using(access_token, (agent) =>
      agent.call("billing_save", { kind: "client", name: "x" }).catch((error) => error),
    );
    expect([refused.code, refused.message]).toEqual([-32_602, "Unknown tool: billing_save"]);
  });

  test("stays when it is refreshed, is listed, and is in the audit log", async () => {
    const { page, agent, verifier } = await pageFor({});
    const typed = {
      ...none,
      usage: "read",
      email: service.admin_email,
      password: PASSWORD,
      decision: "allow",
    };
    const code = destination(await send(service, page, typed)).searchParams.get("code") ?? "";
    const first = (await agent.exchange(code, verifier)).body;
    const second = (await agent.refresh(first.refresh_token)).body;
    expect([first.scope, second.scope]).toEqual(["mcp:usage:read", "mcp:usage:read"]);
    expect((await service.api("GET", "/me/authorizations")).body.data[0].scope).toBe("mcp:usage:read");
    const { body } = await service.api("GET", "/audit-log?operation=grant_authorization");
    expect(JSON.stringify(body.data[0])).toContain("mcp:usage:read");
  });

  test("is never more than was asked for", async () => {
    const boxes = { billing: "write", usage: "write", debits: "write" };
    const { scope } = await granted({ scope: "mcp:billing:read", boxes });
    expect(scope).toBe("mcp:billing:read");
  });

  test("tells of no tool that is not granted", async () => {
    const { access_token } = await granted({ boxes: { ...none, billing: "read" } });
    const tools = await using(access_token, (agent) => agent.list());
    const text = JSON.stringify(tools);
    for (const hidden of ["billing_search_usage", "billing_run", "billing_save", "billing_check_usage"])
      expect(text).not.toMatch(new RegExp(`\\b${hidden}\\b`));
  });

  const none = { billing: "none", usage: "none", debits: "none", loans: "none", webhooks: "none" };
});

describe("an address", () => {
  test.each(CLIENTS)("narrows the grant, for %s", async (kind) => {
    const { access_token } = await granted({ boxes: {} });
    const at = async (address: string) => {
      const agent = await connect(service, access_token, kind, `${ROOT}${address}`);
      const tools = await agent.list();
      await agent.close();
      return tools;
    };
    const debits = await at("/x/debits");
    expect(families(debits.map(({ name }) => name))).toEqual(["emandate"]);
    expect(debits.some(({ annotations }) => !annotations.readOnlyHint)).toBe(true);
    const both = await at("/x/debits,usage/readonly");
    expect(families(both.map(({ name }) => name))).toEqual(["billing", "emandate"]);
    const readonly = await at("/readonly");
    expect(readonly.length).toBeGreaterThan(both.length);
    for (const { name, annotations } of [...both, ...readonly])
      expect([name, annotations.readOnlyHint]).toEqual([name, true]);
  });

  test("does not widen it", async () => {
    const { access_token } = await granted({ scope: "mcp:usage:read" });
    expect(await namesFor(access_token, `${ROOT}/x/debits`)).toEqual([]);
    expect(await namesFor(access_token, `${ROOT}/x/usage,debits`)).toEqual(await namesFor(access_token));
  });

  test.each(["/x/nothing", "/x/usage,nothing", "/x/usage/write", "/x/Usage", "/x/"])(
    "%s is none",
    async (address) => {
      expect([401, 404]).toContain((await service.anonymous("POST", `/mcp${address}`, {})).status);
      const { access_token } = await granted();
      const headers = { authorization: `Bearer ${access_token}` };
      const { status, body } = await service.anonymous("POST", `/mcp${address}`, {}, headers);
      expect([status, body.error]).toEqual([404, expect.any(String)]);
      const metadata = `origin:/.well-known/oauth-protected-resource${ROOT}${address}`;
      expect((await service.anonymous("GET", metadata)).status).toBe(404);
    },
  );

  test("says in its refusal where its own metadata is, and which scope it has", async () => {
    const response = await fetch(`${service.url}${ROOT}/x/debits,usage/readonly`, { method: "POST" });
    expect(response.status).toBe(401);
    const metadata = `${service.url}/.well-known/oauth-protected-resource${ROOT}/x/debits,usage/readonly`;
    expect(response.headers.get("www-authenticate")).toBe(
      `Bearer resource_metadata="${metadata}", scope="mcp:usage:read mcp:debits:read"`,
    );
    const document: Json = await (await fetch(metadata)).json();
    expect(document).toMatchObject({
      resource: `${service.url}${ROOT}/x/debits,usage/readonly`,
      authorization_servers: [service.url],
      scopes_supported: ["mcp:usage:read", "mcp:debits:read"],
    });
  });

  test("bounds what is granted for it", async () => {
    const address = `${ROOT}/x/billing/readonly`;
    const { page } = await pageFor({ address });
    expect(choicesOn(page)).toEqual(["billing:none", "billing:read"]);
    const { scope } = await granted({ address });
    expect(scope).toBe("mcp:billing:read");
    const apart = await pageFor({ address, scope: "mcp:debits:read" });
    expect(destination(apart.page).searchParams.get("error")).toBe("invalid_scope");
  });

  test("answers GET and DELETE as the endpoint does", async () => {
    for (const method of ["GET", "DELETE"]) {
      const response = await fetch(`${service.url}${ROOT}/x/usage`, { method });
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    }
  });
});

test("both metadata documents name every scope, the one for all tools first", async () => {
  const each = ["billing", "usage", "debits", "loans", "webhooks"];
  const scopes = ["mcp:tools", ...each.flatMap((name) => [`mcp:${name}:read`, `mcp:${name}:write`])];
  for (const name of ["oauth-protected-resource", "oauth-authorization-server", "mcp.json"]) {
    const { body } = await service.anonymous("GET", `origin:/.well-known/${name}`);
    expect([name, body.scopes_supported]).toEqual([name, scopes]);
  }
});
