import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Service, startService, TestClock } from "../support/harness.ts";
import { type McpClient, agentFor, asking, type Asking, tokensOf } from "../support/mcp_clients.ts";
import { addUser, fillCompany, NOW, type FilledCompany } from "./fixtures.ts";

// The tools of e-mandates: what they answer and refuse, and an agent's work with them in the sandbox.

const clock = new TestClock(NOW);
let service: Service;
let company: FilledCompany;
let agent: McpClient;
let ask: Asking["ask"];
let refusal: Asking["refusal"];

beforeAll(async () => {
  service = await startService({ clock });
  company = await fillCompany(service, clock);
  agent = await agentFor(service, service.admin_email);
  ({ ask, refusal } = asking(agent));
  // From here on every answer is checked against what its tool says.
  await agent.list();
});
afterAll(async () => {
  await agent.close();
  await service.stop();
});

const rest = async (path: string) => (await service.api("GET", `/emandate${path}`)).body;

/** A mandate that is active, of a customer of its own. */
async function activeMandate(customer_email: string, given: object = {}): Promise<number> {
  const { id: mandate_id } = await ask("emandate_create_mandate", {
    customer_name: "Ahmad",
    customer_email,
    ...given,
  });
  await ask("emandate_authorize_mandate", { mandate_id });
  for (const scenario of ["mandate_authorized", "mandate_activated"])
    await ask("emandate_run_scenario", { scenario, mandate_id });
  return mandate_id;
}

describe("structuredContent is REST's data", () => {
  const detailed = { response_format: "detailed" };
  test.each([
    ["emandate_find_products", {}, "/products?page=1"],
    ["emandate_find_customers", { search: "siti" }, "/customers?search=siti"],
    ["emandate_find_mandates", { status: "active" }, "/mandates?status=active"],
    ["emandate_find_payments", { status: "paid", limit: 1 }, "/payments?status=paid&limit=1"],
  ])("%s %j", async (name, args, path) => {
    const { structured } = await agent.call(name, { ...args, ...detailed });
    expect(structured).toEqual(await rest(path));
    expect(structured.data.length).toBeGreaterThan(0);
  });

  test("one by its id is a list of it, with what a detail has", async () => {
    const { emandate_product, emandate_customer, mandate, payment, collection } = company;
    for (const [name, id, path] of [
      ["emandate_find_products", { emandate_product_id: emandate_product }, `/products/${emandate_product}`],
      ["emandate_find_customers", { customer_id: emandate_customer }, `/customers/${emandate_customer}`],
      ["emandate_find_mandates", { mandate_id: mandate }, `/mandates/${mandate}`],
      ["emandate_find_payments", { payment_id: payment }, `/payments/${payment}`],
      ["emandate_find_collections", { collection_id: collection }, `/collections/${collection}`],
    ] as const)
      expect(await ask(name, { ...id, ...detailed })).toEqual([(await rest(path)).data]);
  });

  test("the set-up is the configuration with the banks", async () => {
    const { config, banks } = await ask("emandate_get_setup", { bank_type: "B2B1", ...detailed });
    expect(config).toEqual((await rest("/config")).data);
    expect(banks).toEqual((await rest("/banks?type=B2B1")).data);
  });

  test("IC numbers are shown only to whoever asks for the details", async () => {
    const { emandate_customer: customer_id, mandate: mandate_id } = company;
    const concise = [
      await ask("emandate_find_customers", { customer_id }),
      await ask("emandate_find_customers"),
      await ask("emandate_find_mandates", { mandate_id }),
    ];
    expect(JSON.stringify(concise)).not.toMatch(/5678|ic_number/);
    const [known] = await ask("emandate_find_customers", { customer_id, ...detailed });
    expect(known.ic_number).toBe("900131145678");
  });
});

describe("hints", () => {
  test("tell what reads, what takes away or takes money, and what goes to the bank", async () => {
    const tools = (await agent.list()).filter(({ name }) => name.startsWith("emandate_"));
    const names = (hint: string) =>
      tools.filter(({ annotations }) => annotations[hint]).map(({ name }) => name.replace("emandate_", ""));
    expect(names("readOnlyHint")).toEqual([
      "get_setup",
      "find_products",
      "find_customers",
      "find_mandates",
      "find_payments",
      "find_collections",
      "find_flags",
    ]);
    expect(names("destructiveHint")).toEqual([
      "change_mandate",
      "end_mandate",
      "debit",
      "change_payment",
      "run_collection",
      "run_scenario",
    ]);
    expect(names("openWorldHint")).toEqual([
      "authorize_mandate",
      "change_mandate",
      "end_mandate",
      "debit",
      "change_payment",
      "run_collection",
    ]);
  });
});

