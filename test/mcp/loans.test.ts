import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Service, type Json, startService, TestClock } from "../support/harness.ts";
import {
  lead,
  addDraft,
  addProgram,
  APPLICATION,
  type Loans,
  OFFER,
  openLoans,
  PROGRAM,
} from "../loans/applications/fixtures.ts";
import { type McpClient, agentFor, asking, type Asking } from "../support/mcp_clients.ts";
import { addWebhook, openReceiver, until } from "../support/webhook_receiver.ts";
import { addUser, DEFINITION } from "./fixtures.ts";

// The tools for loans: who has them, in which environment they work, and an agent's work with them.

const KEY = "c5vX-the-service-key-of-this-test";
const clock = new TestClock("2026-03-10T12:00:00Z");
const ENVIRONMENTS = ["staging", "production"];

let service: Service;
let agent: McpClient;
let ask: Asking["ask"];
let refusal: Asking["refusal"];
let tools: Json[];
let loans: Record<string, Loans>;

beforeAll(async () => {
  service = await startService({ clock, env: { LOAN_SERVICE_KEY: KEY, NODE_ENV: "development" } });
  agent = await agentFor(service, service.admin_email);
  ({ ask, refusal } = asking(agent));
  tools = await loanTools(agent);
  loans = {
    staging: await openLoans(service, service, "staging"),
    production: await openLoans(service, service, "production"),
  };
});
afterAll(async () => {
  await agent.close();
  await service.stop();
});

async function loanTools(of: McpClient): Promise<Json[]> {
  return (await of.list()).filter(({ name }) => name.startsWith("loan_"));
}

const inStaging = (): Loans => loans.staging as Loans;

describe("without a service key", () => {
  test.each([{}, { LOAN_SERVICE_KEY: "" }])(
    "tools for loans are neither listed nor callable: %j",
    async (env) => {
      const plain = await startService({ env });
      const own = await agentFor(plain, plain.admin_email);
      const names = (await own.list()).map(({ name }) => name);
      expect(names.length).toBeGreaterThan(15);
      expect(names.filter((name) => name.startsWith("loan_"))).toEqual([]);
      for (const { name } of tools) {
        const refused = await own.call(name, { environment: "staging" }).catch((error) => error);
        expect([refused.code, refused.message]).toEqual([-32_602, `Unknown tool: ${name}`]);
      }
      await own.close();
      await plain.stop();
    },
  );
});

