import { beforeAll, describe, expect, test } from "bun:test";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { exchange } from "../../access/api_keys/fixtures.ts";
import { upload } from "../documents/fixtures.ts";
import { addDraft, addProgram, APPLICATION, done, lead, type Loans, OFFER, openLoans } from "./fixtures.ts";

// Where the company is, it is 15 March from 16:00 UTC of the 14th on.
const clock = new TestClock("2026-03-14T15:59:59Z");
const service = useService({ clock, timezone: "Asia/Kuala_Lumpur" });
let loans: Loans;

beforeAll(async () => {
  loans = await openLoans(service);
});

const submit = (id: number) => loans.agent("POST", `/agent/applications/${id}/submit`);
const put = (id: number, change: object) => loans.agent("PUT", `/agent/applications/${id}`, change);
const paths = (body: Json) => body.details.map(({ path }: Json) => path);

async function addForm(
  fields: object[],
): Promise<{ id: number; change(fields: object[]): Promise<unknown> }> {
  const admin = await service.signIn(service.admin_email);
  const client = await done(admin("POST", "/clients", { name: "Acme" }));
  const user = await service.addUser({ ...service, api: admin }, "client", client.id);
  const form = (asked: object[]) => ({ name: "F", config: { title: "T", fields: asked } });
  const { id } = await done(user("POST", "/my/forms", form(fields)));
  return { id, change: (asked) => done(user("PUT", `/my/forms/${id}`, form(asked))) };
}

/** A published text to consent to. */
async function publish(code: string): Promise<number> {
  const { id } = await done(
    loans.lender("POST", "/lender/consent-definitions", {
      code,
      title: "T",
      purpose_text: "P",
      data_text: "D",
      data_categories: ["identity"],
      audience: "The lender",
    }),
  );
  await done(loans.lender("POST", `/lender/consent-definitions/${id}/publish`));
  return id;
}

function grant(application_id: number, definition_id: number): Promise<Json> {
  const evidence = { method: "checkbox", captured_at: "2026-03-14T12:00:00Z" };
  return done(
    loans.agent("POST", `/agent/applications/${application_id}/consents`, { definition_id, evidence }),
  );
}

async function send(application_id: number, type: string): Promise<Json> {
  const { token } = (await exchange(service, loans.agent_key)).body;
  return done(upload(service, token, application_id, { type }));
}

describe("what is missing", () => {
  test("is listed whole, documents, consents and fields, until it is there", async () => {
    const form = await addForm([
      { name: "job", label: "Job", type: "text", required: true },
      { name: "car", label: "Car", type: "checkbox" },
      { name: "terms", label: "Terms", type: "checkbox", required: true },
    ]);
    const program = await addProgram(loans, {
      required_documents: ["ic_front", "payslip"],
      required_consents: ["pdpa", "ctos"],
      form_config_id: form.id,
      eligibility: { min_monthly_income: "3000", min_age: 18 },
    });
    const [pdpa, ctos] = [await publish("pdpa"), await publish("ctos")];
    const borrower = { type: "individual", name: "Aminah" };
    const { id } = await addDraft(loans, program.id, { borrower, answers: { terms: false } });

    const first = await submit(id);
    expect([first.status, first.body.error, first.body.details]).toEqual([
      422,
      `Cannot submit application ${id}: missing are document ic_front, document payslip, consent pdpa, consent ctos, field borrower.ic_number, and 3 more`,
      undefined,
    ]);
    expect(first.body.missing).toEqual([
      { kind: "document", code: "ic_front" },
      { kind: "document", code: "payslip" },
      { kind: "consent", code: "pdpa" },
      { kind: "consent", code: "ctos" },
      { kind: "field", code: "borrower.ic_number" },
      { kind: "field", code: "borrower.monthly_income" },
      { kind: "field", code: "job" },
      { kind: "field", code: "terms" },
    ]);

    await done(put(id, { borrower: APPLICATION.borrower, answers: { job: "Nurse", terms: true } }));
    await send(id, "payslip");
    const document = await send(id, "ic_front");
    const consent = await grant(id, pdpa);
    await grant(id, ctos);
    // What was refused, or taken back, is not there.
    await done(loans.lender("POST", `/lender/documents/${document.id}/reject`, { reason_code: "blurry" }));
    await done(loans.agent("POST", `/agent/consents/${consent.id}/revoke`, {}));
    expect((await submit(id)).body.missing).toEqual([
      { kind: "document", code: "ic_front" },
      { kind: "consent", code: "pdpa" },
    ]);
    await send(id, "ic_front");
    await grant(id, pdpa);
    expect((await done(submit(id))).status).toBe("submitted");
  });

  test("is what the lender asks for, too, before it goes back to the review", async () => {
    const program = await addProgram(loans);
    const { id } = await addDraft(loans, program.id);
    await lead(loans, id, "submitted");
    await done(loans.lender("POST", `/lender/applications/${id}/review`));
    const consent = await publish("extra");
    const items = [
      { kind: "document", code: "bank_statement", note: "The last three months" },
      { kind: "consent", code: "extra" },
      { kind: "field", code: "borrower.email" },
    ];
    const asked = await done(loans.lender("POST", `/lender/applications/${id}/request-action`, { items }));
    expect([asked.status, asked.missing]).toEqual([
      "action_required",
      items.map((item) => ({ note: null, ...item })),
    ]);
    expect((await submit(id)).body.missing).toEqual([
      { kind: "document", code: "bank_statement" },
      { kind: "consent", code: "extra" },
    ]);
    await send(id, "bank_statement");
    await grant(id, consent);
    const back = await done(submit(id));
    expect([back.status, back.missing, back.submitted_at]).toEqual([
      "under_review",
      [],
      "2026-03-14T15:59:59.000Z",
    ]);
  });

  test("a consent that the program needs, taken back, sends the application back", async () => {
    const program = await addProgram(loans, { required_consents: ["needed"] });
    const definition = await publish("needed");
    const { id } = await addDraft(loans, program.id);
    const consent = await grant(id, definition);
    await lead(loans, id, "submitted");
    await done(loans.agent("POST", `/agent/consents/${consent.id}/revoke`, { reason: "Changed my mind" }));
    const sent_back = await done(loans.agent("GET", `/agent/applications/${id}`));
    expect([sent_back.status, sent_back.missing]).toEqual([
      "action_required",
      [{ kind: "consent", code: "needed", note: null }],
    ]);
    expect((await submit(id)).status).toBe(422);
    await grant(id, definition);
    expect((await done(submit(id))).status).toBe("under_review");
  });
});