test("an agent's day: from a customer's name to a debit that is tried again and a mandate that ends", async () => {
  const costs: number[] = [];
  const cheap = async (name: string, args: object) => {
    const found = await ask(name, args);
    costs.push(tokensOf(found));
    return found;
  };
  // "Put Ahmad on the weekly plan, 25 ringgit."
  const product = await ask("emandate_save_product", {
    product_code: "WEEKLY",
    product_name: "Weekly plan",
    max_amount: "50",
    max_no_debit: "2",
    frequency: "Weekly",
    request_id: "weekly",
  });
  const mandate_id = await activeMandate("ahmad@example.com", {
    emandate_product_id: product.id,
    bankscheme_txn_amount: "25.00",
  });
  const [customer] = await cheap("emandate_find_customers", { search: "ahmad" });
  const [mandate] = await cheap("emandate_find_mandates", { customer_id: customer.id });
  expect(mandate).toMatchObject({
    id: mandate_id,
    status: "active",
    frequency: "Weekly",
    max_amount: "50.00",
  });

  // "Take this week's 25 now." The bank has no funds; then it has.
  const asked = { mandate_id, amount: "25", description: "Week 11", request_id: "week-11" };
  const payment = await ask("emandate_debit", asked);
  expect(await ask("emandate_debit", asked)).toEqual(payment);
  const payment_id = payment.id;
  // Concise results leave the attempts whole: files of results refer to their order numbers.
  expect(payment.attempts).toMatchObject([{ order_no: `D${payment_id}-1`, response_code: null }]);
  await ask("emandate_run_scenario", { scenario: "payment_insufficient_funds", payment_id });
  const [failed] = await cheap("emandate_find_payments", { mandate_id });
  expect(failed).toMatchObject({ id: payment_id, status: "retry_scheduled", amount: "25.00" });
  await ask("emandate_change_payment", { payment_id, kind: "retry" });
  await ask("emandate_run_scenario", { scenario: "payment_paid", payment_id });
  const [paid] = await cheap("emandate_find_payments", { payment_id });
  expect(paid).toMatchObject({ status: "paid", attempt_count: 2 });
  expect(paid.attempts).toHaveLength(2);

  // "They are away for a month", "they are back", "they leave."
  expect(await ask("emandate_change_mandate", { mandate_id, kind: "suspend", reason: "Away" })).toMatchObject(
    {
      status: "suspended",
      status_reason: "Away",
    },
  );
  expect((await ask("emandate_change_mandate", { mandate_id, kind: "resume" })).status).toBe("active");
  const amended = await ask("emandate_change_mandate", { mandate_id, kind: "amend", amount: "30" });
  expect(amended.amendment).toEqual({ amount: "30.00" });
  const ended = await ask("emandate_end_mandate", { mandate_id, kind: "terminate", reason: "Left" });
  expect(ended.status).toBe("pending_termination");
  const [told] = await cheap("emandate_find_mandates", { mandate_id });
  expect(told.payments).toHaveLength(1);
  expect([told.order_no, told.payments[0].order_no]).toEqual([expect.any(String), undefined]);
  expect(told.events.length).toBeGreaterThan(5);

  expect(costs.reduce((sum, cost) => sum + cost, 0)).toBeLessThan(2_000);
  const { body } = await service.api("GET", "/audit-log?origin=mcp&operation=create_mandate_payment");
  expect(body.data).toHaveLength(1);
});

