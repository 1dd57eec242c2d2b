import { beforeAll, expect, test } from "bun:test";
import { call } from "../../../src/app/operation.ts";
import type { Actor, Environment } from "../../../src/core/access.ts";
import {
  createLoanApplication,
  listAgentApplications,
  listLoanApplications,
  submitLoanApplication,
} from "../../../src/loans/applications/service.ts";
import { useService } from "../../support/harness.ts";
import { addDraft, addProgram, APPLICATION, type Loans, openLoans } from "./fixtures.ts";

const service = useService();
let loans: Loans;

beforeAll(async () => {
  loans = await openLoans(service);
});

/** The context of a user of the company who acts on loans, as tools let them. */
function contextOf(environment?: Environment, role: "admin" | "analyst" = "admin") {
  const actor: Actor = {
    kind: "user",
    user_id: 1,
    email: service.admin_email,
    company_id: service.company_id,
    client_id: null,
    role,
    ...(environment ? { environment } : {}),
  };
  return service.deps.openContext({ actor, origin: "mcp", request_id: "test", address: null });
}

/** What the caller is told when the work is refused. */
function refusal(work: Promise<unknown>): Promise<string> {
  return work.then(() => "not refused", String);
}

test("users act for agents and lenders alike, in the environment that they say", async () => {
  const program = await addProgram(loans);
  const of_agent = await addDraft(loans, program.id, { external_reference: "SAME" });
  const sent = {
    ...APPLICATION,
    borrower: { ...APPLICATION.borrower, type: "individual" as const, employment_type: "salaried" as const },
    program_id: program.id,
    external_reference: "SAME",
  };
  const ctx = contextOf("production");
  const made = await call(ctx, createLoanApplication, sent);
  expect([made.agent_client_id, made.environment]).toEqual([null, "production"]);
  // Users share one space of references, which is none of an agent's.
  expect(await refusal(call(contextOf("production"), createLoanApplication, sent))).toContain(
    `Cannot use external_reference SAME: application ${made.id} has it`,
  );
  const seen = await call(ctx, listAgentApplications, {});
  expect(seen.data.map(({ id }) => id)).toEqual([made.id, of_agent.id]);
  await call(contextOf("production"), submitLoanApplication, { id: of_agent.id });
  const came_in = await call(ctx, listLoanApplications, {});
  expect(came_in.data.map(({ id }) => id)).toEqual([of_agent.id]);

  const staging = contextOf("staging");
  expect((await call(staging, listAgentApplications, {})).data).toEqual([]);
  expect(await refusal(call(staging, submitLoanApplication, { id: made.id }))).toContain("not found");
  expect(await refusal(call(contextOf(), listLoanApplications, {}))).toContain("staging or production");
  const analyst = contextOf("production", "analyst");
  expect((await call(analyst, listLoanApplications, {})).data).toHaveLength(1);
  expect(await refusal(call(analyst, submitLoanApplication, { id: made.id }))).toContain("borrowing:write");
});
