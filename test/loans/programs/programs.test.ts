import { beforeAll, describe, expect, test } from "bun:test";
import { LoanProgram, PROGRAM_STATUSES } from "../../../src/loans/programs/model.ts";
import { PROGRAM_TRIGGERS, programTransition } from "../../../src/loans/programs/rules.ts";
import { type Json, useService } from "../../support/harness.ts";
import {
  addDraft,
  addProgram,
  done,
  lead,
  type Loans,
  openLoans,
  PROGRAM,
} from "../applications/fixtures.ts";

const service = useService();
let loans: Loans;

beforeAll(async () => {
  loans = await openLoans(service);
});

let codes = 0;
const coded = (change: object = {}) => ({ ...PROGRAM, code: `C${++codes}`, ...change });
const post = (change: object) => loans.lender("POST", "/lender/programs", coded(change));

/** A form of a client of the company, made by a user of that client. */
async function addForm(config: object): Promise<{ id: number; put(change: object): Promise<Json> }> {
  const client = await done(service.api("POST", "/clients", { name: "Acme" }));
  const user = await service.addUser(service, "client", client.id);
  const { id } = await done(user("POST", "/my/forms", { name: "F", config }));
  return { id, put: (change) => user("PUT", `/my/forms/${id}`, { name: "F", config, ...change }) };
}
const FORM = { title: "T", fields: [{ name: "job", label: "Job", type: "text", required: true }] };

describe("states", () => {
  const LEADS: Record<string, string[]> = {
    //        edit      activate  pause     archive
    draft: ["draft", "active", ".", "archived"],
    active: ["active", ".", "paused", "archived"],
    paused: ["paused", "active", ".", "archived"],
    archived: [".", ".", ".", "."],
  };
  for (const status of PROGRAM_STATUSES) {
    for (const [column, trigger] of PROGRAM_TRIGGERS.entries()) {
      const leads = LEADS[status]?.[column] ?? "";
      test(`${status}, ${trigger}: ${leads === "." ? "refused" : leads}`, () => {
        const moved = () => programTransition({ id: 7, status }, trigger);
        if (leads === ".") expect(moved).toThrow(`Cannot ${trigger} loan program 7: its status is ${status}`);
        else expect<string>(moved()).toBe(leads);
      });
    }
  }
});