describe("the program's rules", () => {
  const RULES: [object, object, string[]][] = [
    [{}, { amount: "999.99" }, ["/amount"]],
    [{}, { amount: "50000.01" }, ["/amount"]],
    [{}, { tenor_months: 5 }, ["/tenor_months"]],
    [{}, { tenor_months: 61 }, ["/tenor_months"]],
    [{ eligibility: { min_monthly_income: "4500.01" } }, {}, ["/borrower/monthly_income"]],
    // At 4.5 % a year, 10,000 over 24 months are 436.48 a month: 9.6996 % of 4,500.
    [{ eligibility: { max_dsr_percent: "9.6995" } }, {}, ["/amount"]],
    [{ eligibility: { min_age: 37 } }, {}, ["/borrower/ic_number"]],
    [{ eligibility: { max_age: 35 } }, {}, ["/borrower/ic_number"]],
    [{}, { amount: "1", tenor_months: 1 }, ["/amount", "/tenor_months"]],
  ];
  test.each(RULES)("%j refuse %j at %j", async (terms, change, at) => {
    const program = await addProgram(loans, terms);
    const { id } = await addDraft(loans, program.id, change);
    const { status, body } = await submit(id);
    expect([status, paths(body), body.missing]).toEqual([422, at, undefined]);
    expect((await done(loans.agent("GET", `/agent/applications/${id}`))).status).toBe("draft");
  });

  test.each([
    [{}, { amount: "1000.00", tenor_months: 6 }],
    [{}, { amount: "50000", tenor_months: 60 }],
    [{ eligibility: { min_monthly_income: "4500.00" } }, {}],
    [{ eligibility: { max_dsr_percent: "9.6996" } }, {}],
    [{ eligibility: { min_age: 36, max_age: 36 } }, {}],
    [{ eligibility: { citizenship: "any" } }, { borrower: { type: "individual", name: "John" } }],
  ])("%j allow %j", async (terms, change) => {
    const program = await addProgram(loans, terms);
    const { id } = await addDraft(loans, program.id, change);
    expect((await done(submit(id))).status).toBe("submitted");
  });

  test("whom a program takes by citizenship needs an IC number", async () => {
    for (const citizenship of ["MY", "PR", undefined]) {
      const program = await addProgram(loans, { eligibility: citizenship ? { citizenship } : {} });
      const { id } = await addDraft(loans, program.id, { borrower: { type: "individual", name: "John" } });
      expect((await submit(id)).body.missing).toEqual([{ kind: "field", code: "borrower.ic_number" }]);
    }
  });

  test("a business needs its registration number", async () => {
    const program = await addProgram(loans, { borrower_type: "business" });
    const borrower = { type: "business", name: "Acme Sdn Bhd" };
    const { id } = await addDraft(loans, program.id, { borrower });
    expect((await submit(id)).body.missing).toEqual([
      { kind: "field", code: "borrower.registration_number" },
    ]);
    await done(put(id, { borrower: { ...borrower, registration_number: "202001234567" } }));
    expect((await done(submit(id))).status).toBe("submitted");
  });

  test("an age is that of the day of the submission where the company is", async () => {
    const program = await addProgram(loans, { eligibility: { min_age: 18 } });
    const born = (ic_number: string) => ({ borrower: { ...APPLICATION.borrower, ic_number } });
    const { id } = await addDraft(loans, program.id, born("080315-14-5678"));
    const too_young = await submit(id);
    expect([too_young.status, paths(too_young.body)]).toEqual([422, ["/borrower/ic_number"]]);
    expect(too_young.body.error).not.toContain("080315");
    clock.set("2026-03-14T16:00:00Z");
    expect((await done(submit(id))).status).toBe("submitted");
  });

  test("are those of the day of the submission, and then stay for this application", async () => {
    const program = await addProgram(loans);
    const edit = (change: object) => loans.lender("PUT", `/lender/programs/${program.id}`, change);
    const { id } = await addDraft(loans, program.id);
    await done(edit({ min_amount: "20000" }));
    expect(paths((await submit(id)).body)).toEqual(["/amount"]);
    await done(edit({ min_amount: "5000", name: "As submitted" }));
    const submitted = await done(submit(id));
    expect(submitted.program_snapshot).toMatchObject({ min_amount: "5000.00", name: "As submitted" });
    await done(edit({ min_amount: "30000", name: "Later", annual_rate_max: "5" }));
    await done(loans.lender("POST", `/lender/applications/${id}/review`));
    const items = [{ kind: "field", code: "amount" }];
    await done(loans.lender("POST", `/lender/applications/${id}/request-action`, { items }));
    await done(put(id, { amount: "8000" }));
    await done(loans.lender("POST", `/lender/programs/${program.id}/pause`));
    const again = await done(submit(id));
    expect([again.status, again.program_snapshot]).toEqual(["under_review", submitted.program_snapshot]);
    const { offer } = await done(loans.lender("POST", `/lender/applications/${id}/approve`, OFFER));
    expect(offer.annual_rate).toBe("8.5");
  });

  test("a program that is paused or was never activated takes none", async () => {
    const program = await addProgram(loans);
    const { id } = await addDraft(loans, program.id, { amount: "1" });
    await done(loans.lender("POST", `/lender/programs/${program.id}/pause`));
    const refused = await submit(id);
    expect([refused.status, refused.body.error]).toEqual([
      409,
      `Cannot submit application ${id}: loan program ${program.id} takes no applications`,
    ]);
    const created = await loans.agent("POST", "/agent/applications", {
      ...APPLICATION,
      program_id: program.id,
    });
    expect([created.status, paths(created.body)]).toEqual([422, ["/program_id"]]);
  });
});

