import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Service, type Json, startService, TestClock } from "../support/harness.ts";
import { type McpClient, agentFor, confirmed } from "../support/mcp_clients.ts";
import { addUser, fillCompany, NOW, type FilledCompany } from "./fixtures.ts";

// What tools answer and refuse, beside what REST answers and refuses.

const clock = new TestClock(NOW);
let service: Service;
let company: FilledCompany;
let agent: McpClient;
let mine: McpClient;

beforeAll(async () => {
  // Outside of production a webhook may go to this machine.
  service = await startService({ clock, env: { NODE_ENV: "development" } });
  company = await fillCompany(service, clock);
  agent = await agentFor(service, service.admin_email);
  mine = await agentFor(service, (await addUser(service.api, "client", company.client)).email);
  // From here on every answer is checked against what its tool says.
  await Promise.all([agent.list(), mine.list()]);
});
afterAll(async () => {
  await Promise.all([agent.close(), mine.close()]);
  await service.stop();
});

const detailed = { response_format: "detailed" };

describe("structuredContent is REST's data", () => {
  const cases: [string, () => object, () => string][] = [
    ["billing_find_clients", () => detailed, () => "/clients?page=1"],
    [
      "billing_find_catalog",
      () => ({ ...detailed, kind: "product", search: "tok" }),
      () => "/products?page=1&search=tok",
    ],
    ["billing_find_catalog", () => ({ ...detailed, kind: "billing_model" }), () => "/billing-models?page=1"],
    [
      "billing_find_subscriptions",
      () => ({ ...detailed, client_id: company.client }),
      () => `/subscriptions?page=1&client_id=${company.client}`,
    ],
    [
      "billing_check_usage",
      () => ({ subscription_id: company.subscription }),
      () => `/subscriptions/${company.subscription}/entitlements`,
    ],
    ["billing_find_records", () => ({ ...detailed, limit: 1 }), () => "/billing-records?limit=1"],
    ["billing_find_records", () => ({ ...detailed, kind: "run" }), () => "/billing-runs"],
  ];
  test.each(cases)("%s", async (name, args, path) => {
    const { body } = await service.api("GET", path());
    const { text, structured } = await agent.call(name, args());
    // How to go on is for tools alone.
    if (structured.meta?.next_cursor !== undefined) body.meta.next_cursor = structured.meta.next_cursor;
    expect(structured).toEqual(body);
    expect(JSON.parse(text)).toEqual(structured);
  });

  test("one record by its id is a list of it, with what a detail has", async () => {
    const { body } = await service.api("GET", `/billing-records/${company.record}`);
    const { structured } = await agent.call("billing_find_records", {
      record_id: company.record,
      ...detailed,
    });
    expect(structured).toEqual({ data: [body.data] });
  });

  test("a bill is proved where it is found", async () => {
    const { body } = await service.api("GET", `/billing-records/${company.record}/verify`);
    const proved = await agent.call("billing_find_records", { record_id: company.record, verify: true });
    expect(proved.structured).toEqual({ data: [body.data] });
    expect((await agent.call("billing_find_records", { verify: true })).text).toContain(
      "record_id is required",
    );
  });

  test("the concise format leaves out fields of records, never what users call the same", async () => {
    const search = { relative: "this_month", limit: 1 };
    const { structured } = await agent.call("billing_search_usage", search);
    expect(structured.data[0].created_at).toBeUndefined();
    expect(structured.data[0].metadata).toEqual({ model: "large", created_at: "mine" });
    const whole = await agent.call("billing_search_usage", { ...search, ...detailed });
    expect(whole.structured).toEqual((await service.api("POST", "/usage/search", search)).body);
    expect(structured.meta).toEqual(whole.structured.meta);
  });

  test("a webhook's delivery, without its payload unless asked for", async () => {
    const endpoint = { url: "http://localhost:1/hooks", event_types: ["*"] };
    const { id } = (await service.api("POST", "/webhooks", endpoint)).body.data;
    const delivery_id = (await service.api("POST", `/webhooks/${id}/test`, {})).body.data.id;
    const concise = await agent.call("billing_find_webhook_deliveries", { endpoint_id: id });
    expect(concise.structured.data[0]).toMatchObject({ id: delivery_id, event_type: "webhook.test" });
    expect(concise.structured.data[0].payload).toBeUndefined();
    const whole = await agent.call("billing_find_webhook_deliveries", { delivery_id, ...detailed });
    expect(whole.structured.data[0].payload.type).toBe("webhook.test");
  });

  test("an overview tells what five questions on REST tell", async () => {
    const { subscription_id, data } = await overview(company.credit_subscription);
    const rest = async (path: string) =>
      (await service.api("GET", `/subscriptions/${subscription_id}${path}`)).body.data;
    expect(data.subscription).toEqual(await rest(""));
    expect(data.running_charges).toEqual(await rest("/preview"));
    expect(data.credits).toEqual(await rest("/credits"));
    expect(data.scheduled_changes).toEqual([]);
    expect(data.latest_records).toHaveLength(1);
    expect((await overview(company.subscription)).data.credits).toBeNull();
  });

  async function overview(subscription_id: number): Promise<Json> {
    const { structured } = await agent.call("billing_get_subscription_overview", {
      subscription_id,
      ...detailed,
    });
    return { subscription_id, data: structured.data };
  }
});