describe("a program", () => {
  test("is drafted, changed, activated, paused and deleted", async () => {
    const { lender, agent } = loans;
    const created = await lender("POST", "/lender/programs", {
      ...PROGRAM,
      code: "HOME-1",
      min_amount: "1000",
      eligibility: { min_age: 21, min_monthly_income: "3000", max_dsr_percent: "60", citizenship: "MY" },
      required_documents: ["ic_front", "payslip"],
      required_consents: ["pdpa", "credit_bureau"],
    });
    expect(created.status).toBe(201);
    const draft = created.body.data;
    expect(draft).toEqual({
      ...PROGRAM,
      id: expect.any(Number),
      company_id: service.company_id,
      environment: "production",
      code: "HOME-1",
      description: null,
      min_amount: "1000.00",
      eligibility: { min_age: 21, min_monthly_income: "3000.00", max_dsr_percent: "60", citizenship: "MY" },
      required_documents: ["ic_front", "payslip"],
      required_consents: ["pdpa", "credit_bureau"],
      form_config_id: null,
      status: "draft",
      created_at: expect.any(String),
      updated_at: draft.created_at,
    });
    expect(Object.keys(draft).toSorted()).toEqual(Object.keys(LoanProgram.properties).toSorted());
    const path = `/lender/programs/${draft.id}`;
    expect(await done(lender("GET", path))).toEqual(draft);
    expect((await agent("GET", `/agent/programs/${draft.id}`)).status).toBe(404);

    const changed = await done(
      lender("PUT", path, { max_amount: "80000", eligibility: {}, description: "For homes" }),
    );
    expect(changed).toEqual({
      ...draft,
      max_amount: "80000.00",
      eligibility: {},
      description: "For homes",
      updated_at: expect.any(String),
    });

    expect((await lender("POST", `${path}/pause`)).status).toBe(409);
    const active = await done(lender("POST", `${path}/activate`));
    expect(active.status).toBe("active");
    expect((await lender("POST", `${path}/activate`)).status).toBe(409);
    expect(await done(agent("GET", `/agent/programs/${draft.id}`))).toEqual(active);
    expect((await done(agent("GET", "/agent/programs?search=home"))).length).toBe(1);
    expect((await done(lender("POST", `${path}/pause`))).status).toBe("paused");
    expect((await agent("GET", `/agent/programs/${draft.id}`)).status).toBe(404);
    expect(await done(agent("GET", "/agent/programs?search=HOME-1"))).toEqual([]);
    const paused = await done(lender("GET", "/lender/programs?search=HOME&status=paused"));
    expect(paused.map(({ id }: Json) => id)).toEqual([draft.id]);
    const { id: later } = await done(
      lender("POST", "/lender/programs", { ...PROGRAM, name: "aaa", code: "ZZ-9" }),
    );
    for (const [sort, [first, last]] of [
      ["-name", [draft.id, later]],
      ["code", [draft.id, later]],
      ["-code", [later, draft.id]],
    ] as const) {
      const sorted: number[] = (await done(lender("GET", `/lender/programs?sort=${sort}`))).map(
        ({ id }: Json) => id,
      );
      expect([sort, sorted.filter((id) => id === first || id === last)]).toEqual([sort, [first, last]]);
    }
    expect(await done(lender("DELETE", `/lender/programs/${later}`))).toEqual({});

    expect(await lender("DELETE", path)).toMatchObject({ status: 200, body: { data: {} } });
    for (const [method, suffix, body] of [
      ["GET", ""],
      ["PUT", "", { name: "N" }],
      ["DELETE", ""],
      ["POST", "/activate"],
      ["POST", "/pause"],
    ] as const)
      expect((await lender(method, path + suffix, body)).status, method + suffix).toBe(404);
    expect(await done(lender("GET", "/lender/programs?search=HOME-1"))).toEqual([]);
    const again = await lender("POST", "/lender/programs", { ...PROGRAM, code: "HOME-1" });
    expect([again.status, again.body.details[0].path]).toEqual([422, "/code"]);
  });

  test("is not deleted while an application to it is open", async () => {
    const program = await addProgram(loans);
    const path = `/lender/programs/${program.id}`;
    const first = await addDraft(loans, program.id);
    const second = await addDraft(loans, program.id);
    const refused = await loans.lender("DELETE", path);
    expect([refused.status, refused.body.error]).toEqual([
      409,
      `Cannot delete loan program ${program.id}: it has 2 open applications`,
    ]);
    await lead(loans, first.id, "disbursed");
    expect((await loans.lender("DELETE", path)).body.error).toEndWith("it has 1 open application");
    await done(loans.agent("DELETE", `/agent/applications/${second.id}`));
    expect((await loans.lender("DELETE", path)).status).toBe(200);
    const told = await done(loans.lender("GET", `/lender/applications/${first.id}`));
    expect(told.program_snapshot.code).toBe(program.code);
  });

  test("has a code of its own in its environment", async () => {
    const body = coded();
    expect((await loans.lender("POST", "/lender/programs", body)).status).toBe(201);
    const twice = await loans.lender("POST", "/lender/programs", body);
    expect([twice.status, twice.body.details]).toEqual([
      422,
      [{ path: "/code", message: expect.stringContaining("must be unused") }],
    ]);
    const staging = await openLoans(service, service, "staging");
    const other = await openLoans(service, await service.addTenant());
    for (const { lender } of [staging, other])
      expect((await lender("POST", "/lender/programs", body)).status).toBe(201);
    const many = await Promise.all(
      Array.from({ length: 8 }, () =>
        loans.lender("POST", "/lender/programs", { ...PROGRAM, code: "SAME" }).then(({ status }) => status),
      ),
    );
    expect(many.filter((status) => status === 201)).toHaveLength(1);
    expect(many.filter((status) => status === 422)).toHaveLength(7);
  });

  test("asks by an active form of its company", async () => {
    const form = await addForm(FORM);
    expect((await done(post({ form_config_id: form.id }))).form_config_id).toBe(form.id);
    const program = await addProgram(loans, { form_config_id: form.id });
    await form.put({ is_active: false });
    for (const form_config_id of [form.id, 2 ** 40]) {
      const { status, body } = await post({ form_config_id });
      expect([status, body.details]).toEqual([
        422,
        [{ path: "/form_config_id", message: "must be an active form of the company" }],
      ]);
    }
    const other = await openLoans(service, await service.addTenant());
    await form.put({ is_active: true });
    expect((await other.lender("POST", "/lender/programs", coded({ form_config_id: form.id }))).status).toBe(
      422,
    );
    // One that it has already may stay, whatever became of it.
    await form.put({ is_active: false });
    const path = `/lender/programs/${program.id}`;
    expect((await loans.lender("PUT", path, { form_config_id: form.id, name: "N" })).status).toBe(200);
    expect((await done(loans.lender("PUT", path, { form_config_id: null }))).form_config_id).toBe(null);
    expect((await loans.lender("PUT", path, { form_config_id: form.id })).status).toBe(422);
  });

  const TIGHT = { min_age: 30, max_age: 29 };
  const REFUSED: [object, string][] = [
    [{ code: "" }, "/code"],
    [{ code: "a b" }, "/code"],
    [{ code: "x".repeat(51) }, "/code"],
    [{ code: undefined }, "/code"],
    [{ name: " " }, "/name"],
    [{ description: "a".repeat(1_001) }, "/description"],
    [{ borrower_type: "company" }, "/borrower_type"],
    [{ currency: "RM" }, "/currency"],
    [{ currency: "myr" }, "/currency"],
    [{ min_amount: 1000 }, "/min_amount"],
    [{ min_amount: "1e3" }, "/min_amount"],
    [{ min_amount: "-1" }, "/min_amount"],
    [{ min_amount: "0.00" }, "/min_amount"],
    [{ min_amount: "1000.001" }, "/min_amount"],
    [{ min_amount: "0100" }, "/min_amount"],
    [{ min_amount: "50000.01" }, "/max_amount"],
    [{ max_amount: "999.99" }, "/max_amount"],
    [{ max_amount: "1".repeat(16) }, "/max_amount"],
    [{ min_tenor_months: 0 }, "/min_tenor_months"],
    [{ min_tenor_months: 3.5 }, "/min_tenor_months"],
    [{ min_tenor_months: "6" }, "/min_tenor_months"],
    [{ min_tenor_months: 61 }, "/max_tenor_months"],
    [{ max_tenor_months: 601 }, "/max_tenor_months"],
    [{ annual_rate_min: 4.5 }, "/annual_rate_min"],
    [{ annual_rate_min: "18.0001" }, "/annual_rate_max"],
    [{ annual_rate_max: "1000" }, "/annual_rate_max"],
    [{ annual_rate_max: "4.50001" }, "/annual_rate_max"],
    [{ rate_type: "compound" }, "/rate_type"],
    [{ eligibility: TIGHT }, "/eligibility/max_age"],
    [{ eligibility: { min_age: -1 } }, "/eligibility/min_age"],
    [{ eligibility: { min_age: 21.5 } }, "/eligibility/min_age"],
    [{ eligibility: { min_monthly_income: 3000 } }, "/eligibility/min_monthly_income"],
    [{ eligibility: { min_monthly_income: "3000.001" } }, "/eligibility/min_monthly_income"],
    [{ eligibility: { citizenship: "SG" } }, "/eligibility/citizenship"],
    [{ eligibility: { max_dsr: "60" } }, "/eligibility/max_dsr"],
    [{ eligibility: null }, "/eligibility"],
    [{ required_documents: ["selfie"] }, "/required_documents/0"],
    [{ required_documents: ["payslip", "payslip"] }, "/required_documents"],
    [{ required_consents: ["a b"] }, "/required_consents/0"],
    [{ required_consents: ["pdpa", "pdpa"] }, "/required_consents"],
    [{ required_consents: Array.from({ length: 21 }, (_, i) => `c${i}`) }, "/required_consents"],
    [{ form_config_id: "1" }, "/form_config_id"],
    [{ status: "active" }, "/status"],
    [{ environment: "production" }, "/environment"],
    [{ company_id: 1 }, "/company_id"],
    [{ id: 1 }, "/id"],
  ];

  const CHANGES = REFUSED.filter(([sent]) => Object.values(sent).every((value) => value !== undefined));

  test.each(REFUSED)("%j is refused at %s", async (change, path) => {
    const { status, body } = await post(change);
    expect([status, body.details?.map((detail: Json) => detail.path)]).toEqual([422, [path]]);
  });

  test("what is refused at its creation is refused at a change", async () => {
    const program = await addProgram(loans);
    for (const [change, path] of CHANGES) {
      const { status, body } = await loans.lender("PUT", `/lender/programs/${program.id}`, change);
      expect([change, status, body.details?.[0]?.path]).toEqual([change, 422, path]);
    }
    expect(await done(loans.lender("GET", `/lender/programs/${program.id}`))).toEqual(program);
  });

  test("every broken rule is named at once", async () => {
    const { status, body } = await post({
      max_amount: "1",
      max_tenor_months: 1,
      annual_rate_max: "1",
      eligibility: TIGHT,
    });
    expect(status).toBe(422);
    expect(body.details.map(({ path }: Json) => path)).toEqual([
      "/max_amount",
      "/max_tenor_months",
      "/annual_rate_max",
      "/eligibility/max_age",
    ]);
  });
});

