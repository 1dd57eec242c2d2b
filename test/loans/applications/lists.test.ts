import { beforeAll, expect, test } from "bun:test";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { addDraft, addProgram, done, lead, type Loans, openLoans } from "./fixtures.ts";

const clock = new TestClock("2026-11-21T10:00:00Z");
const service = useService({ clock });
let loans: Loans;

beforeAll(async () => {
  loans = await openLoans(service);
});

const ids = (answer: Json) => answer.map(({ id }: Json) => id);

test("lenders see all but drafts, agents their own, newest first and by page; IC numbers are masked", async () => {
  const other = await openLoans(service);
  const [first, second] = [await addProgram(loans), await addProgram(loans)];
  const named = (name: string) => ({ borrower: { type: "individual", name, ic_number: "900131-14-5678" } });
  const a = await addDraft(loans, first.id, { ...named("Aminah"), external_reference: "EXT-A" });
  clock.set("2026-11-21T10:00:01Z");
  const b = await addDraft(loans, second.id, named("100%_Budi"));
  clock.set("2026-11-21T10:00:02Z");
  const c = await addDraft(other, first.id, named("Chong"));
  const d = await addDraft(loans, first.id, named("Devi"));
  await lead(loans, a.id, "rejected");
  await lead(loans, b.id, "submitted");
  await lead(other, c.id, "withdrawn");

  const lender = (query = "") => done(loans.lender("GET", `/lender/applications${query}`)).then(ids);
  const agent = (query = "") => done(loans.agent("GET", `/agent/applications${query}`)).then(ids);
  expect(await lender()).toEqual([c.id, b.id, a.id]);
  expect(await agent()).toEqual([d.id, b.id, a.id]);
  expect(ids(await done(other.agent("GET", "/agent/applications")))).toEqual([c.id]);

  for (const [query, by_lender, by_agent] of [
    ["?status=draft", [], [d.id]],
    ["?status=submitted", [b.id], [b.id]],
    [`?program_id=${first.id}`, [c.id, a.id], [d.id, a.id]],
    ["?program_id=999999", [], []],
    ["?search=aMIN", [a.id], [a.id]],
    ["?search=ext-a", [a.id], [a.id]],
    [`?search=${b.reference}`, [b.id], [b.id]],
    ["?search=%25_", [b.id], [b.id]],
    ["?search=900131", [], []],
    ["?from=2026-11-21T10:00:01Z", [c.id, b.id], [d.id, b.id]],
    ["?to=2026-11-21T10:00:01Z", [a.id], [a.id]],
    ["?from=2026-11-21T18:00:01%2B08:00&to=2026-11-21T10:00:02Z", [b.id], [b.id]],
    [`?program_id=${first.id}&status=rejected&search=min`, [a.id], [a.id]],
    ["?limit=1&page=2", [b.id], [b.id]],
  ] as const) {
    expect([query, await lender(query)]).toEqual([query, [...by_lender]]);
    expect([query, await agent(query)]).toEqual([query, [...by_agent]]);
  }
  for (const side of ["lender", "agent"] as const) {
    const { body } = await loans[side]("GET", `/${side}/applications?limit=2`);
    expect(body.meta).toEqual({ page: 1, limit: 2, total: 3, total_pages: 2 });
    expect(JSON.stringify(body)).not.toContain("900131");
    expect(body.data[1].borrower.ic_number).toBe("********5678");
    const one = await done(loans[side]("GET", `/${side}/applications/${b.id}`));
    expect(one.borrower.ic_number).toBe("900131145678");
  }
});

test("a deleted draft is gone for everyone", async () => {
  const program = await addProgram(loans);
  const { id } = await addDraft(loans, program.id);
  expect(await loans.agent("DELETE", `/agent/applications/${id}`)).toMatchObject({
    status: 200,
    body: { data: {} },
  });
  for (const [side, method, suffix] of [
    ["agent", "GET", ""],
    ["agent", "PUT", ""],
    ["agent", "DELETE", ""],
    ["agent", "POST", "/submit"],
    ["lender", "GET", ""],
    ["lender", "POST", "/review"],
  ] as const) {
    const body = method === "PUT" ? {} : undefined;
    expect((await loans[side](method, `/${side}/applications/${id}${suffix}`, body)).status).toBe(404);
  }
  expect(ids(await done(loans.agent("GET", "/agent/applications")))).not.toContain(id);
  const events = await done(service.api("GET", "/events?type=application.*&limit=200"));
  expect(events.filter(({ data }: Json) => data.id === id).map(({ type }: Json) => type)).toEqual([
    "application.created",
  ]);
});

test("the audit log tells who did what to which application, and holds no IC number nor answer", async () => {
  const client = await done(service.api("POST", "/clients", { name: "Acme" }));
  const user = await service.addUser(service, "client", client.id);
  const config = { title: "T", fields: [{ name: "nric", label: "IC", type: "text" }] };
  const form = await done(user("POST", "/my/forms", { name: "F", config }));
  const program = await addProgram(loans, { form_config_id: form.id });
  const { id } = await addDraft(loans, program.id, { answers: { nric: "851231-10-4321" } });
  await done(loans.agent("PUT", `/agent/applications/${id}`, { answers: { nric: "851231-10-9999" } }));
  await lead(loans, id, "disbursed");
  const query = `?target_type=loan_application&target_id=${id}`;
  const { body } = await service.api("GET", `/audit-log${query}`);
  expect(body.data.map(({ operation, actor }: Json) => [operation, actor.kind])).toEqual([
    ["disburse_loan_application", "key"],
    ["accept_loan_offer", "key"],
    ["approve_loan_application", "key"],
    ["review_loan_application", "key"],
    ["submit_loan_application", "key"],
    ["update_loan_application", "key"],
    ["create_loan_application", "key"],
  ]);
  expect(body.data.at(-1).withheld).toEqual(expect.arrayContaining(["/borrower", "/answers"]));
  expect(body.data[2].changes.status).toEqual({ old: "under_review", new: "approved" });
  // The ids of requests are random digits.
  const text = JSON.stringify(body.data.map((entry: Json) => ({ ...entry, request_id: undefined })));
  for (const secret of ["900131", "5678", "851231", "4321", "9999"]) expect(text).not.toContain(secret);
});
