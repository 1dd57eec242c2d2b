import { beforeAll, describe, expect, test } from "bun:test";
import { auditLogTable } from "../../../src/audit/tables.ts";
import { loanApplicationTable } from "../../../src/loans/applications/tables.ts";
import { consentTable } from "../../../src/loans/consents/tables.ts";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { exchange } from "../../access/api_keys/fixtures.ts";
import { upload } from "../documents/fixtures.ts";
import { addDraft, addProgram, APPLICATION, done, lead, type Loans, OFFER, openLoans } from "./fixtures.ts";

// What an application rests on: consents and documents, from the submission to the disbursement.

const clock = new TestClock("2026-03-10T12:00:00Z");
const service = useService({ clock });
let loans: Loans;
let definition_id: number;
let program_id: number;

beforeAll(async () => {
  loans = await openLoans(service);
  definition_id = await publish("pdpa");
  ({ id: program_id } = await addProgram(loans, {
    required_documents: ["ic_front"],
    required_consents: ["pdpa"],
  }));
});

/** Time goes on before each call that comes after another. */
const later = () => clock.set(clock.now().add({ seconds: 1 }).toString());

async function publish(code: string): Promise<number> {
  const text = {
    title: "T",
    purpose_text: "P",
    data_text: "D",
    data_categories: ["identity"],
    audience: "L",
  };
  const { id } = await done(loans.lender("POST", "/lender/consent-definitions", { ...text, code }));
  await done(loans.lender("POST", `/lender/consent-definitions/${id}/publish`));
  return id;
}

const grant = (id: number, definition = definition_id): Promise<Json> =>
  done(
    loans.agent("POST", `/agent/applications/${id}/consents`, {
      definition_id: definition,
      evidence: { method: "checkbox", captured_at: clock.now().toString() },
    }),
  );
const revoke = (id: number) => loans.agent("POST", `/agent/consents/${id}/revoke`, {});

async function send(id: number, type = "ic_front"): Promise<Json> {
  later();
  const { token } = (await exchange(service, loans.agent_key)).body;
  return done(upload(service, token, id, { type }));
}

const verify = (id: number) => loans.lender("POST", `/lender/documents/${id}/verify`);
const decide = (id: number, action: "approve" | "disburse") =>
  loans.lender(
    "POST",
    `/lender/applications/${id}/${action}`,
    action === "approve" ? OFFER : { reference: "TT-1" },
  );
const accept = (id: number) => loans.agent("POST", `/agent/applications/${id}/accept`);
const requestAction = (id: number, items: object[]) =>
  loans.lender("POST", `/lender/applications/${id}/request-action`, { items });
const put = (id: number, change: object) => loans.agent("PUT", `/agent/applications/${id}`, change);
const stateOf = async (id: number) => (await done(loans.agent("GET", `/agent/applications/${id}`))).status;
const consentsOf = (id: number): Promise<Json[]> =>
  done(loans.lender("GET", `/lender/applications/${id}/consents`));
const documentsOf = (id: number): Promise<Json[]> =>
  done(loans.lender("GET", `/lender/applications/${id}/documents`));

/** An application that has a consent and a verified document, under review. */
async function reviewed(): Promise<{ id: number; consent: Json; document: Json }> {
  const { id } = await addDraft(loans, program_id);
  const document = await send(id);
  const consent = await grant(id);
  await lead(loans, id, "under_review");
  await done(verify(document.id));
  return { id, consent, document };
}

const OTHER = { ...APPLICATION.borrower, name: "Bakar bin Omar", ic_number: "850505-10-5511" };

