import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Client as ModernClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { type Json, type Service, startService, TestClock } from "../support/harness.ts";
import {
  agentFor,
  CLIENTS,
  confirmed,
  connect,
  grantAccess,
  type McpClient,
} from "../support/mcp_clients.ts";
import { addUser, fillCompany, type FilledCompany, NOW } from "./fixtures.ts";

// Before money is taken, or something ends or is deleted, a person is asked: decision 0286.

const clock = new TestClock(NOW);
let service: Service;
let company: FilledCompany;
let agent: McpClient;
let token: string;
/** A mandate that may be debited often. */
let mandate_id: number;

beforeAll(async () => {
  service = await startService({ clock, env: { LOAN_SERVICE_KEY: "a-service-key" } });
  company = await fillCompany(service, clock);
  token = await grantAccess(service, service.admin_email);
  agent = await connect(service, token);
  const { api } = service;
  const terms = { product_code: "OFTEN", product_name: "Often", max_amount: "50", max_no_debit: "9" };
  const often = await api("POST", "/emandate/products", { ...terms, frequency: "Daily" });
  const customer = { customer_name: "Siti Aminah", customer_email: "siti@example.com" };
  const body = { ...customer, emandate_product_id: often.body.data.id };
  mandate_id = (await api("POST", "/emandate/mandates", body)).body.data.id;
  await api("POST", `/emandate/mandates/${mandate_id}/authorize`, {});
  for (const scenario of ["mandate_authorized", "mandate_activated"])
    await api("POST", `/emandate/simulator/scenarios/${scenario}/run`, { mandate_id });
});
afterAll(async () => {
  await agent.close();
  await service.stop();
});

const product = async (name: string): Promise<number> =>
  (await service.api("POST", "/products", { name })).body.data.id;
const isThere = async (id: number) => (await service.api("GET", `/products/${id}`)).status === 200;
const debits = async (): Promise<number> =>
  (await service.api("GET", `/emandate/payments?mandate_id=${mandate_id}`)).body.meta.total;

