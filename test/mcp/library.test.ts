import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Client as ModernClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type Json, type Service, startService, TestClock } from "../support/harness.ts";
import { CLIENTS, type ClientKind, connect, grantAccess } from "../support/mcp_clients.ts";
import { addUser, fillCompany, type FilledCompany, NOW } from "./fixtures.ts";

// Prompts and resources, by real clients: decision 0287.

const clock = new TestClock(NOW);
let service: Service;
let company: FilledCompany;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  service = await startService({ clock });
  company = await fillCompany(service, clock);
  const { email: client } = await addUser(service.api, "client", company.client);
  const other = await service.addTenant();
  const emails = { admin: service.admin_email, client, stranger: other.admin_email };
  for (const [who, email] of Object.entries(emails)) tokens[who] = await grantAccess(service, email);
});
afterAll(() => service.stop());

/** A real client, with what the SDK calls prompts and resources. */
async function open(kind: ClientKind, who: string, path = ""): Promise<Json> {
  const url = new URL(`${service.url}/api/v1/mcp${path}`);
  const requestInit = { headers: { authorization: `Bearer ${tokens[who]}` } };
  const identity = { name: "meterhouse-test", version: "1.0.0" };
  const mode = kind === "client 2.x" ? ({ pin: "2026-07-28" } as const) : "legacy";
  const client: Json =
    kind === "sdk 1.x"
      ? new LegacyClient(identity)
      : new ModernClient(identity, { versionNegotiation: { mode } });
  const transport: Json =
    kind === "sdk 1.x"
      ? new LegacyTransport(url, { requestInit })
      : new StreamableHTTPClientTransport(url, { requestInit });
  await client.connect(transport);
  return client;
}

async function as<T>(who: string, work: (client: Json) => Promise<T>, path = ""): Promise<T> {
  const client = await open("client 2.x", who, path);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

const codeOf = (refused: Promise<unknown>) =>
  refused.then(
    () => "answered",
    (error) => error.code,
  );

describe.each(CLIENTS)("%s", (kind) => {
  test("finds and fills the prompts", async () => {
    const client = await open(kind, "admin");
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }: Json) => name)).toEqual([
      "explain_bill",
      "close_month",
      "who_grows_and_shrinks",
      "why_debit_failed",
    ]);
    const { messages } = await client.getPrompt({ name: "explain_bill", arguments: { record_id: "7" } });
    expect(messages).toEqual([{ role: "user", content: { type: "text", text: expect.any(String) } }]);
    expect(messages[0].content.text).toContain("billing_find_records with record_id 7 and verify true");
    await client.close();
  });

  test("reads guides, the OpenAPI document and an invoice", async () => {
    const client = await open(kind, "admin");
    const { resources } = await client.listResources();
    const uris: string[] = resources.map(({ uri }: Json) => uri);
    expect(uris).toContain("meterhouse://guides/billing");
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0];
    const billing = await read("meterhouse://guides/billing");
    expect([billing.mimeType, billing.text.startsWith("# ")]).toEqual(["text/markdown", true]);
    const document = JSON.parse((await read("meterhouse://openapi.json")).text);
    expect(document).toEqual((await service.anonymous("GET", "origin:/openapi.json")).body);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }: Json) => uriTemplate)).toEqual([
      "meterhouse://invoices/{id}",
    ]);
    const invoice = await read(`meterhouse://invoices/${company.record}`);
    const page = await service.api("GET", `/billing-records/${company.record}/invoice`);
    expect([invoice.mimeType, invoice.text]).toEqual(["text/html", page.body]);
    await client.close();
  });
});

describe("prompts", () => {
  test("send only to tools that the user sees, with parameters that these have", async () => {
    for (const who of ["admin", "client"]) {
      const agent = await connect(service, tokens[who] ?? "");
      const tools = new Map((await agent.list()).map(({ name, inputSchema }) => [name, inputSchema]));
      await agent.close();
      await as(who, async (client) => {
        const { prompts } = await client.listPrompts();
        expect(prompts.length).toBeGreaterThan(0);
        for (const { name, arguments: taken } of prompts) {
          const values = Object.fromEntries(taken.map((argument: Json) => [argument.name, "1"]));
          const { messages } = await client.getPrompt({ name, arguments: values });
          const named: string[] = messages[0].content.text.match(/\b(billing|emandate)_[a-z_]+/g);
          expect([name, named.filter((tool) => !tools.has(tool))]).toEqual([name, []]);
        }
      });
    }
  });

  test("are those of the user's side, role, grant and address", async () => {
    const names = (who: string, path = "") =>
      as(who, async (client) => (await client.listPrompts()).prompts.map(({ name }: Json) => name), path);
    expect(await names("client")).toEqual(["explain_my_bill"]);
    expect(await names("admin", "/x/debits")).toEqual(["why_debit_failed"]);
    expect(await names("admin", "/readonly")).not.toContain("close_month");
    expect(await as("client", (client) => codeOf(client.getPrompt({ name: "close_month" })))).toBe(-32_602);
  });

  test("refuse arguments that are missing, unknown or too long", async () => {
    await as("admin", async (client) => {
      const code = (given: object) => codeOf(client.getPrompt({ name: "explain_bill", arguments: given }));
      expect(await code({})).toBe(-32_602);
      expect(await code({ record_id: " " })).toBe(-32_602);
      expect(await code({ record_id: "1", other: "x" })).toBe(-32_602);
      expect(await code({ record_id: "1".repeat(201) })).toBe(-32_602);
      expect(await code({ record_id: "1" })).toBe("answered");
      expect(await codeOf(client.getPrompt({ name: "no_such_prompt" }))).toBe(-32_602);
    });
  });
});

describe("resources", () => {
  test("an invoice is its company's, and its client's", async () => {
    const uri = `meterhouse://invoices/${company.record}`;
    const read = (who: string, path = "") => as(who, (client) => codeOf(client.readResource({ uri })), path);
    expect(await read("client")).toBe("answered");
    expect(await read("stranger")).toBe(-32_602);
    expect(await read("admin", "/x/billing/readonly")).toBe("answered");
    expect(await read("admin", "/x/debits")).toBe(-32_602);
  });

  test("an address that leads nowhere is told so", async () => {
    await as("admin", async (client) => {
      for (const uri of [
        "meterhouse://invoices/0",
        "meterhouse://invoices/999999",
        "meterhouse://invoices/1/2",
        "meterhouse://guides/../package.json",
        "file:///etc/passwd",
      ])
        expect([uri, await codeOf(client.readResource({ uri }))]).toEqual([uri, -32_602]);
    });
  });

  test("every guide is there to read", async () => {
    await as("admin", async (client) => {
      const { resources } = await client.listResources();
      for (const { uri, mimeType } of resources) {
        const { contents } = await client.readResource({ uri });
        expect([contents[0].mimeType, contents[0].text.length > 1_000]).toEqual([mimeType, true]);
      }
    });
  });
});