describe("another borrower", () => {
  test("takes neither the consents nor the reviews of the one before to the disbursement", async () => {
    const { id, consent, document } = await reviewed();
    await done(requestAction(id, [{ kind: "field", code: "borrower.email" }]));
    const edited = await done(put(id, { borrower: OTHER }));
    expect(edited.missing).toContainEqual({ kind: "consent", code: "pdpa", note: null });
    expect((await consentsOf(id))[0]).toMatchObject({
      id: consent.id,
      status: "revoked",
      revoke_reason: "The application's borrower was changed",
      subject_name: "Aminah binti Ali",
    });
    expect((await documentsOf(id))[0]).toMatchObject({
      id: document.id,
      status: "pending_review",
      reviewed_at: expect.any(String),
    });
    const refused = await loans.agent("POST", `/agent/applications/${id}/submit`);
    expect([refused.status, refused.body.missing]).toEqual([422, [{ kind: "consent", code: "pdpa" }]]);
    const given = await grant(id);
    expect(given.subject_name).toBe("Bakar bin Omar");
    await done(loans.agent("POST", `/agent/applications/${id}/submit`));
    const unseen = { status: 409, missing: [{ kind: "document", code: "ic_front" }] };
    const approve = async () => {
      const { status, body } = await decide(id, "approve");
      return { status, missing: body.missing };
    };
    expect(await approve()).toEqual(unseen);
    const other = await send(id);
    expect(await approve()).toEqual(unseen);
    await done(verify(other.id));
    expect((await approve()).status).toBe(200);
    const api = await service.signIn(service.admin_email);
    const { body } = await api("GET", "/events?type=consent.revoked&limit=1");
    expect(body.data[0].data).toMatchObject({ id: consent.id, status: "revoked" });
  });

  test.each([
    ["name", { name: "Aminah binti Abu" }, "revoked"],
    ["IC number", { ic_number: "900131-14-5679" }, "revoked"],
    ["no identity: email and income", { email: "other@example.com", monthly_income: "5000" }, "granted"],
    ["the same, spelled otherwise", { ic_number: "900131145678" }, "granted"],
  ])("is told by %s", async (_what, change, status) => {
    const { id } = await addDraft(loans, program_id);
    await grant(id);
    await done(put(id, { borrower: { ...APPLICATION.borrower, ...change } }));
    expect((await consentsOf(id)).map((consent) => consent.status)).toEqual([status]);
  });

  test("leaves a rejected document rejected", async () => {
    const { id } = await addDraft(loans, program_id);
    const { id: document } = await send(id);
    await done(loans.lender("POST", `/lender/documents/${document}/reject`, { reason_code: "blurry" }));
    await done(put(id, { borrower: OTHER }));
    expect((await documentsOf(id)).map(({ status }) => status)).toEqual(["rejected"]);
  });
});

describe("approve, accept and disburse", () => {
  const STEPS = ["approve", "accept", "disburse"] as const;
  type Step = (typeof STEPS)[number];
  const READY = { approve: "under_review", accept: "approved", disburse: "accepted" } as const;

  /** Leads an application to where a step is next. */
  async function ready(step: Step) {
    const application = await reviewed();
    later();
    if (step !== "approve") await done(decide(application.id, "approve"));
    if (step === "disburse") await done(accept(application.id));
    return application;
  }
  const take = (id: number, step: Step) => (step === "accept" ? accept(id) : decide(id, step));
  const SAID = { approve: "approve", accept: "accept the offer of", disburse: "disburse" };

  test.each(["accept", "disburse"] as const)("%s is refused for a revoked consent", async (step) => {
    const { id, consent } = await ready(step);
    await done(revoke(consent.id));
    const refused = await take(id, step);
    expect([refused.status, refused.body]).toEqual([
      409,
      {
        error: `Cannot ${SAID[step]} application ${id}: missing are consent pdpa`,
        missing: [{ kind: "consent", code: "pdpa" }],
      },
    ]);
    expect(await stateOf(id)).toBe(READY[step]);
    await grant(id);
    expect((await take(id, step)).status).toBe(200);
  });

  test.each(STEPS)("%s is refused until a replaced document is verified", async (step) => {
    const { id } = await ready(step);
    const replaced = await send(id);
    const refused = await take(id, step);
    expect([refused.status, refused.body.missing]).toEqual([409, [{ kind: "document", code: "ic_front" }]]);
    expect(await stateOf(id)).toBe(READY[step]);
    await done(verify(replaced.id));
    expect((await take(id, step)).status).toBe(200);
  });

  test.each(["accept", "disburse"] as const)("%s is refused for a consent that has run out", async (step) => {
    const code = `short-${step}`;
    const text = {
      title: "T",
      purpose_text: "P",
      data_text: "D",
      data_categories: ["identity"],
      audience: "L",
    };
    const short = await done(
      loans.lender("POST", "/lender/consent-definitions", { ...text, code, validity_days: 1 }),
    );
    await done(loans.lender("POST", `/lender/consent-definitions/${short.id}/publish`));
    const { id: program } = await addProgram(loans, { required_consents: [code] });
    const { id } = await addDraft(loans, program);
    await grant(id, short.id);
    await lead(loans, id, READY[step]);
    clock.set(clock.now().add({ hours: 24 }).toString());
    expect((await take(id, step)).body.missing).toEqual([{ kind: "consent", code }]);
  });

  test("what the lender asked for is needed until the end", async () => {
    const { id: program } = await addProgram(loans);
    const extra = await publish("extra");
    const { id } = await addDraft(loans, program);
    await lead(loans, id, "under_review");
    await done(requestAction(id, [{ kind: "consent", code: "extra" }]));
    const consent = await grant(id, extra);
    await done(loans.agent("POST", `/agent/applications/${id}/submit`));
    await done(revoke(consent.id));
    expect(await stateOf(id)).toBe("action_required");
    const again = await grant(id, extra);
    await done(loans.agent("POST", `/agent/applications/${id}/submit`));
    await done(decide(id, "approve"));
    await done(revoke(again.id));
    expect((await accept(id)).body.missing).toEqual([{ kind: "consent", code: "extra" }]);
  });

  test("a new version of a text and a new program leave a loan under way alone", async () => {
    const code = "versioned";
    const first = await publish(code);
    const { id: program } = await addProgram(loans, { required_consents: [code] });
    const { id } = await addDraft(loans, program);
    await grant(id, first);
    await lead(loans, id, "under_review");
    const next = await done(loans.lender("POST", `/lender/consent-definitions/${first}/versions`, {}));
    await done(loans.lender("POST", `/lender/consent-definitions/${next.id}/publish`));
    await done(loans.lender("PUT", `/lender/programs/${program}`, { required_documents: ["passport"] }));
    await done(decide(id, "approve"));
    await done(accept(id));
    expect((await decide(id, "disburse")).status).toBe(200);
  });

  test("disburse is refused for a day before the acceptance", async () => {
    const { id } = await ready("disburse");
    const refused = await loans.lender("POST", `/lender/applications/${id}/disburse`, {
      reference: "TT-1",
      disbursed_at: "2026-03-01T00:00:00Z",
    });
    expect([refused.status, refused.body.details[0].path]).toEqual([422, "/disbursed_at"]);
  });

  test("a document that was never reviewed is the lender's own decision", async () => {
    const { id } = await addDraft(loans, program_id);
    await send(id);
    await grant(id);
    expect((await lead(loans, id, "disbursed")).status).toBe("disbursed");
  });
});

