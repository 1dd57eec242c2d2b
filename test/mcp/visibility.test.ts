import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { LIMITS } from "../../src/mcp/limits.ts";
import { TOOLS } from "../../src/server/tools.ts";
import { type Service, type Json, startService, type Tenant, TestClock } from "../support/harness.ts";
import { type McpClient, agentFor, CLIENTS, tokensOf } from "../support/mcp_clients.ts";
import { addUser, fillCompany, NOW, readArguments, type FilledCompany } from "./fixtures.ts";

// Acceptance 6 of the MCP design: who sees which tools, and that tools show no more than REST.

/** The families of tools, and what a model pays for a family's list before it has done anything. Decision 86. */
const FAMILIES: [string, RegExp, { tokens: number }][] = [
  ["billing and forms", /^(billing|forms)_[a-z0-9_]{0,57}$/, { tokens: 12_000 }],
  ["e-mandates", /^emandate_[a-z0-9_]{0,54}$/, { tokens: 6_000 }],
  ["loans", /^loan_[a-z0-9_]{0,58}$/, { tokens: 6_000 }],
];
const FAMILY_TOOLS = 26;

const clock = new TestClock(NOW);
let service: Service;
let company: FilledCompany;
let other: Tenant;
let other_environment: FilledCompany;
const agents: Record<string, McpClient> = {};
const names: Record<string, string[]> = {};

beforeAll(async () => {
  service = await startService({ clock, env: { LOAN_SERVICE_KEY: "a-service-key" } });
  company = await fillCompany(service, clock);
  other = await service.addTenant();
  other_environment = await fillCompany(service, clock, other);
  const emails = {
    admin: service.admin_email,
    manager: (await addUser(service.api, "manager")).email,
    analyst: (await addUser(service.api, "analyst")).email,
    client: (await addUser(service.api, "client", company.client)).email,
    stranger: other.admin_email,
  };
  for (const [who, email] of Object.entries(emails)) {
    agents[who] = await agentFor(service, email);
    names[who] = (await agents[who].list()).map(({ name }: Json) => name);
  }
});
afterAll(async () => {
  for (const agent of Object.values(agents)) await agent.close();
  await service.stop();
});

const agent = (who: string): McpClient => agents[who] as McpClient;

