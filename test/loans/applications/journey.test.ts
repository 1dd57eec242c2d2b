import { afterAll, beforeAll, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { type Json, useService } from "../../support/harness.ts";
import { exchange } from "../../access/api_keys/fixtures.ts";
import { upload } from "../documents/fixtures.ts";
import {
  addWebhook,
  openReceiver,
  type Received,
  type Receiver,
  until,
} from "../../support/webhook_receiver.ts";
import { addProgram, APPLICATION, done, type Loans, OFFER, openLoans } from "./fixtures.ts";

// A loan's whole way, from the agent to the disbursement, in both environments at once: each step is told to a
// real receiver, which checks it as receivers do, and neither environment ever sees the other.

const service = useService({ env: { NODE_ENV: "development" } });
let receiver: Receiver;
let secret: string;

beforeAll(async () => {
  receiver = openReceiver();
  ({ secret } = await addWebhook(service.api, receiver.url, ["application.*", "document.*", "consent.*"]));
});
afterAll(async () => {
  await receiver.stop();
});

/** What happens, in the order in which it does. */
const TOLD = [
  "application.created",
  "document.uploaded",
  "consent.granted",
  "application.submitted",
  "application.under_review",
  "document.rejected",
  "application.action_required",
  "document.uploaded",
  "application.under_review",
  "document.verified",
  "application.approved",
  "application.accepted",
  "application.disbursed",
];

interface Journey {
  loans: Loans;
  application: Json;
}

/** Lends a borrower money, by all the calls that it takes. */
async function lendIn(environment: string): Promise<Journey> {
  const loans = await openLoans(service, service, environment);
  const { lender, agent, agent_key } = loans;
  const text = {
    code: "pdpa",
    title: "Your data",
    purpose_text: "We check whether you can pay the loan back.",
    data_text: "What you tell us, and what we are told about you.",
    data_categories: ["identity", "income"],
    audience: "The lender",
  };
  const definition = await done(lender("POST", "/lender/consent-definitions", text));
  await done(lender("POST", `/lender/consent-definitions/${definition.id}/publish`));
  const program = await addProgram(loans, {
    code: "PERSONAL",
    required_documents: ["payslip"],
    required_consents: ["pdpa"],
    eligibility: { min_age: 18, min_monthly_income: "2000" },
  });

  const [found] = await done(agent("GET", "/agent/programs"));
  const wish = { ...APPLICATION, program_id: found.id, external_reference: "LEAD-1" };
  const { id } = await done(agent("POST", "/agent/applications", wish));
  const own = `/agent/applications/${id}`;
  const theirs = `/lender/applications/${id}`;
  const { body } = await agent("POST", `${own}/submit`);
  expect(body.missing).toEqual([
    { kind: "document", code: "payslip" },
    { kind: "consent", code: "pdpa" },
  ]);
  const send = async () => {
    const { token } = (await exchange(service, agent_key)).body;
    return done(upload(service, token, id, { type: "payslip" }));
  };
  const blurred = await send();
  const [shown] = await done(agent("GET", "/agent/consent-definitions"));
  const evidence = { method: "otp", captured_at: new Date(Date.now() - 60_000).toISOString() };
  await done(agent("POST", `${own}/consents`, { definition_id: shown.id, evidence }));
  await done(agent("POST", `${own}/submit`));

  await done(lender("POST", `${theirs}/review`));
  await done(lender("POST", `/lender/documents/${blurred.id}/reject`, { reason_code: "blurry" }));
  const items = [{ kind: "document", code: "payslip", note: "It can't be read" }];
  await done(lender("POST", `${theirs}/request-action`, { items }));
  const sharp = await send();
  await done(agent("POST", `${own}/submit`));
  await done(lender("POST", `/lender/documents/${sharp.id}/verify`));
  const approved = await done(lender("POST", `${theirs}/approve`, OFFER));
  expect(approved.offer).toMatchObject({ ...OFFER, monthly_instalment: "409.10" });
  await done(agent("POST", `${own}/accept`));
  const application = await done(lender("POST", `${theirs}/disburse`, { reference: "TT-1" }));
  expect(application).toMatchObject({ status: "disbursed", environment, program_id: program.id });
  expect(await done(agent("GET", own))).toEqual(application);
  return { loans, application };
}

test("agent, lender, acceptance, disbursement: in both environments at once, each delivered to a receiver", async () => {
  const [staging, production] = await Promise.all([lendIn("staging"), lendIn("production")]);
  const calls = await receiver.calls(2 * TOLD.length);
  expect(calls).toHaveLength(2 * TOLD.length);

  for (const { loans, application } of [staging, production]) {
    const { environment } = application;
    const told = calls
      .map((call) => verified(call))
      .filter(({ data }) => data.environment === environment)
      .toSorted((a, b) => a.timestamp.localeCompare(b.timestamp));
    const types: string[] = told.map(({ type }) => type);
    expect(types.toSorted()).toEqual(TOLD.toSorted());
    for (const { type, data } of told) {
      const application_id = type.startsWith("application.") ? data.id : data.application_id;
      expect([type, application_id]).toEqual([type, application.id]);
      // Ids and states, nothing of the borrower.
      expect(JSON.stringify(data)).not.toMatch(/Aminah|900131|example\.com|4500/);
    }
    // The outbox has them in the order in which they happened.
    const { body } = await service.api("GET", "/events?limit=100");
    const happened = body.data.filter(({ data }: Json) => data.environment === environment).toReversed();
    expect(happened.map(({ type }: Json) => type)).toEqual(TOLD);
    await until(async () => {
      const { data } = (await loans.lender("GET", "/lender/webhook-logs?status=succeeded&limit=100")).body;
      return data.length === TOLD.length;
    }, "logs of the environment, all of them delivered");
  }
});

test("neither environment, nor another agent, sees the other's loan", async () => {
  const list = async (environment: string) => {
    const loans = await openLoans(service, service, environment);
    return { ...loans, rows: await done(loans.lender("GET", "/lender/applications")) };
  };
  const [staging, production] = [await list("staging"), await list("production")];
  for (const [own, other] of [
    [staging, production],
    [production, staging],
  ] as const) {
    expect(own.rows).toHaveLength(1);
    const [{ id }] = own.rows;
    for (const [api, path] of [
      [other.lender, `/lender/applications/${id}`],
      [other.lender, `/lender/applications/${id}/documents`],
      [other.lender, `/lender/applications/${id}/consents`],
      [own.agent, `/agent/applications/${id}`],
      [own.agent, `/agent/applications/${id}/documents`],
    ] as const)
      expect([path, (await api("GET", path)).status]).toEqual([path, 404]);
  }
});

/** What a call tells, once the public library has checked that it is signed. */
function verified({ text, headers }: Received): Json {
  return new Webhook(secret).verify(text, headers);
}
