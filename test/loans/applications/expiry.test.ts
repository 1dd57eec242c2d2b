import { beforeAll, expect, test } from "bun:test";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { exchange } from "../../access/api_keys/fixtures.ts";
import { publish } from "../consents/fixtures.ts";
import { upload } from "../documents/fixtures.ts";
import { addDraft, addProgram, done, lead, type Loans, OFFER, openLoans } from "./fixtures.ts";

const clock = new TestClock("2026-01-01T00:00:00Z");
const service = useService({ clock });
let loans: Loans;
let staging: Loans;

beforeAll(async () => {
  loans = await openLoans(service);
  staging = await openLoans(service, service, "staging");
});

async function runExpiry(times = 1): Promise<void> {
  await Promise.all(Array.from({ length: times }, () => runNamedJob(service, "loan_application_expiry")));
}

const read = (id: number, { agent } = loans) => done(agent("GET", `/agent/applications/${id}`));

/** What the company was told of an application, oldest first. */
async function outboxData(id: number): Promise<Json[]> {
  const api = await service.signIn(service.admin_email);
  const { body } = await api("GET", "/events?type=application.*&limit=200");
  return body.data.filter(({ data }: Json) => data.id === id).toReversed();
}

test("an offer ends at its instant, also before the job has run; the job ends it once", async () => {
  const program = await addProgram(loans);
  const { id } = await addDraft(loans, program.id);
  await lead(loans, id, "submitted");
  await done(loans.lender("POST", `/lender/applications/${id}/review`));
  const expires_at = "2026-01-10T08:00:00+08:00";
  const approved = await done(
    loans.lender("POST", `/lender/applications/${id}/approve`, { ...OFFER, expires_at }),
  );
  expect([approved.offer.expires_at, approved.expires_at]).toEqual([
    "2026-01-10T00:00:00.000Z",
    "2026-01-10T00:00:00.000Z",
  ]);
  clock.set("2026-01-09T23:59:59.999Z");
  await runExpiry();
  expect((await read(id)).status).toBe("approved");

  clock.set("2026-01-10T00:00:00Z");
  for (const action of ["accept", "decline", "withdraw"]) {
    const { status, body } = await loans.agent("POST", `/agent/applications/${id}/${action}`);
    expect([status, body.error]).toEqual([409, expect.stringContaining("its status is expired")]);
  }
  await runExpiry(3);
  await runExpiry();
  const expired = await read(id);
  expect(expired).toEqual({
    ...approved,
    status: "expired",
    expired_at: "2026-01-10T00:00:00.000Z",
    expires_at: null,
    updated_at: "2026-01-10T00:00:00.000Z",
  });
  expect((await outboxData(id)).map(({ type }) => type)).toEqual([
    "application.created",
    "application.submitted",
    "application.under_review",
    "application.approved",
    "application.expired",
  ]);
  const admin = await service.signIn(service.admin_email);
  const query = `?operation=expire_loan_application&target_type=loan_application&target_id=${id}`;
  const entries = await done(admin("GET", `/audit-log${query}`));
  expect(entries.map(({ actor, origin }: Json) => [actor.kind, origin])).toEqual([["system", "job"]]);
  expect((await loans.lender("DELETE", `/lender/programs/${program.id}`)).status).toBe(200);
});

test("an offer that was accepted in time stays", async () => {
  const program = await addProgram(loans);
  const { id } = await addDraft(loans, program.id);
  await lead(loans, id, "accepted");
  clock.set("2026-03-10T00:00:00Z");
  await runExpiry();
  expect((await read(id)).status).toBe("accepted");
});

test("drafts and questions that nobody comes back to end after 90 days, in both environments", async () => {
  clock.set("2026-04-01T00:00:00Z");
  const [program, tried] = [await addProgram(loans), await addProgram(staging)];
  const [idle, edited, sent_back, submitted, deleted] = await Promise.all(
    Array.from({ length: 5 }, () => addDraft(loans, program.id)),
  );
  const in_staging = await addDraft(staging, tried.id);
  await lead(loans, sent_back.id, "action_required");
  await lead(loans, submitted.id, "submitted");
  await done(loans.agent("DELETE", `/agent/applications/${deleted.id}`));
  clock.set("2026-04-02T00:00:00Z");
  expect(await done(loans.agent("PUT", `/agent/applications/${edited.id}`, {}))).toMatchObject({
    expires_at: "2026-07-01T00:00:00.000Z",
  });

  clock.set("2026-06-30T00:00:00Z");
  expect((await loans.agent("PUT", `/agent/applications/${idle.id}`, {})).status).toBe(409);
  expect((await loans.agent("POST", `/agent/applications/${sent_back.id}/submit`)).status).toBe(409);
  await runExpiry(2);
  const now = "2026-06-30T00:00:00.000Z";
  for (const [application, owner] of [
    [idle, loans],
    [sent_back, loans],
    [in_staging, staging],
  ] as const) {
    expect(await read(application.id, owner)).toMatchObject({ status: "expired", expired_at: now });
    const events = await outboxData(application.id);
    expect(events.filter(({ type }) => type === "application.expired")).toHaveLength(1);
    expect(events.at(-1)?.data.environment).toBe(application.environment);
  }
  expect((await read(edited.id)).status).toBe("draft");
  expect((await read(submitted.id)).status).toBe("submitted");
  expect((await outboxData(deleted.id)).map(({ type }) => type)).toEqual(["application.created"]);

  clock.set("2026-07-01T00:00:00Z");
  await runExpiry();
  expect((await read(edited.id)).status).toBe("expired");
});

test("an agent that hands in documents or consents has not gone away", async () => {
  clock.set("2027-01-01T00:00:00Z");
  const program = await addProgram(loans);
  const definition = await publish(loans);
  const [sends, consents, sent_back, submitted] = await Promise.all(
    Array.from({ length: 4 }, () => addDraft(loans, program.id)),
  );
  await lead(loans, sent_back.id, "action_required");
  await lead(loans, submitted.id, "submitted");
  clock.set("2027-03-01T00:00:00Z");
  const { token } = (await exchange(service, loans.agent_key)).body;
  for (const { id } of [sends, sent_back, submitted]) await done(upload(service, token, id));
  const evidence = { method: "signature", captured_at: "2027-02-28T12:00:00Z" };
  const given = { definition_id: definition.id, evidence };
  await done(loans.agent("POST", `/agent/applications/${consents.id}/consents`, given));

  clock.set("2027-04-15T00:00:00Z");
  await runExpiry();
  const ends = await Promise.all([sends, consents, sent_back, submitted].map(({ id }) => read(id)));
  const at = "2027-05-30T00:00:00.000Z";
  expect(ends.map(({ status, expires_at }) => [status, expires_at])).toEqual([
    ["draft", at],
    ["draft", at],
    ["action_required", at],
    ["submitted", null],
  ]);
});

test("more than one batch ends in one run", async () => {
  clock.set("2027-01-01T00:00:00Z");
  const program = await addProgram(loans);
  for (let i = 0; i < 6; i++)
    await Promise.all(Array.from({ length: 20 }, () => addDraft(loans, program.id)));
  clock.set("2027-06-01T00:00:00Z");
  await runExpiry();
  const { body } = await loans.agent("GET", `/agent/applications?program_id=${program.id}&status=expired`);
  expect(body.meta.total).toBe(120);
});