describe("the list", () => {
  test("company and client users get disjoint lists, neither empty", () => {
    expect(names.client?.length).toBeGreaterThan(5);
    expect(names.admin?.length).toBeGreaterThan(15);
    expect(names.client?.filter((name) => names.admin?.includes(name))).toEqual([]);
  });

  test("a manager sees all but webhooks, an analyst only what reads and what tries prices", async () => {
    expect(names.admin?.filter((name) => !names.manager?.includes(name))).toEqual([
      "billing_find_webhook_deliveries",
      "billing_redeliver_webhook",
      "loan_find_webhook_deliveries",
      "loan_redeliver_webhook",
    ]);
    const tools = await agent("analyst").list();
    const writing = tools.filter(({ annotations }) => !annotations.readOnlyHint);
    expect(writing.map(({ name }) => name)).toEqual(["billing_simulate_prices"]);
    expect(names.analyst).toContain("billing_search_usage");
    expect(names.analyst).not.toContain("billing_change_plan");
  });

  test.each(FAMILIES)(
    "the list of %s is short, and under its budget of tokens",
    async (_, name, { tokens }) => {
      for (const who of ["admin", "client"]) {
        const tools = (await agent(who).list()).filter((tool) => name.test(tool.name));
        expect(tools.length, who).toBeLessThanOrEqual(FAMILY_TOOLS);
        expect(tokensOf({ tools }), who).toBeLessThan(tokens);
      }
    },
  );

  test("every tool is of one family", () => {
    for (const name of [...(names.admin ?? []), ...(names.client ?? [])])
      expect([name, FAMILIES.filter(([, pattern]) => pattern.test(name)).length]).toEqual([name, 1]);
  });

  test("two lists are byte-identical, and the same in every client", async () => {
    const listed = await agent("admin").list();
    for (const kind of CLIENTS) {
      const another = await agentFor(service, service.admin_email, kind);
      const [first, second] = [await another.list(), await another.list()];
      expect(JSON.stringify(first) === JSON.stringify(second), kind).toBe(true);
      // Each client writes the fields that it knows in an order of its own.
      expect(Bun.deepEquals(first, listed, true), kind).toBe(true);
      await another.close();
    }
  });

  test("every tool has a name, a title, a description, hints, and both schemas", async () => {
    for (const who of ["admin", "client"]) {
      for (const { name, title, description, annotations, inputSchema, outputSchema } of await agent(
        who,
      ).list()) {
        expect(name.length, name).toBeLessThanOrEqual(64);
        expect(title, name).toBeString();
        expect(description.length, name).toBeGreaterThan(40);
        expect(Object.keys(annotations).toSorted(), name).toEqual([
          "destructiveHint",
          "openWorldHint",
          "readOnlyHint",
        ]);
        expect(inputSchema, name).toMatchObject({ type: "object", additionalProperties: false });
        expect(outputSchema.type, name).toBe("object");
        expect(annotations.readOnlyHint && annotations.destructiveHint, name).toBe(false);
      }
    }
  });

  test("every parameter is described", async () => {
    for (const who of ["admin", "client"]) {
      for (const { name, inputSchema } of await agent(who).list()) {
        for (const [field, schema] of Object.entries<Json>(inputSchema.properties))
          expect(schema.description, `${name}.${field}`).toBeString();
      }
    }
  });

  test.each(["admin", "manager", "analyst", "client"])(
    "what %s reads names only tools that it sees",
    async (who) => {
      const tools = await agent(who).list();
      const fields = new Set(tools.flatMap(({ inputSchema }) => Object.keys(inputSchema.properties)));
      for (const { name, description } of tools) {
        const named: string[] = description.match(/\b(billing|forms|emandate|loan)_[a-z_]+/g) ?? [];
        const unknown = named.filter((word) => !names[who]?.includes(word) && !fields.has(word));
        expect([name, unknown]).toEqual([name, []]);
      }
    },
  );

  test.each([
    ["company", []],
    ["client", ["product_id", "product_ids"]],
  ])("one tool of a %s finds each id that its tools take, but %j", (level, nowhere) => {
    const tools = TOOLS.filter((tool) => tool.level === level);
    const found = tools.flatMap(({ finds }) => finds.filter((id) => id !== "delivery_id"));
    const deliveries = tools.filter(({ finds }) => finds.includes("delivery_id")).map(({ name }) => name);
    expect(deliveries.map((name) => name.replace(/_.*/, ""))).toEqual(
      level === "company" ? ["billing", "loan"] : [],
    );
    if (deliveries.length > 0) found.push("delivery_id");
    expect(found.toSorted()).toEqual([...new Set(found)].toSorted());
    const ids = new Set(
      tools
        .flatMap(({ input }) => Object.keys(input.properties))
        .filter(
          (name) => /_ids?$/.test(name) && !/^(after|external|request|endpoint|billing_type)_/.test(name),
        ),
    );
    expect(ids.size).toBeGreaterThan(5);
    expect([...ids].filter((name) => !found.includes(name))).toEqual(nowhere);
  });
});