test("an agent finds what the bank contradicted itself about, and notes what was decided", async () => {
  const mandate_id = await activeMandate("flagged@example.com");
  const { id: payment_id } = await ask("emandate_debit", { mandate_id, amount: "25" });
  for (const code of ["51", "00", "51"]) {
    const csv = `order_no,amount,response_code\nD${payment_id}-1,25.00,${code}`;
    const type = { "content-type": "text/csv" };
    expect((await service.api("POST", "/emandate/collections/results", csv, type)).status).toBe(200);
  }
  const [flag, ...more] = await ask("emandate_find_flags", { status: "open", mandate_id });
  expect([flag, more]).toMatchObject([{ reason: "failed_after_correction", payment_id, note: null }, []]);
  const { id: flag_id } = flag;
  const note = "The money is there: an old message";
  const resolved = await ask("emandate_resolve_flag", { flag_id, note });
  expect(resolved).toMatchObject({ id: flag_id, status: "resolved", note });
  expect(await ask("emandate_find_flags", { status: "open", mandate_id })).toEqual([]);
  expect(await ask("emandate_find_flags", { flag_id })).toEqual([(await rest(`/flags/${flag_id}`)).data]);
  expect(await refusal("emandate_resolve_flag", { flag_id, note })).toContain("it is resolved");
  expect(await refusal("emandate_resolve_flag", { flag_id: 999_999, note })).toContain(
    "emandate_find_flags finds a valid flag_id.",
  );
  const other = await service.addTenant();
  const stranger = await agentFor(service, other.admin_email);
  const { is_error, text } = await stranger.call("emandate_find_flags", { flag_id });
  expect([is_error, text]).toEqual([true, expect.stringContaining(`Flag ${flag_id} not found`)]);
  await stranger.close();
  const { body } = await service.api("GET", "/audit-log?origin=mcp&operation=resolve_mandate_flag");
  expect(body.data).toMatchObject([{ target: { id: flag_id } }]);
});

describe("refusals teach", () => {
  test.each([
    ["emandate_find_mandates", { mandate_id: 999_999 }, ["emandate_find_mandates finds a valid mandate_id."]],
    [
      "emandate_debit",
      { mandate_id: 999_999, amount: "5" },
      ["emandate_find_mandates finds a valid mandate_id."],
    ],
    ["emandate_find_payments", { payment_id: 999_999 }, ["Payment 999999 not found"]],
    [
      "emandate_create_mandate",
      { customer_name: "A", customer_email: "a@example.com", emandate_product_id: 999_999 },
      ["emandate_find_products finds a valid emandate_product_id."],
    ],
    [
      "emandate_save_product",
      { product_code: "A", product_name: "A", max_amount: 10, frequency: "monthly" },
      ["max_amount must be a string", "frequency must be one of Daily, Weekly, Monthly, Yearly"],
    ],
    [
      "emandate_save_product",
      { product_code: "A", product_name: "A", max_amount: "10", frequency: "Daily", is_active: true },
      ["is_active is not a known field"],
    ],
    ["emandate_find_customers", { limit: 101 }, ["limit must be from 1 to 100"]],
    ["emandate_run_scenario", { scenario: "rain", mandate_id: 1 }, ["Scenario rain not found"]],
  ])("%s %j", async (name, args, parts) => {
    const text = await refusal(name, args);
    for (const part of parts) expect(text).toContain(part);
  });

  test("an unknown bank is answered with the tool that lists banks", async () => {
    const { id: mandate_id } = await ask("emandate_create_mandate", {
      customer_name: "Bank",
      customer_email: "bank@example.com",
    });
    const text = await refusal("emandate_authorize_mandate", { mandate_id, bank_code: "NONE" });
    expect(text).toContain("emandate_get_setup finds a valid bank_code.");
  });

  test("what a kind of change does not take is not passed over", async () => {
    const { mandate: mandate_id } = company;
    expect(await refusal("emandate_change_mandate", { mandate_id, kind: "suspend", amount: "5" })).toContain(
      "amount is not a known field",
    );
    expect(await refusal("emandate_change_mandate", { mandate_id, kind: "amend", reason: "x" })).toContain(
      "reason is not a known field",
    );
    expect((await rest(`/mandates/${mandate_id}`)).data.status).toBe("active");
  });

  test("a state that forbids it is named", async () => {
    const { mandate: mandate_id, payment: payment_id } = company;
    expect(await refusal("emandate_end_mandate", { mandate_id, kind: "cancel" })).toContain(
      `Cannot cancel mandate ${mandate_id}: it is active`,
    );
    expect(await refusal("emandate_change_payment", { payment_id, kind: "cancel" })).toContain(
      `Cannot cancel payment ${payment_id}: it is paid`,
    );
  });

  test("an analyst's agent reads, and has none of the tools that act", async () => {
    const own = await agentFor(service, (await addUser(service.api, "analyst")).email);
    const names = (await own.list()).map(({ name }) => name).filter((name) => name.startsWith("emandate_"));
    expect(names).toHaveLength(7);
    const hidden = await own
      .call("emandate_debit", { mandate_id: company.mandate, amount: "5" })
      .catch((e) => e);
    expect([hidden.code, hidden.message]).toEqual([-32_602, "Unknown tool: emandate_debit"]);
    await own.close();
  });
});
