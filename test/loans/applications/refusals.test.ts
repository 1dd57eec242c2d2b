import { beforeAll, describe, expect, test } from "bun:test";
import { type Api, type Json, TestClock, useService } from "../../support/harness.ts";
import { addDraft, addProgram, APPLICATION, done, lead, type Loans, OFFER, openLoans } from "./fixtures.ts";

const clock = new TestClock("2026-11-21T10:00:00Z");
const service = useService({ clock });
let loans: Loans;
let program: Json;

beforeAll(async () => {
  loans = await openLoans(service);
  program = await addProgram(loans);
});

const post = (change: object) =>
  loans.agent("POST", "/agent/applications", { ...APPLICATION, program_id: program.id, ...change });
const of = (change: object) => ({ borrower: { ...APPLICATION.borrower, ...change } });

/** What a POST and a PUT refuse, and where. */
const REFUSED: [object, string][] = [
  [{ program_id: 2 ** 40 }, "/program_id"],
  [{ program_id: "1" }, "/program_id"],
  [{ program_id: 0 }, "/program_id"],
  [{ amount: 10_000 }, "/amount"],
  [{ amount: "1e4" }, "/amount"],
  [{ amount: "-1" }, "/amount"],
  [{ amount: "0.00" }, "/amount"],
  [{ amount: "1000.001" }, "/amount"],
  [{ amount: " 1000" }, "/amount"],
  [{ amount: "1,000.00" }, "/amount"],
  [{ amount: "" }, "/amount"],
  [{ tenor_months: 0 }, "/tenor_months"],
  [{ tenor_months: 3.5 }, "/tenor_months"],
  [{ tenor_months: "12" }, "/tenor_months"],
  [{ tenor_months: 601 }, "/tenor_months"],
  [{ purpose: "a".repeat(201) }, "/purpose"],
  [{ purpose: " " }, "/purpose"],
  [{ external_reference: "a".repeat(65) }, "/external_reference"],
  [{ external_reference: "" }, "/external_reference"],
  [{ external_reference: 7 }, "/external_reference"],
  [{ borrower: null }, "/borrower"],
  [{ borrower: { type: "individual" } }, "/borrower/name"],
  [of({ name: "\u200b" }), "/borrower/name"],
  [of({ name: "a".repeat(201) }), "/borrower/name"],
  [of({ type: "person" }), "/borrower/type"],
  [{ borrower: { type: "business", name: "Acme" } }, "/borrower/type"],
  [of({ ic_number: "901332-14-5678" }), "/borrower/ic_number"],
  [of({ ic_number: "900131-00-5678" }), "/borrower/ic_number"],
  [of({ ic_number: "900229-14-5678" }), "/borrower/ic_number"],
  [of({ ic_number: "90013114567" }), "/borrower/ic_number"],
  [of({ ic_number: 900131145678 }), "/borrower/ic_number"],
  [of({ registration_number: "202001234567" }), "/borrower/registration_number"],
  [of({ email: "nobody" }), "/borrower/email"],
  [of({ phone: "12" }), "/borrower/phone"],
  [of({ phone: "+60 12" }), "/borrower/phone"],
  [of({ monthly_income: 4500 }), "/borrower/monthly_income"],
  [of({ monthly_income: "4500.001" }), "/borrower/monthly_income"],
  [of({ employment_type: "freelance" }), "/borrower/employment_type"],
  [of({ age: 30 }), "/borrower/age"],
  [{ status: "approved" }, "/status"],
  [{ environment: "staging" }, "/environment"],
  [{ company_id: 1 }, "/company_id"],
  [{ agent_key_id: 1 }, "/agent_key_id"],
  [{ offer: OFFER }, "/offer"],
];

