import { beforeAll, expect, test } from "bun:test";
import { type Api, type Json, useService } from "../support/harness.ts";
import { addDraft, done, lead, type Loans, OFFER, openLoans, PROGRAM } from "./applications/fixtures.ts";

// Users who act for the lender: the paths under /lending, in the environment that the path names.

const service = useService();
let officer: Api;
let loans: Record<"staging" | "production", Loans>;

beforeAll(async () => {
  officer = await service.addUser(service, "loan_officer");
  loans = {
    staging: await openLoans(service, service, "staging"),
    production: await openLoans(service),
  };
});

const program = async (api: Api, environment: string) => {
  const code = `P-${crypto.randomUUID().slice(0, 8)}`;
  const { id } = await done(api("POST", `/lending/${environment}/programs`, { ...PROGRAM, code }));
  return done(api("POST", `/lending/${environment}/programs/${id}/activate`));
};

test("a loan officer leads an application from its review to the disbursement", async () => {
  const { id: program_id } = await program(officer, "production");
  const { id } = await addDraft(loans.production, program_id);
  await lead(loans.production, id, "submitted");
  const found = await officer("GET", `/lending/production/applications?search=Aminah`);
  expect(found.body.data.map((one: Json) => [one.id, one.status])).toEqual([[id, "submitted"]]);
  const act = (action: string, body?: object) =>
    done(officer("POST", `/lending/production/applications/${id}/${action}`, body));
  expect((await act("review")).status).toBe("under_review");
  expect((await act("approve", OFFER)).status).toBe("approved");
  await done(loans.production.agent("POST", `/agent/applications/${id}/accept`));
  expect((await act("disburse", { reference: "TT-7" })).status).toBe("disbursed");
  const logged = await service.api("GET", "/audit-log?limit=100");
  expect(logged.body.data.map((entry: Json) => [entry.operation, entry.actor?.role])).toContainEqual([
    "disburse_loan_application",
    "loan_officer",
  ]);
});

test("an environment never shows what is in the other", async () => {
  const staged = await program(officer, "staging");
  const { id } = await addDraft(loans.staging, staged.id);
  const status = async (path: string) => (await officer("GET", path)).status;
  expect(await status(`/lending/staging/programs/${staged.id}`)).toBe(200);
  expect(await status(`/lending/production/programs/${staged.id}`)).toBe(404);
  expect(await status(`/lending/staging/applications/${id}`)).toBe(200);
  expect(await status(`/lending/production/applications/${id}`)).toBe(404);
  expect(await status(`/lending/staging/applications/${id}/documents`)).toBe(200);
  expect(await status(`/lending/staging/applications/${id}/consents`)).toBe(200);
  expect(await status("/lending/staging/consent-definitions")).toBe(200);
  expect(await status("/lending/staging/webhook-logs")).toBe(200);
  const wrong = await officer("GET", "/lending/testing/programs");
  expect([wrong.status, wrong.body.details]).toEqual([
    422,
    [{ path: "/environment", message: "must be one of staging, production" }],
  ]);
});

test("a loan officer has loans and nothing else; others have loans as their role says", async () => {
  const me = (await officer("GET", "/me")).body.data;
  expect([me.role, me.permissions]).toEqual([
    "loan_officer",
    ["company:read", "forms:read", "lending:read", "lending:write", "profile:read", "profile:write"],
  ]);
  for (const path of ["/clients", "/billing-records", "/users", "/usage/summary", "/agent/applications"])
    expect((await officer("GET", path)).status, path).toBeOneOf([403, 404]);
  const analyst = await service.addUser(service, "analyst");
  expect((await analyst("GET", "/lending/production/programs")).status).toBe(200);
  expect((await analyst("POST", "/lending/production/programs", { ...PROGRAM, code: "X" })).status).toBe(403);
  const manager = await service.addUser(service, "manager");
  expect((await program(manager, "production")).status).toBe("active");
  const { id: client_id } = await done(service.api("POST", "/clients", { name: "Client" }));
  const client = await service.addUser(service, "client", client_id);
  expect((await client("GET", "/lending/production/programs")).status).toBe(403);
  expect((await loans.production.lender("GET", "/lending/production/programs")).status).toBe(403);
  expect((await service.anonymous("GET", "/lending/production/programs")).status).toBe(401);
  expect((await officer("GET", "/lender/programs")).status).toBe(403);
});

test("another company's loans are not there", async () => {
  const { id: program_id } = await program(officer, "production");
  const { id } = await addDraft(loans.production, program_id);
  const other = await service.addTenant();
  const their = await service.addUser(other, "loan_officer");
  for (const path of [`programs/${program_id}`, `applications/${id}`, `applications/${id}/documents`])
    expect((await their("GET", `/lending/production/${path}`)).status).toBe(404);
  expect((await their("GET", "/lending/production/applications")).body.data).toEqual([]);
});
