import { beforeAll, describe, expect, test } from "bun:test";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { addDraft, addProgram, done, lead, type Loans, OFFER, openLoans } from "./fixtures.ts";

const clock = new TestClock("2026-11-21T10:00:00Z");
const service = useService({ clock, timezone: "Asia/Kuala_Lumpur" });
let loans: Loans;
let program: Json;

beforeAll(async () => {
  loans = await openLoans(service);
  program = await addProgram(loans);
});

describe("a loan", () => {
  test("goes from the draft to the disbursement", async () => {
    const { agent, lender } = loans;
    const draft = await addDraft(loans, program.id, { external_reference: "A-1" });
    expect(draft).toEqual({
      id: expect.any(Number),
      reference: expect.stringMatching(/^LA-20261121-[0-9A-HJKMNP-TV-Z]{8}$/),
      environment: "production",
      company_id: service.company_id,
      agent_client_id: loans.agent_key.clientId,
      program_id: program.id,
      program_snapshot: program,
      external_reference: "A-1",
      status: "draft",
      borrower: {
        type: "individual",
        name: "Aminah binti Ali",
        ic_number: "900131145678",
        registration_number: null,
        email: "aminah@example.com",
        phone: "+60123456789",
        monthly_income: "4500.00",
        employment_type: "salaried",
      },
      amount: "10000.00",
      tenor_months: 24,
      purpose: "A motorcycle",
      answers: {},
      missing: [],
      decision: null,
      offer: null,
      disbursement_reference: null,
      expires_at: "2027-02-19T10:00:00.000Z",
      submitted_at: null,
      under_review_at: null,
      action_required_at: null,
      approved_at: null,
      rejected_at: null,
      accepted_at: null,
      declined_at: null,
      withdrawn_at: null,
      expired_at: null,
      disbursed_at: null,
      created_at: "2026-11-21T10:00:00.000Z",
      updated_at: "2026-11-21T10:00:00.000Z",
    });
    expect(await done(agent("GET", `/agent/applications/${draft.id}`))).toEqual(draft);
    expect(await done(lender("GET", `/lender/applications/${draft.id}`))).toEqual(draft);

    clock.set("2026-11-21T11:00:00Z");
    const now = "2026-11-21T11:00:00.000Z";
    const submitted = await lead(loans, draft.id, "submitted");
    const stood = { ...draft, updated_at: now, expires_at: null };
    expect(submitted).toEqual({ ...stood, status: "submitted", submitted_at: now });
    const reviewed = await done(lender("POST", `/lender/applications/${draft.id}/review`));
    expect(reviewed).toEqual({ ...submitted, status: "under_review", under_review_at: now });
    const approved = await done(lender("POST", `/lender/applications/${draft.id}/approve`, OFFER));
    expect(approved).toEqual({
      ...reviewed,
      status: "approved",
      approved_at: now,
      decision: { outcome: "approved", reason_code: null, note: null, decided_at: now },
      offer: { ...OFFER, monthly_instalment: "409.10", expires_at: "2026-12-21T11:00:00.000Z" },
      expires_at: "2026-12-21T11:00:00.000Z",
    });
    const accepted = await done(agent("POST", `/agent/applications/${draft.id}/accept`));
    expect(accepted).toEqual({ ...approved, status: "accepted", accepted_at: now, expires_at: null });
    const disbursed = await done(
      lender("POST", `/lender/applications/${draft.id}/disburse`, {
        reference: "TT-77",
        disbursed_at: "2026-11-21T18:30:00+08:00",
      }),
    );
    expect(disbursed).toEqual({
      ...accepted,
      status: "disbursed",
      disbursement_reference: "TT-77",
      disbursed_at: "2026-11-21T10:30:00.000Z",
    });
    expect(await done(agent("GET", `/agent/applications/${draft.id}`))).toEqual(disbursed);
  });
});