describe("refusals teach", () => {
  const cases: [string, string, () => object, string[]][] = [
    [
      "an unknown id names the tool that finds ids",
      "billing_get_subscription_overview",
      () => ({ subscription_id: 999_999 }),
      ["Subscription 999999 not found", "billing_find_subscriptions finds a valid subscription_id."],
    ],
    [
      "an unknown id of a body, too",
      "billing_change_plan",
      () => ({
        subscription_id: company.subscription,
        kind: "change",
        new_billing_model_id: 999_999,
        effective_at: NOW,
      }),
      ["new_billing_model_id names no active", "billing_find_catalog finds a valid new_billing_model_id."],
    ],
    [
      "a word that is not allowed is answered with those that are",
      "billing_cancel_subscription",
      () => ({ subscription_id: company.subscription, at: "tomorrow" }),
      ["at must be one of now, period_end"],
    ],
    [
      "an unknown parameter is answered with those that are known",
      "billing_check_usage",
      () => ({ id: 1 }),
      ["subscription_id is required", "id is not a known field; known are subscription_id"],
    ],
    [
      "what a kind of change needs",
      "billing_change_plan",
      () => ({ subscription_id: company.subscription, kind: "change", new_billing_model_id: company.dearer }),
      ["effective_at is required for kind change"],
    ],
    [
      "a client that is still served",
      "billing_delete",
      () => ({ kind: "client", id: company.client }),
      ["it has 2 active subscriptions"],
    ],
    [
      "a plan with fewer credits",
      "billing_change_plan",
      () => ({
        subscription_id: company.credit_subscription,
        kind: "upgrade",
        new_billing_model_id: company.credits,
      }),
      ["new_billing_model_id"],
    ],
  ];
  test.each(cases)("%s", async (_, name, args, parts) => {
    const { is_error, text, structured } = await confirmed(agent, name, args());
    expect([is_error, structured]).toEqual([true, undefined]);
    for (const part of parts) expect(text).toContain(part);
  });

  test.each(["constructor", "toString"])("a parameter called %s is as unknown as any", async (field) => {
    const args = Object.fromEntries([[field, 1]]);
    const { is_error, text } = await agent.call("billing_find_clients", args);
    expect([is_error, text]).toEqual([
      true,
      expect.stringMatching(/is not a known field; known are client_id[^\n]*$/),
    ]);
  });

  test("a form's problems are all named, and a client user sees its own tools", async () => {
    const config = { title: "", fields: [{ name: "a", label: "A", type: "colour" }] };
    const checked = await mine.call("forms_validate_my_form", { config });
    expect(checked.structured.valid).toBe(false);
    const saved = await mine.call("forms_save_my_form", { name: "Form", config });
    expect(saved.is_error).toBe(true);
    for (const problem of checked.structured.errors) expect(saved.text).toContain(problem.split(" ")[0]);
    const { text } = await mine.call("billing_get_my_credits", { subscription_id: 999_999 });
    expect(text).toContain("billing_find_my_subscriptions finds a valid subscription_id.");
  });

  test("what breaks inside tells nothing of itself but the request's id", async () => {
    const { usage } = service.deps;
    const search = usage.search.bind(usage);
    usage.search = () => Promise.reject(new Error("secret path"));
    try {
      const { is_error, text } = await agent.call("billing_search_usage", {});
      expect([is_error, text]).toEqual([
        true,
        expect.stringMatching(/^Internal error: .*id is [0-9a-f-]{36}$/),
      ]);
    } finally {
      usage.search = search;
    }
  });
});