describe("answers", () => {
  const SELECT = { name: "plan", label: "Plan", type: "select", options: ["A", "B"], required: true };

  test("are held against the form as it is, also when it is out of use", async () => {
    const form = await addForm([SELECT]);
    const program = await addProgram(loans, { form_config_id: form.id });
    const { id } = await addDraft(loans, program.id, { answers: { plan: "A" } });
    await form.change([{ ...SELECT, options: ["B", "C"] }]);
    expect(paths((await put(id, { amount: "2000" })).body)).toEqual(["/answers/plan"]);
    expect((await done(put(id, { answers: { plan: "C" } }))).answers).toEqual({ plan: "C" });
    expect((await done(submit(id))).status).toBe("submitted");
  });

  test.each([
    [{ plan: "D" }, "/answers/plan"],
    [{ plan: 1 }, "/answers/plan"],
    [{ other: "A" }, "/answers/other"],
    [JSON.parse('{"__proto__": "A"}'), "/answers/__proto__"],
    ["A", "/answers"],
    [null, "/answers"],
    [["A"], "/answers"],
  ])("%j are refused at %s", async (answers, at) => {
    const form = await addForm([SELECT]);
    const program = await addProgram(loans, { form_config_id: form.id });
    const { status, body } = await loans.agent("POST", "/agent/applications", {
      ...APPLICATION,
      program_id: program.id,
      answers,
    });
    expect([status, paths(body)]).toEqual([422, [at]]);
  });

  test("to a program without a form are refused", async () => {
    const program = await addProgram(loans);
    const { status, body } = await loans.agent("POST", "/agent/applications", {
      ...APPLICATION,
      program_id: program.id,
      answers: { plan: "A" },
    });
    expect([status, paths(body)]).toEqual([422, ["/answers/plan"]]);
  });
});