describe("who has them", () => {
  test("those of a company who may work on loans: analysts to read, admins webhooks too, clients none", async () => {
    const client = (await service.api("POST", "/clients", { name: "Acme" })).body.data.id;
    const namesOf = async (role: string, client_id?: number) => {
      const own = await agentFor(service, (await addUser(service.api, role, client_id)).email);
      const listed = await loanTools(own);
      await own.close();
      return listed.map(({ name }) => name);
    };
    const all = tools.map(({ name }) => name);
    const webhooks = ["loan_find_webhook_deliveries", "loan_redeliver_webhook"];
    const reads = tools.filter(({ annotations }) => annotations.readOnlyHint).map(({ name }) => name);
    expect(await namesOf("manager")).toEqual(all.filter((name) => !webhooks.includes(name)));
    expect(await namesOf("analyst")).toEqual(reads.filter((name) => !webhooks.includes(name)));
    expect(await namesOf("client", client)).toEqual([]);
  });

  test("hints tell what reads, and what can't be undone", () => {
    const names = (hint: string) =>
      tools.filter(({ annotations }) => annotations[hint]).map(({ name }) => name.replace("loan_", ""));
    expect(names("readOnlyHint")).toEqual([
      "find_applications",
      "get_application",
      "find_programs",
      "find_consent_definitions",
      "find_webhook_deliveries",
    ]);
    expect(names("destructiveHint")).toEqual([
      "reject_application",
      "end_application",
      "disburse_application",
      "review_document",
      "revoke_consent",
      "publish_consent_definition",
    ]);
    for (const { name, annotations, description } of tools) {
      if (annotations.destructiveHint) expect(description, name).toMatch(/for good|can't be undone/);
    }
  });

  test("the service key is in no list, no answer and no refusal", async () => {
    const told = [
      await agent.list(),
      await agent.call("loan_find_programs", { environment: "staging" }),
      await agent.call("loan_find_programs", { environment: KEY }),
    ];
    const [, , echoed] = told;
    expect(JSON.stringify(told.slice(0, 2))).not.toContain(KEY);
    expect(JSON.stringify(echoed)).not.toContain(KEY);
    expect(await refusal("loan_find_programs", { environment: "staging", service_key: KEY })).not.toContain(
      KEY,
    );
  });
});

describe("the environment", () => {
  test("is asked for by every tool, as one of two words and without a default", () => {
    expect(tools.length).toBeGreaterThan(15);
    for (const { name, inputSchema } of tools) {
      expect(inputSchema.required, name).toContain("environment");
      expect(inputSchema.properties.environment, name).toEqual({
        type: "string",
        enum: ENVIRONMENTS,
        description: expect.any(String),
      });
    }
  });

  const wrong: [string, object][] = [
    ["missing", {}],
    ["prod", { environment: "prod" }],
    ["Staging", { environment: "Staging" }],
    ["empty", { environment: "" }],
    ["null", { environment: null }],
    ["a list", { environment: ["staging"] }],
  ];
  test.each(wrong)("that is wrong is named with both words, and nothing is done: %s", async (_, given) => {
    for (const { name } of tools) {
      const text = await refusal(name, given);
      expect([name, text]).toEqual([name, expect.stringMatching(/environment/)]);
      for (const word of ENVIRONMENTS) expect([name, text]).toEqual([name, expect.stringContaining(word)]);
    }
  });

  test("keeps what is tried out and what is real apart", async () => {
    const made: Record<string, Json> = {};
    for (const environment of ENVIRONMENTS) {
      const terms = { ...PROGRAM, code: "SAME-CODE" };
      const program = await ask("loan_save_program", { environment, terms });
      await ask("loan_switch_program", { environment, program_id: program.id, to: "activate" });
      const wish = { ...APPLICATION, program_id: program.id, external_reference: "same" };
      made[environment] = await ask("loan_save_application", { environment, ...wish });
    }
    for (const [environment, other] of [ENVIRONMENTS, ENVIRONMENTS.toReversed()]) {
      const own = made[environment ?? ""];
      const { id: application_id } = made[other ?? ""];
      const found = await ask("loan_find_applications", { environment, search: own.reference });
      expect(found.map(({ id }: Json) => id)).toEqual([own.id]);
      const text = await refusal("loan_get_application", { environment, application_id });
      expect(text).toBe(
        `Application ${application_id} not found\nloan_find_applications finds a valid application_id.`,
      );
      const moved = { environment, application_id, how: "withdraw" };
      expect(await refusal("loan_end_application", moved)).toContain("not found");
      const programs = await ask("loan_find_programs", { environment, search: "SAME-CODE" });
      expect(programs).toHaveLength(1);
    }
  });
});

describe("structuredContent is REST's data", () => {
  test("of applications, programs and definitions, in the detailed format", async () => {
    const { lender, agent: borrower } = inStaging();
    const program = await addProgram(inStaging());
    const { id: application_id } = await addDraft(inStaging(), program.id, { external_reference: "ext-7" });
    const detailed = { environment: "staging", response_format: "detailed" };
    const search = { search: "Aminah", program_id: program.id };

    const listed = await agent.call("loan_find_applications", { ...detailed, ...search });
    const path = `/agent/applications?search=Aminah&program_id=${program.id}`;
    expect(listed.structured).toEqual((await borrower("GET", path)).body);

    const one = await ask("loan_get_application", { ...detailed, application_id });
    const { data } = (await lender("GET", `/lender/applications/${application_id}`)).body;
    expect(one).toEqual({ ...data, documents: [], consents: [] });

    const programs = await agent.call("loan_find_programs", { ...detailed, limit: 2 });
    expect(programs.structured).toEqual((await lender("GET", "/lender/programs?page=1&limit=2")).body);
  });

  test("a concise answer has no IC number, no address and no terms", async () => {
    const program = await addProgram(inStaging());
    const { id: application_id } = await addDraft(inStaging(), program.id);
    for (const [name, args] of [
      ["loan_get_application", { application_id }],
      ["loan_find_applications", { program_id: program.id }],
      ["loan_save_application", { application_id, purpose: "Another" }],
    ] as const) {
      const told = JSON.stringify(await ask(name, { environment: "staging", ...args }));
      expect(told).toContain("Aminah");
      for (const hidden of ["900131145678", "aminah@example.com", "rate_type"])
        expect([name, told.includes(hidden)]).toEqual([name, false]);
    }
  });
});

test("a loan's way by tools alone: from the program to the disbursement", async () => {
  const environment = "production";
  const definition = await ask("loan_create_consent_definition", {
    environment,
    ...DEFINITION,
    request_id: "consent-text",
  });
  const { id: definition_id } = definition;
  expect(definition).toMatchObject({ code: "credit_check", version: 1, status: "draft" });
  await ask("loan_publish_consent_definition", { environment, definition_id, how: "publish" });
  const terms = { ...PROGRAM, code: "BY-TOOLS", required_consents: ["credit_check"] };
  const { id: program_id } = await ask("loan_save_program", { environment, terms, request_id: "program" });
  const saved = await ask("loan_save_program", { environment, program_id, terms: { max_amount: "20000" } });
  expect(saved).toMatchObject({
    max_amount: "20000.00",
    status: "draft",
    required_consents: ["credit_check"],
  });
  await ask("loan_switch_program", { environment, program_id, to: "activate" });

  const asked = { environment, ...APPLICATION, program_id, request_id: "wish" };
  const application = await ask("loan_save_application", asked);
  expect(await ask("loan_save_application", asked)).toEqual(application);
  const application_id = application.id;
  const target = { environment, application_id };
  const text = await refusal("loan_advance_application", { ...target, step: "submit" });
  expect(text).toContain("missing are consent credit_check");
  const evidence = { method: "otp", captured_at: "2026-03-10T11:59:00Z", ip: "203.0.113.9" };
  const consent = await ask("loan_record_consent", { ...target, definition_id, evidence });
  expect(consent).toMatchObject({ status: "granted", code: "credit_check", version: 1 });

  const step = (name: string) => ask("loan_advance_application", { ...target, step: name });
  expect(await step("submit")).toMatchObject({ status: "submitted" });
  expect(await ask("loan_start_review", target)).toMatchObject({ status: "under_review" });
  const items = [{ kind: "field", code: "borrower.email", note: "It bounces" }];
  expect(await ask("loan_request_action", { ...target, items })).toMatchObject({
    status: "action_required",
    missing: items,
  });
  await ask("loan_save_application", { ...target, amount: "12000" });
  expect(await step("submit")).toMatchObject({ status: "under_review", amount: "12000.00", missing: [] });

  // A consent that is taken back sends it to its borrower again.
  await ask("loan_revoke_consent", { environment, consent_id: consent.id, reason: "Changed their mind" });
  const lacking = await ask("loan_get_application", target);
  expect(lacking).toMatchObject({
    status: "action_required",
    missing: [{ kind: "consent", code: "credit_check" }],
  });
  expect(lacking.consents).toMatchObject([{ status: "revoked" }]);
  await ask("loan_record_consent", { ...target, definition_id, evidence });
  await step("submit");

  const offered = await ask("loan_approve_application", { ...target, ...OFFER });
  expect(offered).toMatchObject({
    status: "approved",
    offer: { amount: "9000.00", monthly_instalment: "409.10" },
  });
  const again = await refusal("loan_approve_application", { ...target, ...OFFER });
  expect(again).toMatch(/^Cannot approve.*approved[^]*Read the record again/);
  expect(await step("accept_offer")).toMatchObject({ status: "accepted" });
  const paid = await ask("loan_disburse_application", { ...target, reference: "TT-77" });
  expect(paid).toMatchObject({ status: "disbursed", disbursement_reference: "TT-77" });

  // It belongs to the company: no agent's key made it, and none sees it.
  const { lender, agent: borrower } = loans.production as Loans;
  const { data } = (await lender("GET", `/lender/applications/${application_id}`)).body;
  expect(data).toMatchObject({ status: "disbursed", agent_client_id: null, environment });
  expect((await borrower("GET", `/agent/applications/${application_id}`)).status).toBe(404);

  const { body } = await service.api("GET", "/audit-log?origin=mcp&limit=50&target_type=loan_application");
  const told = body.data.filter(({ target: { id } }: Json) => id === application_id);
  expect(told.map(({ operation }: Json) => operation).toReversed()).toEqual([
    "create_loan_application",
    "submit_loan_application",
    "review_loan_application",
    "request_loan_action",
    "update_loan_application",
    "submit_loan_application",
    "submit_loan_application",
    "approve_loan_application",
    "accept_loan_offer",
    "disburse_loan_application",
  ]);
  expect(JSON.stringify(told)).not.toContain("900131145678");
});

test("messages of loans that failed: their endpoints are shown, enabled and sent all of it again", async () => {
  const receiver = openReceiver();
  receiver.answer(() => new Response("down", { status: 500 }));
  const others = await addWebhook(service.api, receiver.url, ["client.created"]);
  const { id: endpoint_id } = await addWebhook(service.api, receiver.url, ["application.*"]);
  for (const each of ENVIRONMENTS) {
    const of_each = loans[each] as Loans;
    await addDraft(of_each, (await addProgram(of_each)).id);
  }
  await until(async () => {
    const { data } = (await service.api("GET", `/webhook-logs?endpoint_id=${endpoint_id}`)).body;
    const tried = data.filter(({ attempts }: Json) => attempts.length > 0);
    const heard = new Set(tried.map(({ payload }: Json) => payload.data.environment));
    return tried.length === data.length && heard.size === ENVIRONMENTS.length;
  }, "an attempt of each delivery, in both environments");
  const endpoint = { url: receiver.url, event_types: ["application.*"], status: "disabled" };
  expect((await service.api("PUT", `/webhooks/${endpoint_id}`, endpoint)).status).toBe(200);
  const given = { environment: "staging", endpoint_id };
  const endpoints = await ask("loan_find_webhook_deliveries", { environment: "staging", kind: "endpoints" });
  expect(endpoints.map(({ id, status, disabled_reason }: Json) => [id, status, disabled_reason])).toEqual([
    [endpoint_id, "disabled", "Disabled by a user"],
  ]);
  const detailed = { ...given, status: "failed", response_format: "detailed" };
  const failed = await ask("loan_find_webhook_deliveries", detailed);
  expect(failed.length).toBeGreaterThan(0);
  const again = (more: object) => ask("loan_redeliver_webhook", { ...given, ...more });
  expect(await again({})).toMatchObject({ redelivered: 0, passed_over: failed.length });
  receiver.answer(() => new Response("thanks"));
  const before = receiver.received.length;
  const enabling = { enable: true, after_id: Number.MAX_SAFE_INTEGER };
  const early = await refusal("loan_redeliver_webhook", { ...given, ...enabling });
  expect(early).toContain("in staging: it hears of production too");
  const enabled = await again({ ...enabling, environment: "production" });
  expect(enabled).toMatchObject({ redelivered: 0, passed_over: 0 });
  expect(await again({ event_type: "application.*" })).toEqual({
    redelivered: failed.length,
    passed_over: 0,
    next_after_id: null,
  });
  const calls = (await receiver.calls(before + failed.length)).slice(before);
  expect(new Set(calls.map(({ headers }) => headers["webhook-id"]))).toEqual(
    new Set(failed.map(({ message_id }: Json) => message_id)),
  );
  // What failed in production stays as it is, and so do webhooks that hear of no loans.
  const elsewhere = { ...given, environment: "production", status: "failed" };
  expect((await ask("loan_find_webhook_deliveries", elsewhere)).length).toBeGreaterThan(0);
  const of_others = { environment: "production", endpoint_id: others.id, enable: true };
  const text = await refusal("loan_redeliver_webhook", of_others);
  expect(text).toContain(`Webhook ${others.id} not found`);
  await receiver.stop();
});

describe("what a choice needs, and what it does not take", () => {
  test.each([
    ["loan_reject_application", { application_id: 1 }, "reason_code is required"],
    ["loan_review_document", { document_id: 1, verdict: "reject" }, "reason_code is required for reject"],
    [
      "loan_review_document",
      { document_id: 1, verdict: "verify", note: "x" },
      "note must be left out for verify",
    ],
    [
      "loan_create_consent_definition",
      { definition_id: 1, code: "other" },
      "code must be left out for a next version",
    ],
    ["loan_save_application", { amount: "1" }, "program_id is required"],
    ["loan_save_application", { program_id: 1, amount: 1 }, "amount must be"],
    ["loan_save_program", { terms: { company_id: 1 } }, "terms.company_id is not a known field"],
    [
      "loan_review_document",
      { document_id: 999_999, verdict: "verify" },
      "loan_get_application finds a valid",
    ],
  ])("%s %j", async (name, args, part) => {
    expect(await refusal(name, { environment: "staging", ...args })).toContain(part);
  });
});

test("a loan officer's agent finds the applications that are with the lender, reviews and rejects them", async () => {
  const officer = await agentFor(service, (await addUser(service.api, "loan_officer")).email);
  const of_lender = loans["staging"] as Loans;
  const { id: program_id } = await addProgram(of_lender);
  const { id } = await addDraft(of_lender, program_id);
  const asked = { environment: "staging", program_id };
  const found = async () =>
    (await officer.call("loan_find_applications", asked)).structured.data.map((one: Json) => one.id);
  expect(await found()).toEqual([]);
  await lead(of_lender, id, "submitted");
  expect(await found()).toEqual([id]);
  const decided = async (name: string, how = {}) =>
    (await officer.call(name, { environment: "staging", application_id: id, ...how })).structured.data;
  expect(await decided("loan_start_review")).toMatchObject({ status: "under_review" });
  const decision = { reason_code: "other", note: "Too young" };
  expect((await decided("loan_reject_application", decision)).decision).toMatchObject(decision);
  await officer.close();
});