describe("calls", () => {
  test("a hidden tool can't be told from one that does not exist", async () => {
    const refusal = (who: string, name: string) =>
      agent(who)
        .call(name, { nonsense: true })
        .then(
          () => "answered",
          (error) => [error.code, error.message.replace(name, "NAME")],
        );
    const unknown = await refusal("analyst", "no_such_tool");
    expect(unknown).toEqual([-32_602, "Unknown tool: NAME"]);
    expect(await refusal("analyst", "billing_change_plan")).toEqual(unknown);
    expect(await refusal("client", "billing_find_clients")).toEqual(unknown);
    expect(await refusal("admin", "forms_delete_my_form")).toEqual(unknown);
  });

  test("a refusal names no tool that is hidden, whatever field it is about", async () => {
    const textFor = async (who: string) =>
      (await agent(who).call("billing_find_clients", { delivery_id: 1 })).text;
    expect(await textFor("manager")).not.toContain("billing_find_webhook_deliveries");
    expect(await textFor("admin")).toContain("billing_find_webhook_deliveries finds a valid delivery_id.");
  });

  test("a refusal is short, however long the name of a tool or a parameter is", async () => {
    const long = "x".repeat(100_000);
    // Clients repeat the tool's name in a header, which has a bound of its own.
    const unknown = await agent("admin")
      .call(long.slice(0, 5_000))
      .catch((error) => error);
    expect([unknown.code, unknown.message.length < 1_000]).toEqual([-32_602, true]);
    const { is_error, text } = await agent("admin").call("billing_find_clients", { [long]: 1 });
    expect([is_error, text.length]).toEqual([true, LIMITS.mcp_refusal_characters]);
  });

  test("each tool that reads answers what its schema says, in both formats, and within its bound", async () => {
    const asked = readArguments(company);
    for (const who of ["admin", "client"]) {
      for (const { name, annotations, inputSchema } of await agent(who).list()) {
        if (!annotations.readOnlyHint) continue;
        const formats = inputSchema.properties.response_format ? ["concise", "detailed"] : [undefined];
        for (const response_format of formats) {
          // The agent has listed the tools, and throws when an answer does not fit its schema.
          const args = { ...asked[name], ...(response_format ? { response_format } : {}) };
          const { is_error, text, structured } = await agent(who).call(name, args);
          expect([name, is_error, is_error && text]).toEqual([name, false, false]);
          expect(JSON.parse(text), name).toEqual(structured);
        }
      }
    }
  });

  test("removing a permission takes effect on the next call with the same token", async () => {
    const { id, email } = await addUser(service.api, "manager");
    const own = await agentFor(service, email);
    expect((await own.call("billing_save", { kind: "product", name: "Made by a manager" })).is_error).toBe(
      false,
    );
    const before = (await own.list()).length;
    expect((await service.api("PUT", `/users/${id}`, { email, role: "analyst" })).status).toBe(200);
    const refused = await own
      .call("billing_save", { kind: "product", name: "Made by an analyst" })
      .catch((e) => e);
    expect([refused.code, refused.message]).toEqual([-32_602, "Unknown tool: billing_save"]);
    expect((await own.list()).length).toBeLessThan(before);
    const { body } = await service.api("GET", "/products?search=Made by an analyst");
    expect(body.data).toEqual([]);
    await own.close();
  });

  test("a deleted user's agent is refused", async () => {
    const { id, email } = await addUser(service.api, "analyst");
    const own = await agentFor(service, email);
    expect((await service.api("DELETE", `/users/${id}`)).status).toBe(200);
    expect(await own.list().catch((error) => error)).toBeInstanceOf(Error);
  });

  test("two companies never see each other's ids, nor two clients of one", async () => {
    const foreign = readArguments(other_environment);
    for (const [name, args] of Object.entries(foreign)) {
      if (!names.admin?.includes(name) || Object.values(args).every((value) => typeof value !== "number"))
        continue;
      const { is_error, text } = await agent("admin").call(name, args);
      expect([name, is_error]).toEqual([name, true]);
      expect(text).toContain("not found");
    }
    const searched = await agent("admin").call("billing_search_usage", {
      client_ids: [other_environment.client],
    });
    expect([searched.is_error, searched.text]).toEqual([
      true,
      expect.stringContaining("does not belong to your company"),
    ]);

    const rival = (await service.api("POST", "/clients", { name: "Rival" })).body.data.id;
    const { email } = await addUser(service.api, "client", rival);
    const own = await agentFor(service, email);
    expect((await own.call("billing_find_my_subscriptions")).structured.data).toEqual([]);
    const { subscription: subscription_id } = company;
    for (const name of ["billing_find_my_subscriptions", "billing_get_my_subscription_overview"]) {
      const { is_error, text } = await own.call(name, { subscription_id });
      expect([is_error, text]).toEqual([
        true,
        expect.stringContaining(`Subscription ${subscription_id} not found`),
      ]);
    }
    expect((await own.call("billing_search_my_usage")).structured.data).toEqual([]);
    await own.close();
  });
});