describe("bad input", () => {
  test.each(REFUSED)("a POST refuses %j at %s", async (change, path) => {
    const { status, body } = await post(change);
    expect([status, body.details?.map((detail: Json) => detail.path)]).toEqual([422, [path]]);
  });

  test("a PUT refuses the same, and changes nothing", async () => {
    const draft = await addDraft(loans, program.id);
    for (const [change, path] of REFUSED) {
      const { status, body } = await loans.agent("PUT", `/agent/applications/${draft.id}`, change);
      expect([change, status, body.details?.[0]?.path]).toEqual([change, 422, path]);
    }
    expect(await done(loans.agent("GET", `/agent/applications/${draft.id}`))).toEqual(draft);
  });

  test("a required field is named when it is not there", async () => {
    const { status, body } = await loans.agent("POST", "/agent/applications", {});
    expect(status).toBe(422);
    expect(body.details.map(({ path }: Json) => path).toSorted()).toEqual([
      "/amount",
      "/borrower",
      "/program_id",
      "/tenor_months",
    ]);
  });

  test.each([
    ["approve", { ...OFFER, amount: "999.99" }, "/amount"],
    ["approve", { ...OFFER, amount: "50000.01" }, "/amount"],
    ["approve", { ...OFFER, amount: 9000 }, "/amount"],
    ["approve", { ...OFFER, amount: "9000.001" }, "/amount"],
    ["approve", { ...OFFER, tenor_months: 5 }, "/tenor_months"],
    ["approve", { ...OFFER, tenor_months: 61 }, "/tenor_months"],
    ["approve", { ...OFFER, annual_rate: "4.4999" }, "/annual_rate"],
    ["approve", { ...OFFER, annual_rate: "18.0001" }, "/annual_rate"],
    ["approve", { ...OFFER, annual_rate: 8.5 }, "/annual_rate"],
    ["approve", { ...OFFER, expires_at: "2026-11-21T10:00:00Z" }, "/expires_at"],
    ["approve", { ...OFFER, expires_at: "tomorrow" }, "/expires_at"],
    ["approve", { ...OFFER, monthly_instalment: "1.00" }, "/monthly_instalment"],
    ["approve", { amount: "9000.00", tenor_months: 24 }, "/annual_rate"],
    ["reject", {}, "/reason_code"],
    ["reject", { reason_code: "mood" }, "/reason_code"],
    ["reject", { reason_code: "other", note: "a".repeat(1_001) }, "/note"],
    ["request-action", {}, "/items"],
    ["request-action", { items: [] }, "/items"],
    ["request-action", { items: [{ kind: "selfie", code: "a" }] }, "/items/0/kind"],
    ["request-action", { items: [{ kind: "document", code: "selfie" }] }, "/items/0/code"],
    ["request-action", { items: [{ kind: "field", code: "" }] }, "/items/0/code"],
    ["request-action", { items: [{ kind: "field", code: "a", when: "now" }] }, "/items/0/when"],
    ["request-action", { items: Array.from({ length: 51 }, () => ({ kind: "field", code: "a" })) }, "/items"],
    ["review", { note: "Hello" }, "/note"],
  ] as const)("%s refuses %j at %s", async (action, sent, path) => {
    const { id } = await addDraft(loans, program.id);
    const stands = await lead(loans, id, action === "review" ? "submitted" : "under_review");
    const { status, body } = await loans.lender("POST", `/lender/applications/${id}/${action}`, sent);
    expect([status, body.details?.map((detail: Json) => detail.path)]).toEqual([422, [path]]);
    expect(await done(loans.lender("GET", `/lender/applications/${id}`))).toEqual(stands);
  });

  test.each([
    [{}, "/reference"],
    [{ reference: " " }, "/reference"],
    [{ reference: "R", disbursed_at: "2026-11-21T10:00:00.001Z" }, "/disbursed_at"],
    [{ reference: "R", disbursed_at: "yesterday" }, "/disbursed_at"],
    [{ reference: "R", amount: "1.00" }, "/amount"],
  ])("disburse refuses %j at %s", async (sent, path) => {
    const { id } = await addDraft(loans, program.id);
    await lead(loans, id, "accepted");
    const { status, body } = await loans.lender("POST", `/lender/applications/${id}/disburse`, sent);
    expect([status, body.details?.map((detail: Json) => detail.path)]).toEqual([422, [path]]);
  });

  test("an offer that takes more of the income than the program allows is refused", async () => {
    const strict = await addProgram(loans, { eligibility: { max_dsr_percent: "10" } });
    const { id } = await addDraft(loans, strict.id);
    await lead(loans, id, "submitted");
    await done(loans.lender("POST", `/lender/applications/${id}/review`));
    const approve = (offer: object) => loans.lender("POST", `/lender/applications/${id}/approve`, offer);
    // 450.00 is a tenth of the income; 9,000 over 24 months at 18 % are 449.32, at 20 more 450.32.
    const refused = await approve({ ...OFFER, amount: "9020.00", annual_rate: "18" });
    expect([refused.status, refused.body.details[0].path]).toEqual([422, "/amount"]);
    expect((await done(approve({ ...OFFER, annual_rate: "18" }))).offer.monthly_instalment).toBe("449.32");
  });

  test.each(["abc", "0", "1.5", String(2 ** 53), "1e3"])("an id of %s is refused", async (id) => {
    for (const [api, path] of [
      [loans.agent, `/agent/applications/${id}`],
      [loans.lender, `/lender/applications/${id}`],
      [loans.lender, `/lender/programs/${id}`],
    ] as const)
      expect((await api("GET", path)).status).toBe(422);
  });

  test.each([
    ["page=0", "/page"],
    ["limit=201", "/limit"],
    ["status=open", "/status"],
    ["program_id=x", "/program_id"],
    ["from=yesterday", "/from"],
    ["search=", "/search"],
    ["sent=true", "/sent"],
    ["agent_key_id=1", "/agent_key_id"],
  ])("a list by %s is refused at %s", async (query, path) => {
    for (const side of ["agent", "lender"] as const) {
      const { status, body } = await loans[side]("GET", `/${side}/applications?${query}`);
      expect([status, body.details?.[0]?.path]).toEqual([422, path]);
    }
  });
});