describe("missing", () => {
  test("of a draft names all that its submission would be refused for, alone and in lists", async () => {
    const { id, missing } = await addDraft(loans, program_id, {
      borrower: { type: "individual", name: "A" },
    });
    const expected = [
      { kind: "document", code: "ic_front", note: null },
      { kind: "consent", code: "pdpa", note: null },
      { kind: "field", code: "borrower.ic_number", note: null },
    ];
    expect(missing).toEqual(expected);
    expect((await done(loans.lender("GET", `/lender/applications/${id}`))).missing).toEqual(expected);
    const [listed] = await done(loans.agent("GET", "/agent/applications?limit=1"));
    expect([listed.id, listed.missing]).toEqual([id, expected]);
    await send(id);
    await grant(id);
    const complete = await done(put(id, { borrower: APPLICATION.borrower }));
    // Another borrower: the consent was the first one's.
    expect(complete.missing).toEqual([{ kind: "consent", code: "pdpa", note: null }]);
    await grant(id);
    expect((await done(loans.agent("GET", `/agent/applications/${id}`))).missing).toEqual([]);
  });

  test("lists name those that wait for something of a kind, page by page", async () => {
    const own = await addProgram(loans, { required_documents: ["ic_front"], required_consents: [] });
    const drafts: number[] = [];
    for (let i = 0; i < 3; i++) drafts.unshift((await addDraft(loans, own.id)).id);
    await send(drafts[1] ?? 0);
    const list = async (query: string, api = loans.agent, path = "/agent/applications") => {
      const { status, body } = await api("GET", `${path}?program_id=${own.id}&${query}`);
      expect([status, body.error]).toEqual([200, undefined]);
      return [body.data.map((one: Json) => one.id), body.meta.total];
    };
    expect(await list("missing=document")).toEqual([[drafts[0], drafts[2]], 2]);
    expect(await list("missing=document&page=2&limit=1")).toEqual([[drafts[2]], 2]);
    expect(await list("missing=document&sort=id")).toEqual([[drafts[2], drafts[0]], 2]);
    expect(await list("missing=consent")).toEqual([[], 0]);
    expect(await list("missing=document&status=submitted")).toEqual([[], 0]);
    // A lender sees no drafts, but what it sent back.
    expect(await list("missing=document", loans.lender, "/lender/applications")).toEqual([[], 0]);
    const back = await lead(loans, drafts[1] ?? 0, "under_review").then(({ id }) => id);
    await requestAction(back, [{ kind: "document", code: "payslip", note: null }]);
    expect(await list("missing=document", loans.lender, "/lender/applications")).toEqual([[back], 1]);
    expect((await loans.agent("GET", "/agent/applications?missing=money")).status).toBe(422);
  });

  test("of one that was sent back keeps the lender's notes until it is there", async () => {
    const { id } = await reviewed();
    const items = [
      { kind: "document", code: "payslip", note: "The last one" },
      { kind: "field", code: "borrower.email", note: "Is it right?" },
    ];
    expect((await done(requestAction(id, items))).missing).toEqual(items);
    await send(id, "payslip");
    expect((await done(loans.agent("GET", `/agent/applications/${id}`))).missing).toEqual(items.slice(1));
  });
});