describe("instalments", () => {
  test("are those of an offer, by whole years and the program's ends", async () => {
    const program = await addProgram(loans, { min_tenor_months: 6, max_tenor_months: 40 });
    const path = `/lender/programs/${program.id}/instalments`;
    const rows = await done(loans.lender("GET", `${path}?amount=10000.00`));
    expect(rows.map(({ tenor_months }: Json) => tenor_months)).toEqual([6, 12, 24, 36, 40]);
    const { id } = await addDraft(loans, program.id);
    await lead(loans, id, "under_review");
    for (const { tenor_months, at_min_rate, at_max_rate } of rows)
      for (const [annual_rate, instalment] of [
        [program.annual_rate_min, at_min_rate],
        [program.annual_rate_max, at_max_rate],
      ]) {
        const terms = { amount: "10000.00", tenor_months, annual_rate };
        const offer = await done(loans.lender("POST", `/lender/applications/${id}/approve/preview`, terms));
        expect(offer).toMatchObject({ ...terms, monthly_instalment: instalment });
      }
    const before = await done(loans.lender("GET", `/lender/applications/${id}`));
    expect(before).toMatchObject({ status: "under_review", offer: null });
    expect((await loans.lender("GET", `${path}?amount=999.99`)).status).toBe(422);
    expect((await loans.lender("GET", `${path}?amount=1e4`)).status).toBe(422);
    const beyond = { amount: "10000.00", tenor_months: 41, annual_rate: "5" };
    const refused = await loans.lender("POST", `/lender/applications/${id}/approve/preview`, beyond);
    expect([refused.status, refused.body.details[0].path]).toEqual([422, "/tenor_months"]);
    expect((await loans.agent("GET", `${path}?amount=10000.00`)).status).toBe(403);
  });
});