/** A person at a client that can ask: what was asked, and what was answered. */
async function clientOf(action: "accept" | "decline" | "cancel"): Promise<{ client: Json; asked: string[] }> {
  const asked: string[] = [];
  const client: Json = new ModernClient(
    { name: "meterhouse-test", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } }, capabilities: { elicitation: { form: {} } } },
  );
  client.setRequestHandler("elicitation/create", ({ params }: Json) => {
    asked.push(params.message);
    return action === "accept" ? { action, content: {} } : { action };
  });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${service.url}/api/v1/mcp`), { requestInit }),
  );
  return { client, asked };
}

describe("a client that can't ask its person", () => {
  test.each(CLIENTS)("%s is told what will happen, and brings the yes as a token", async (kind) => {
    const own = await connect(service, token, kind);
    await own.list();
    const id = await product(`Old ${kind}`);
    const args = { kind: "product", id };
    const asked = await own.call("billing_delete", args);
    expect(asked.is_error).toBe(false);
    expect(asked.structured).toEqual({
      needs_confirmation: {
        what_will_happen: `Deletes the product Old ${kind} (${id}), for good. Bills stay.`,
        confirm: expect.stringMatching(/^[0-9a-z]{6,9}\.[\w-]{43}$/),
        next: expect.stringContaining("Nothing has been done"),
      },
    });
    expect(JSON.parse(asked.text)).toEqual(asked.structured);
    expect(await isThere(id)).toBe(true);
    const { confirm } = asked.structured.needs_confirmation;
    const done = await own.call("billing_delete", { ...args, confirm });
    expect([done.is_error, done.structured]).toEqual([false, { data: {} }]);
    expect(await isThere(id)).toBe(false);
    await own.close();
  });

  test("asks again where the token is of another call, another user, another tool, or is made up", async () => {
    const [first, second] = [await product("First"), await product("Second")];
    const args = { kind: "product", id: first };
    const { structured } = await agent.call("billing_delete", args);
    const { confirm } = structured.needs_confirmation;
    const { email } = await addUser(service.api, "manager");
    const other = await agentFor(service, email);
    const tampered = `${confirm.slice(0, -1)}${confirm.endsWith("A") ? "B" : "A"}`;
    const later = `${(Number.parseInt(confirm.split(".")[0], 36) + 60).toString(36)}.${confirm.split(".")[1]}`;
    for (const answer of [
      await agent.call("billing_delete", { kind: "product", id: second, confirm }),
      await other.call("billing_delete", { ...args, confirm }),
      await agent.call("billing_delete", { ...args, confirm: tampered }),
      await agent.call("billing_delete", { ...args, confirm: later }),
      await agent.call("billing_delete", { ...args, confirm: "yes" }),
      await agent.call("billing_delete", { ...args, request_id: "x", confirm }).catch(() => null),
    ])
      expect([answer?.is_error, answer?.structured?.data]).toEqual([expect.any(Boolean), undefined]);
    expect([await isThere(first), await isThere(second)]).toEqual([true, true]);
    expect((await agent.call("billing_delete", { ...args, confirm })).structured).toEqual({ data: {} });
    await other.close();
  });

  test("asks again after 15 minutes, and where something else would happen by then", async () => {
    const id = await product("Renamed meanwhile");
    const args = { kind: "product", id };
    const before = (await agent.call("billing_delete", args)).structured.needs_confirmation.confirm;
    expect((await service.api("PUT", `/products/${id}`, { name: "Precious" })).status).toBe(200);
    const again = (await agent.call("billing_delete", { ...args, confirm: before })).structured;
    expect(again.needs_confirmation.what_will_happen).toContain("Precious");
    clock.set("2026-03-10T12:15:00Z");
    const { confirm } = again.needs_confirmation;
    expect((await agent.call("billing_delete", { ...args, confirm })).structured.data).toBeUndefined();
    clock.set("2026-03-10T12:14:59Z");
    expect((await agent.call("billing_delete", { ...args, confirm })).structured).toEqual({ data: {} });
    clock.set(NOW);
  });

  test("counts a yes once: sent again it gets the same answer, and takes no money twice", async () => {
    const args = { mandate_id, amount: "12.00" };
    const count = await debits();
    const { structured } = await agent.call("emandate_debit", args);
    const { what_will_happen, confirm } = structured.needs_confirmation;
    expect(what_will_happen).toMatch(
      /^Debits MYR 12.00 under mandate \d+ \(\S+\) of Siti Aminah, siti@example.com, today\. This is the sandbox: no money moves\.$/,
    );
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => agent.call("emandate_debit", { ...args, confirm })),
    );
    const done = answers.filter(({ is_error }) => !is_error);
    expect(new Set(done.map(({ structured: { data } }) => data.id)).size).toBe(1);
    const again = await agent.call("emandate_debit", { ...args, confirm });
    expect(again.structured).toEqual(done[0]?.structured);
    expect(await debits()).toBe(count + 1);
  });

  test("with a request_id, gets the answer that was given, and is not asked again", async () => {
    const args = { mandate_id, amount: "13.00", request_id: "thirteen" };
    const first = await confirmed(agent, "emandate_debit", args);
    expect(first.is_error).toBe(false);
    expect(await agent.call("emandate_debit", args)).toEqual(first);
  });

  test("is refused at once where there is nothing to ask about", async () => {
    const { is_error, text } = await agent.call("billing_delete", { kind: "product", id: 999_999 });
    expect([is_error, text]).toEqual([true, expect.stringContaining("Product 999999 not found")]);
  });
});

describe("what is asked", () => {
  const questions: [string, () => object, RegExp][] = [
    [
      "billing_cancel_subscription",
      () => ({ subscription_id: company.subscription, at: "now" }),
      /^Ends the subscription Acme tokens \(acme-tokens\) of Acme now, for good\.$/,
    ],
    [
      "billing_run",
      () => ({ period: "2026-02" }),
      /^Writes 0 bills and 0 adjustments of 2026-02: nothing to charge\. They can't be taken back\.$/,
    ],
    [
      "billing_delete",
      () => ({ kind: "client", id: company.client }),
      /^Deletes the client Acme \(\d+\), with its users/,
    ],
    [
      "emandate_change_payment",
      () => ({ payment_id: company.payment, kind: "retry" }),
      /^Debits MYR 20.00 of 2026-03-10 again, under mandate/,
    ],
    [
      "emandate_end_mandate",
      () => ({ mandate_id: company.mandate, kind: "terminate" }),
      /^Terminates mandate \d+ /,
    ],
    [
      "emandate_run_collection",
      () => ({}),
      /^Debits every mandate that is due until today, of all customers\./,
    ],
    [
      "loan_disburse_application",
      () => ({ environment: "staging", application_id: company.application, reference: "TT-1" }),
      /^Records that the loan of LA-\S+ was paid out to .*, as TT-1\. It can't be undone\.$/,
    ],
  ];
  test.each(questions)("%s says what will happen", async (name, args, words) => {
    const { structured } = await agent.call(name, args());
    expect(structured.needs_confirmation.what_will_happen).toMatch(words);
  });

  test("nothing, of what takes nothing away", async () => {
    expect((await agent.call("billing_run", { dry_run: true })).structured.data.status).toBe("finished");
    const stopped = await agent.call("emandate_change_payment", {
      payment_id: company.payment,
      kind: "cancel",
    });
    expect(stopped.structured).toBeUndefined();
    expect(stopped.is_error).toBe(true);
  });
});

describe("a client that can ask its person", () => {
  test("asks, and does it after a yes, in one call of the model", async () => {
    const { client, asked } = await clientOf("accept");
    const id = await product("Asked about");
    const done: Json = await client.callTool({ name: "billing_delete", arguments: { kind: "product", id } });
    expect(done.structuredContent).toEqual({ data: {} });
    expect(asked).toEqual([`Deletes the product Asked about (${id}), for good. Bills stay. Go ahead?`]);
    expect(await isThere(id)).toBe(false);
    const before = await debits();
    const debit = { mandate_id, amount: "14.00" };
    const paid: Json = await client.callTool({ name: "emandate_debit", arguments: debit });
    expect([paid.structuredContent.data.amount, await debits()]).toEqual(["14.00", before + 1]);
    await client.close();
  });

  test.each(["decline", "cancel"] as const)("does nothing after a %s", async (action) => {
    const { client, asked } = await clientOf(action);
    const id = await product("Kept");
    const result: Json = await client.callTool({
      name: "billing_delete",
      arguments: { kind: "product", id },
    });
    expect([result.isError, result.content[0].text]).toEqual([true, expect.stringContaining("said no")]);
    expect([asked.length, await isThere(id)]).toEqual([1, true]);
    await client.close();
  });

  test("asks about nothing that needs no yes", async () => {
    const { client, asked } = await clientOf("decline");
    const found: Json = await client.callTool({ name: "billing_find_clients", arguments: {} });
    expect([found.isError ?? false, asked]).toEqual([false, []]);
    await client.close();
  });

  test("can't answer a question that was not asked", async () => {
    const id = await product("Forged");
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "forger", version: "1.0.0" },
      "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
    };
    const params = {
      name: "billing_delete",
      arguments: { kind: "product", id },
      inputResponses: { confirm: { action: "accept", content: {} } },
      requestState: `zzzzzz.${"A".repeat(43)}`,
      _meta: meta,
    };
    const headers = {
      authorization: `Bearer ${token}`,
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "billing_delete",
    };
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const { body } = await service.anonymous("POST", "/mcp", message, headers);
    expect(body.result.resultType).toBe("input_required");
    expect(await isThere(id)).toBe(true);
  });
});
