import { beforeAll, expect, test } from "bun:test";
import { type Json, type Tenant, useService } from "../../support/harness.ts";
import {
  addDraft,
  addProgram,
  APPLICATION,
  done,
  type Loans,
  openLoans,
  signedIn,
} from "../../loans/applications/fixtures.ts";
import { exchange } from "./fixtures.ts";
import { tally, upload } from "../../loans/documents/fixtures.ts";

// An agent whose key was revoked goes on with another one.

const service = useService();
let tenant: Tenant;
let loans: Loans;

beforeAll(async () => {
  tenant = await service.addTenant();
  loans = await openLoans(service, tenant);
});

const addNext = (replaces_id: unknown, change: object = {}) =>
  tenant.api("POST", "/api-keys", {
    name: "Next",
    role: "agent",
    environment: "production",
    replaces_id,
    ...change,
  });
const revoke = (key: Json) => done(tenant.api("DELETE", `/api-keys/${key.id}`));

test("a key that replaces a revoked one works on its applications, and so does the next", async () => {
  const { id: program } = await addProgram(loans);
  const { id } = await addDraft(loans, program, { external_reference: "LEAD-1" });
  const stranger = signedIn(service, (await addNext(undefined)).body.data);
  let key = loans.agent_key;
  for (let turn = 1; turn <= 3; turn++) {
    await revoke(key);
    const made = await done(addNext(key.id));
    expect(made).toMatchObject({ replaces_id: key.id, revoked_at: null });
    key = made;
    const agent = signedIn(service, key);
    const found = await done(agent("GET", `/agent/applications/${id}`));
    expect(found).toMatchObject({ id, agent_client_id: loans.agent_key.clientId });
    expect((await done(agent("PUT", `/agent/applications/${id}`, { purpose: `Turn ${turn}` }))).purpose).toBe(
      `Turn ${turn}`,
    );
    const { token } = (await exchange(service, key)).body;
    expect((await done(upload(service, token, id))).uploaded_by).toBe(key.clientId);
    // One space of references for all of them.
    const again = await agent("POST", "/agent/applications", {
      ...APPLICATION,
      program_id: program,
      external_reference: "LEAD-1",
    });
    expect([again.status, again.body.error]).toEqual([
      409,
      `Cannot use external_reference LEAD-1: application ${id} has it`,
    ]);
    const own = await addDraft({ ...loans, agent }, program);
    expect(own.agent_client_id).toBe(key.clientId);
  }
  expect((await signedIn(service, key)("GET", "/agent/applications")).body.meta.total).toBe(4);
  expect((await stranger("GET", `/agent/applications/${id}`)).status).toBe(404);
  expect((await stranger("GET", "/agent/applications")).body.meta.total).toBe(0);
});

test("of ten keys at once one replaces a key", async () => {
  const key = await done(addNext(undefined));
  await revoke(key);
  const answers = await Promise.all(Array.from({ length: 10 }, () => addNext(key.id)));
  expect(tally(answers)).toEqual({ 201: 1, 409: 9 });
});

test("only a revoked agent's key of the company and environment is replaced", async () => {
  const live = await done(addNext(undefined));
  const staging = await done(addNext(undefined, { environment: "staging" }));
  const lender = await done(addNext(undefined, { role: "lender" }));
  const foreign = (await openLoans(service, await service.addTenant())).agent_key;
  await revoke(staging);
  await revoke(lender);
  for (const id of [live.id, staging.id, lender.id, foreign.id, 999_999]) {
    const { status, body } = await addNext(id);
    expect([status, body.details]).toEqual([
      422,
      [{ path: "/replaces_id", message: "must be the id of a revoked agent's key of the same environment" }],
    ]);
  }
  expect((await addNext(lender.id, { role: "lender" })).status).toBe(422);
  for (const id of ["1", 0, 1.5]) expect((await addNext(id)).status).toBe(422);
});