describe("the wrong state", () => {
  /** Every call, and the states that it is refused in. */
  const CALLS = [
    ["agent", "PUT", "", { amount: "2000" }],
    ["agent", "DELETE", "", undefined],
    ["agent", "POST", "/submit", undefined],
    ["agent", "POST", "/withdraw", undefined],
    ["agent", "POST", "/accept", undefined],
    ["agent", "POST", "/decline", undefined],
    ["lender", "POST", "/review", undefined],
    ["lender", "POST", "/request-action", { items: [{ kind: "field", code: "a" }] }],
    ["lender", "POST", "/approve", OFFER],
    ["lender", "POST", "/reject", { reason_code: "other" }],
    ["lender", "POST", "/disburse", { reference: "R" }],
  ] as const;
  const ALLOWED: Record<string, string[]> = {
    draft: ["PUT", "DELETE", "POST/submit", "POST/withdraw"],
    submitted: ["POST/withdraw", "POST/review"],
    under_review: ["POST/withdraw", "POST/request-action", "POST/approve", "POST/reject"],
    action_required: ["PUT", "POST/submit", "POST/withdraw"],
    approved: ["POST/withdraw", "POST/accept", "POST/decline"],
    accepted: ["POST/disburse"],
    disbursed: [],
    rejected: [],
    declined: [],
    withdrawn: [],
  };
  const REACHED = [
    "submitted",
    "under_review",
    "action_required",
    "approved",
    "accepted",
    "disbursed",
    "rejected",
    "declined",
    "withdrawn",
  ] as const;

  for (const state of ["draft", ...REACHED] as const)
    test(`${state} allows ${ALLOWED[state]?.join(", ") || "nothing"}, all else is a 409`, async () => {
      const { id } = await addDraft(loans, program.id);
      if (state !== "draft") await lead(loans, id, state);
      const before = await done(loans.lender("GET", `/lender/applications/${id}`));
      for (const [side, method, suffix, body] of CALLS) {
        if (ALLOWED[state]?.includes(method + suffix)) continue;
        const answer = await loans[side](method, `/${side}/applications/${id}${suffix}`, body);
        expect([method, suffix, answer.status]).toEqual([method, suffix, 409]);
        expect(answer.body.error).toEndWith(`its status is ${state.replaceAll("_", " ")}`);
      }
      expect(await done(loans.lender("GET", `/lender/applications/${id}`))).toEqual(before);
    });
});