describe("writes", () => {
  test("a request_id that comes again does nothing twice, whatever the order of its parameters", async () => {
    const request_id = "made-once";
    const first = await agent.call("billing_save", { kind: "client", name: "Once", request_id });
    const again = await agent.call("billing_save", { kind: "client", request_id, name: "Once" });
    expect(again).toEqual(first);
    const { body } = await service.api("GET", "/clients?search=Once");
    expect(body.data).toHaveLength(1);
    const other = await agent.call("billing_save", { kind: "client", name: "Twice", request_id });
    expect([other.is_error, other.text]).toEqual([
      true,
      expect.stringContaining("The request_id was used with another request"),
    ]);
  });

  test("of eight at once with one request_id one is carried out", async () => {
    const asked = { kind: "product", name: "At once", request_id: "at-once" };
    const answers = await Promise.all(Array.from({ length: 8 }, () => agent.call("billing_save", asked)));
    const ids = new Set(
      answers.filter(({ is_error }) => !is_error).map(({ structured }) => structured.data.id),
    );
    expect(ids.size).toBe(1);
    for (const { is_error, text } of answers) if (is_error) expect(text).toContain("in progress: try again");
    expect((await service.api("GET", "/products?search=At once")).body.data).toHaveLength(1);
  });

  test("a refused request gives its request_id up", async () => {
    const request_id = "second try";
    const refused = await agent.call("billing_save", {
      kind: "client",
      name: "x",
      client_id: 999_999,
      request_id: "try-2",
    });
    expect(refused.is_error).toBe(true);
    const bad = await agent.call("billing_save", { kind: "client", name: "x", request_id });
    expect(bad.text).toContain("request_id must be 1 to 255 visible ASCII characters");
    const made = await agent.call("billing_save", {
      kind: "client",
      name: "Second try",
      request_id: "try-2",
    });
    expect(made.is_error).toBe(false);
  });

  test("what an agent changes is in the audit log, with its interface and its authorization", async () => {
    const { structured } = await agent.call("billing_save", { kind: "product", name: "Audited" });
    const { body } = await service.api("GET", "/audit-log?origin=mcp&operation=create_product");
    expect(body.data[0]).toMatchObject({
      origin: "mcp",
      operation: "create_product",
      target: { type: "product", id: structured.data.id },
      actor: { kind: "user", email: service.admin_email, authorization_id: expect.any(Number) },
      address: "127.0.0.1",
    });
  });

  test("records are made, changed and deleted as on REST", async () => {
    const model = await agent.call("billing_save_billing_model", {
      name: "Tiers",
      description: "",
      billing_type_id: 3,
      price: "0",
      currency: "USD",
      usage_tiers: [{ up_to: null, unit_price: "0.1" }],
    });
    const billing_model_id = model.structured.data.id;
    const renamed = await agent.call("billing_save_billing_model", {
      billing_model_id,
      name: "Tiers, renamed",
      description: "x",
    });
    expect(renamed.structured.data).toEqual(
      (await service.api("GET", `/billing-models/${billing_model_id}`)).body.data,
    );
    const deleted = await confirmed(agent, "billing_delete", { kind: "billing_model", id: billing_model_id });
    expect(deleted.structured).toEqual({ data: {} });
    expect((await service.api("GET", `/billing-models/${billing_model_id}`)).status).toBe(404);

    const added = await agent.call("billing_create_subscription", {
      name: "By an agent",
      external_subscription_id: "by-agent",
      client_id: company.client,
      product_id: company.product,
      billing_model_id: company.metered,
    });
    const subscription_id = added.structured.data.id;
    const ended = await confirmed(agent, "billing_cancel_subscription", { subscription_id, at: "now" });
    expect(ended.structured.data.status).toBe("cancelled");
  });

  test("plans move up, down and at a time, and a change that waits can be cancelled", async () => {
    const { credit_subscription: subscription_id, credits, more_credits } = company;
    const up = await agent.call("billing_change_plan", {
      subscription_id,
      kind: "upgrade",
      new_billing_model_id: more_credits,
    });
    expect(up.structured.data).toMatchObject({ kind: "upgrade", status: "applied" });
    const down = await agent.call("billing_change_plan", {
      subscription_id,
      kind: "downgrade",
      new_billing_model_id: credits,
    });
    expect(down.structured.data).toMatchObject({
      status: "scheduled",
      effective_at: "2026-04-01T00:00:00.000Z",
    });
    const change_id = down.structured.data.id;
    const cancelled = await agent.call("billing_change_plan", { subscription_id, kind: "cancel", change_id });
    expect(cancelled.structured.data.status).toBe("cancelled");
    const past = { subscription_id, past_changes: true };
    const { structured } = await agent.call("billing_get_subscription_overview", past);
    const { past_changes, scheduled_changes } = structured.data;
    expect(past_changes.map(({ status }: Json) => status)).toEqual(["applied", "cancelled"]);
    expect(scheduled_changes).toEqual([]);
    const undone = { subscription_id, change_id: up.structured.data.id, kind: "void" };
    const voided = await agent.call("billing_change_plan", undone);
    expect(voided.structured.data).toMatchObject({ status: "cancelled", voided_at: expect.any(String) });
    expect((await agent.call("billing_change_plan", undone)).text).toContain("it is voided already");
  });

  test("many subscriptions move to another plan, once for one request_id", async () => {
    const [from_billing_model_id, to_billing_model_id] = [company.metered, company.dearer];
    const asked = { from_billing_model_id, to_billing_model_id, at: "next_period" };
    const tried = await agent.call("billing_migrate_plan", { ...asked, dry_run: true, request_id: "try" });
    expect(tried.structured.data).toMatchObject({ dry_run: true, status: "finished" });
    const move = () => agent.call("billing_migrate_plan", { ...asked, request_id: "move-all" });
    const [begun, repeated] = [await move(), await move()];
    expect(repeated.structured).toEqual(begun.structured);
    const { id: migration_id } = begun.structured.data;
    const shown = await agent.call("billing_migrate_plan", { migration_id, request_id: "look" });
    expect(shown.structured.data).toMatchObject({ id: migration_id, from_billing_model_id });
    expect((await service.api("GET", "/billing-model-migrations")).body.meta.total).toBe(1);
    const unclear = await agent.call("billing_migrate_plan", {
      ...asked,
      at: undefined,
      request_id: "no-time",
    });
    expect(unclear.text).toContain("at is required without migration_id");
  });

  test("a client makes, replaces and deletes its own form", async () => {
    const config = { title: "Loan", fields: [{ name: "amount", label: "Amount", type: "number" }] };
    const made = await mine.call("forms_save_my_form", { name: "Loan", config, request_id: "form-1" });
    const form_id = made.structured.data.id;
    const replaced = await mine.call("forms_save_my_form", {
      form_id,
      name: "Loan 2",
      config,
      is_active: false,
    });
    expect(replaced.structured.data).toMatchObject({ id: form_id, name: "Loan 2", is_active: false, config });
    const concise = await mine.call("forms_find_my_forms", {});
    expect(concise.structured.data).toEqual([
      { id: form_id, name: "Loan 2", description: null, client_id: company.client, is_active: false },
    ]);
    expect((await agent.call("forms_find_forms", { form_id })).structured.data[0].name).toBe("Loan 2");
    expect((await confirmed(mine, "forms_delete_my_form", { form_id })).structured).toEqual({ data: {} });
    expect((await mine.call("forms_find_my_forms", { form_id })).is_error).toBe(true);
  });

  test("a billing run can be tried, and answers like REST", async () => {
    const { structured } = await agent.call("billing_run", { period: "2026-02", dry_run: true });
    expect(structured.data).toMatchObject({ status: "finished", dry_run: true, counts: { unchanged: 2 } });
  });
});