describe("a form", () => {
  async function addForm(fields: object[]) {
    const admin = await service.signIn(service.admin_email);
    const client = await done(admin("POST", "/clients", { name: "Acme" }));
    const user = await service.addUser({ ...service, api: admin }, "client", client.id);
    const form = (asked: object[]) => ({ name: "F", config: { title: "T", fields: asked } });
    const { id } = await done(user("POST", "/my/forms", form(fields)));
    return { id, change: (asked: object[]) => done(user("PUT", `/my/forms/${id}`, form(asked))) };
  }

  test("that is edited leaves submitted loans with the one that they answered", async () => {
    const job = { name: "job", label: "Job", type: "text", required: true };
    const form = await addForm([job]);
    const { id: program } = await addProgram(loans, { form_config_id: form.id });
    const { id } = await addDraft(loans, program, { answers: { job: "Nurse" } });
    await lead(loans, id, "under_review");
    await form.change([{ name: "shoe", label: "Shoe", type: "number", required: true }]);
    await done(requestAction(id, [{ kind: "field", code: "job" }]));
    const shown = await done(loans.agent("GET", `/agent/applications/${id}`));
    expect(shown.missing).toEqual([{ kind: "field", code: "job", note: null }]);
    expect((await put(id, { answers: { shoe: 9 } })).body.details[0].path).toBe("/answers/shoe");
    expect((await done(put(id, { answers: { job: "Doctor" } }))).answers).toEqual({ job: "Doctor" });
    expect((await done(loans.agent("POST", `/agent/applications/${id}/submit`))).status).toBe("under_review");
    // A draft goes by the form as it is.
    const refused = await loans.agent("POST", "/agent/applications", {
      ...APPLICATION,
      program_id: program,
      answers: { job: "Nurse" },
    });
    expect([refused.status, refused.body.details[0].path]).toEqual([422, "/answers/job"]);
  });
});

test("a deleted draft keeps nothing that was said of people, nor does the audit log", async () => {
  const { id } = await addDraft(loans, program_id, { external_reference: "LEAD-77" });
  await done(put(id, { borrower: { ...APPLICATION.borrower, phone: "019-765 4321" } }));
  await grant(id);
  expect((await loans.agent("DELETE", `/agent/applications/${id}`)).status).toBe(200);
  const a = service.deps.store.read.use(loanApplicationTable);
  const c = service.deps.store.read.use(consentTable);
  const l = service.deps.store.read.use(auditLogTable);
  const [row] = (await service.deps.store.read.select().from(a)).filter((one) => one.id === id);
  const consents = (await service.deps.store.read.select().from(c)).filter(
    (one) => one.application_id === id,
  );
  expect(consents).toHaveLength(1);
  const entries = (await service.deps.store.read.select().from(l).orderBy(l.id)).filter(
    ({ target_type, target_id }) => target_type === "loan_application" && target_id === id,
  );
  expect(entries.map(({ operation, withheld }) => [operation, withheld])).toEqual([
    ["create_loan_application", ["/borrower", "/purpose"]],
    ["update_loan_application", ["/borrower"]],
    ["delete_loan_application", []],
  ]);
  expect(row?.external_reference).toBeNull();
  const left = JSON.stringify({ ...row, program_snapshot: null, consents, entries });
  for (const said of ["Aminah", "5678", "aminah@", "60123456789", "7654321", "4500", "motorcycle"]) {
    expect(left).not.toContain(said);
  }
});