describe("external references", () => {
  test("are one agent's own: a second one names the first", async () => {
    const first = await done(post({ external_reference: "EXT-1" }));
    const refused = await post({ external_reference: " EXT-1 " });
    expect([refused.status, refused.body.error]).toEqual([
      409,
      `Cannot use external_reference EXT-1: application ${first.id} has it`,
    ]);
    const other = await openLoans(service);
    expect((await addDraft(other, program.id, { external_reference: "EXT-1" })).id).not.toBe(first.id);
    const second = await done(post({ external_reference: "EXT-2" }));
    const put = (id: number, change: object) => loans.agent("PUT", `/agent/applications/${id}`, change);
    expect((await put(second.id, { external_reference: "EXT-1" })).status).toBe(409);
    expect((await put(first.id, { external_reference: "EXT-1" })).status).toBe(200);
    // A deleted draft gives its reference back.
    await done(loans.agent("DELETE", `/agent/applications/${first.id}`));
    expect((await put(second.id, { external_reference: "EXT-1" })).status).toBe(200);
    expect((await done(put(second.id, { external_reference: null }))).external_reference).toBe(null);
  });

  test("of many calls at once one gets it, and the others hear which", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => post({ external_reference: "RACE" })));
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(1);
    const error = `Cannot use external_reference RACE: application ${made[0]?.body.data.id} has it`;
    const others = answers.filter(({ status }) => status !== 201);
    expect(others.map(({ status, body }) => [status, body.error])).toEqual(
      Array.from({ length: 19 }, () => [409, error]),
    );
  });
});

describe("many calls at once", () => {
  const statuses = async (calls: ReturnType<Api>[]) =>
    (await Promise.all(calls)).map(({ status }) => status).toSorted((a, b) => a - b);
  const ONE_OF_20 = [200, ...Array.from({ length: 19 }, () => 409)];

  test("of twenty approvals one is made", async () => {
    const { id } = await addDraft(loans, program.id);
    await lead(loans, id, "submitted");
    await done(loans.lender("POST", `/lender/applications/${id}/review`));
    const calls = Array.from({ length: 20 }, (_, i) =>
      loans.lender("POST", `/lender/applications/${id}/approve`, { ...OFFER, tenor_months: 10 + i }),
    );
    expect(await statuses(calls)).toEqual(ONE_OF_20);
    const events = await done(service.api("GET", "/events?type=application.approved&limit=200"));
    expect(events.filter(({ data }: Json) => data.id === id)).toHaveLength(1);
  });

  test("of accepting, declining, and withdrawing, one", async () => {
    const { id } = await addDraft(loans, program.id);
    await lead(loans, id, "approved");
    const calls = Array.from({ length: 20 }, (_, i) =>
      loans.agent("POST", `/agent/applications/${id}/${["accept", "decline", "withdraw"][i % 3]}`),
    );
    expect(await statuses(calls)).toEqual(ONE_OF_20);
  });

  test("of submissions one; a program is not deleted beside it", async () => {
    const own = await addProgram(loans);
    const { id } = await addDraft(loans, own.id);
    const calls = Array.from({ length: 20 }, () => loans.agent("POST", `/agent/applications/${id}/submit`));
    const deletion = loans.lender("DELETE", `/lender/programs/${own.id}`);
    expect(await statuses(calls)).toEqual(ONE_OF_20);
    expect((await deletion).status).toBe(409);
  });

  test("a repeat with an Idempotency-Key does it once; an answer with an IC number is not kept for it", async () => {
    const sent = { ...APPLICATION, program_id: program.id };
    const create = () => loans.agent("POST", "/agent/applications", sent, { "idempotency-key": "one" });
    const [first, again] = [await create(), await create()];
    expect([first.status, again.status]).toEqual([201, 409]);
    expect(again.body.error).toContain(`was carried out (loan_application ${first.body.data.id})`);
    expect(JSON.stringify(again.body)).not.toContain("900131");
  });
});
