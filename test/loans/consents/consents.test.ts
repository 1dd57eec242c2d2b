import { beforeAll, describe, expect, test } from "bun:test";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { addMachine } from "../../access/api_keys/fixtures.ts";
import { type Borrowing, idOf, openBorrowing, tally } from "../documents/fixtures.ts";
import { define, EVIDENCE, publish, TEXT } from "./fixtures.ts";

const clock = new TestClock("2026-03-10T12:00:00Z");
const service = useService({ clock });
let loans: Borrowing;

beforeAll(async () => {
  loans = await openBorrowing(service);
});

const grant = (application_id: number, definition_id: number, evidence: object = EVIDENCE) =>
  loans.agent("POST", `/agent/applications/${application_id}/consents`, { definition_id, evidence });

const revoke = (id: number, body: object = {}) => loans.agent("POST", `/agent/consents/${id}/revoke`, body);

async function consentsOf(id: number): Promise<Json[]> {
  return (await loans.lender("GET", `/lender/applications/${id}/consents`)).body.data;
}

/** The events of a type, as [type, id, status]. */
async function consentEvents(pattern: string): Promise<[string, number, string][]> {
  const api = await service.signIn(service.admin_email);
  const { body } = await api("GET", `/events?type=${pattern}&limit=200`);
  return body.data.toReversed().map(({ type, data }: Json) => [type, data.id, data.status]);
}

describe("consents", () => {
  test("who, what and how is stored, and has its event", async () => {
    const definition = await publish(loans);
    const id = await loans.apply();
    const evidence = { ...EVIDENCE, ip: "2001:db8::7", user_agent: "Mozilla/5.0 (Android)" };
    const { status, body } = await grant(id, definition.id, evidence);
    const consent = {
      id: expect.any(Number),
      environment: "production",
      application_id: id,
      definition_id: definition.id,
      code: definition.code,
      version: 1,
      locale: "en",
      text_sha256: definition.text_sha256,
      status: "granted",
      subject_name: "Aminah binti Ali",
      subject_ic_last4: "5678",
      evidence: { ...evidence, captured_at: "2026-03-10T11:59:00.000Z" },
      granted_at: "2026-03-10T12:00:00.000Z",
      // It counts from when it was given, not from when it was written down.
      expires_at: "2027-03-10T11:59:00.000Z",
      revoked_at: null,
      revoke_reason: null,
      created_at: "2026-03-10T12:00:00.000Z",
      updated_at: "2026-03-10T12:00:00.000Z",
    };
    expect([status, body.data]).toEqual([201, consent]);
    expect(await consentsOf(id)).toEqual([consent]);
    expect((await loans.agent("GET", `/agent/applications/${id}/consents`)).body.data).toEqual([consent]);
    const api = await service.signIn(service.admin_email);
    const entries = await api("GET", "/audit-log?operation=grant_consent&limit=1");
    expect(entries.body.data[0].target).toEqual({ type: "consent", id: body.data.id });
    expect(JSON.stringify(entries.body)).not.toContain("5678");
    expect((await consentEvents("consent.granted")).at(-1)).toEqual([
      "consent.granted",
      body.data.id,
      "granted",
    ]);
    const again = await grant(id, definition.id);
    expect([again.status, again.body.error]).toEqual([
      409,
      `Cannot grant the consent: it is granted already, as consent ${body.data.id}`,
    ]);
  });

  test("of ten at once one is granted", async () => {
    const definition = await publish(loans);
    const id = await loans.apply();
    const answers = await Promise.all(Array.from({ length: 10 }, () => grant(id, definition.id)));
    expect(tally(answers)).toEqual({ 201: 1, 409: 9 });
    expect(await consentsOf(id)).toHaveLength(1);
  });

  test("only what is published now can be consented to", async () => {
    const api = loans.lender;
    const id = await loans.apply();
    const draft = (await define(loans)).body.data;
    const old = await publish(loans);
    const next = (await api("POST", `/lender/consent-definitions/${old.id}/versions`, {})).body.data;
    await api("POST", `/lender/consent-definitions/${next.id}/publish`);
    const retired = await publish(loans);
    await api("POST", `/lender/consent-definitions/${retired.id}/retire`);
    const foreign = await publish(await openBorrowing(service, await service.addTenant()));
    for (const definition_id of [draft.id, old.id, retired.id, foreign.id, 999_999]) {
      const { status, body } = await grant(id, definition_id);
      expect([status, body.details]).toEqual([
        422,
        [{ path: "/definition_id", message: "must be the id of a published consent definition" }],
      ]);
    }
    expect((await grant(id, next.id)).status).toBe(201);
    expect((await grant(999_999, next.id)).status).toBe(404);
  });

  test.each([
    [{ captured_at: "2026-03-10T12:00:06Z" }, "/evidence/captured_at"],
    [{ captured_at: "2027-01-01T00:00:00Z" }, "/evidence/captured_at"],
    [{ captured_at: "2024-01-01T00:00:00Z" }, "/evidence/captured_at"],
    [{ captured_at: "yesterday" }, "/evidence/captured_at"],
    [{ captured_at: "2026-02-30" }, "/evidence/captured_at"],
    [{ captured_at: undefined }, "/evidence/captured_at"],
    [{ method: "telepathy" }, "/evidence/method"],
    [{ method: undefined }, "/evidence/method"],
    [{ ip: "1.2.3" }, "/evidence/ip"],
    [{ ip: "0x7f.1" }, "/evidence/ip"],
    [{ ip: "1.2.3.4/24" }, "/evidence/ip"],
    [{ ip: "example.com" }, "/evidence/ip"],
    [{ user_agent: "x".repeat(501) }, "/evidence/user_agent"],
    [{ otp: "123456" }, "/evidence/otp"],
  ])("evidence %j is refused", async (change, path) => {
    const { id } = await publish(loans);
    const { status, body } = await grant(await loans.apply(), id, { ...EVIDENCE, ...change });
    expect([status, body.details?.[0]?.path]).toEqual([422, path]);
  });

  test.each([
    [{ definition_id: "1" }, "/definition_id"],
    [{ definition_id: undefined }, "/definition_id"],
    [{ evidence: null }, "/evidence"],
    [{ subject_name: "Somebody else" }, "/subject_name"],
    [{ environment: "staging" }, "/environment"],
  ])("a grant with %j is refused", async (change, path) => {
    const body = { definition_id: (await publish(loans)).id, evidence: EVIDENCE, ...change };
    const id = await loans.apply();
    const answer = await loans.agent("POST", `/agent/applications/${id}/consents`, body);
    expect([answer.status, answer.body.details?.[0]?.path]).toEqual([422, path]);
  });

  test("one is revoked once, with its reason, and may be granted again", async () => {
    const definition = await publish(loans);
    const id = await loans.apply();
    const first = await idOf(grant(id, definition.id));
    expect((await revoke(first, { reason: "" })).status).toBe(422);
    expect((await revoke(first, { note: "x" })).status).toBe(422);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => revoke(first, { reason: " Changed my mind " })),
    );
    expect(tally(answers)).toEqual({ 200: 1, 409: 5 });
    expect(answers.find(({ status }) => status === 200)?.body.data).toMatchObject({
      status: "revoked",
      revoked_at: "2026-03-10T12:00:00.000Z",
      revoke_reason: "Changed my mind",
    });
    const second = await idOf(grant(id, definition.id));
    expect((await consentsOf(id)).map((one) => [one.id, one.status])).toEqual([
      [first, "revoked"],
      [second, "granted"],
    ]);
    expect((await revoke(999_999)).status).toBe(404);
  });

  test("they end with their time, which the job writes down once", async () => {
    const lasting = await publish(loans, { validity_days: null });
    const short = await publish(loans, { validity_days: 1 });
    const id = await loans.apply();
    const stays = await idOf(grant(id, lasting.id));
    const ends = await idOf(grant(id, short.id));
    const mine = async () =>
      (await consentEvents("consent.expired")).filter(([, consent]) => consent === ends);
    clock.set("2026-03-11T11:58:59.999Z");
    await runNamedJob(service, "consent_expiry");
    expect(await mine()).toEqual([]);
    clock.set("2026-03-11T11:59:00Z");
    const late = await revoke(ends);
    expect([late.status, late.body.error]).toEqual([409, `Cannot revoke consent ${ends}: it is expired`]);
    await Promise.all([runNamedJob(service, "consent_expiry"), runNamedJob(service, "consent_expiry")]);
    await runNamedJob(service, "consent_expiry");
    expect(await mine()).toEqual([["consent.expired", ends, "expired"]]);
    expect((await consentsOf(id)).map((one) => [one.id, one.status])).toEqual([
      [stays, "granted"],
      [ends, "expired"],
    ]);
    clock.set("2026-03-11T12:00:00Z");
  });

  test("one whose time has run out makes room for the next before the job has come", async () => {
    const { id: definition_id } = await publish(loans, { validity_days: 1 });
    const id = await loans.apply();
    const first = await idOf(grant(id, definition_id, { ...EVIDENCE, captured_at: "2026-03-11T12:00:00Z" }));
    clock.set("2026-03-12T12:00:00Z");
    const second = await idOf(grant(id, definition_id, { ...EVIDENCE, captured_at: "2026-03-12T12:00:00Z" }));
    expect((await consentsOf(id)).map((one) => [one.id, one.status])).toEqual([
      [first, "expired"],
      [second, "granted"],
    ]);
  });
});

describe("a required consent that is taken back", () => {
  let needy: Borrowing;
  let needed: Json;

  beforeAll(async () => {
    const tenant = await service.addTenant();
    const setup = await openBorrowing(service, tenant, { code: "setup" });
    needed = await publish(setup, { code: "bureau" });
    needy = await openBorrowing(service, tenant, { required_consents: ["bureau"] });
  });

  /** An application that was submitted with the consent, and the consent. */
  async function submitted(): Promise<{ id: number; consent: number }> {
    const api = needy.agent;
    const id = await needy.apply();
    const evidence = { ...EVIDENCE, captured_at: "2026-03-12T12:00:00Z" };
    const given = { definition_id: needed.id, evidence };
    const consent = await idOf(api("POST", `/agent/applications/${id}/consents`, given));
    await idOf(api("POST", `/agent/applications/${id}/submit`));
    return { id, consent };
  }

  const statusOf = async (id: number) => {
    const { status, missing } = (await needy.lender("GET", `/lender/applications/${id}`)).body.data;
    return { status, missing };
  };
  const takeBack = (consent: number) => needy.agent("POST", `/agent/consents/${consent}/revoke`);
  const review = (id: number) => idOf(needy.lender("POST", `/lender/applications/${id}/review`));
  const LACKS = {
    status: "action_required",
    missing: [{ kind: "consent", code: "bureau", note: null }],
  };

  test("sends an application that is submitted or under review back, until it is given again", async () => {
    const sent = await submitted();
    expect((await takeBack(sent.consent)).status).toBe(200);
    expect(await statusOf(sent.id)).toEqual(LACKS);
    const read = await submitted();
    await review(read.id);
    expect((await takeBack(read.consent)).status).toBe(200);
    expect(await statusOf(read.id)).toEqual(LACKS);
    const api = needy.agent;
    const refused = await api("POST", `/agent/applications/${read.id}/submit`);
    expect([refused.status, refused.body.missing]).toEqual([422, [{ kind: "consent", code: "bureau" }]]);
    const evidence = { ...EVIDENCE, captured_at: "2026-03-12T12:00:00Z" };
    await idOf(
      api("POST", `/agent/applications/${read.id}/consents`, { definition_id: needed.id, evidence }),
    );
    await idOf(api("POST", `/agent/applications/${read.id}/submit`));
    expect((await statusOf(read.id)).status).toBe("under_review");
  });

  test("changes nothing before it is submitted, nor once it is approved or at its end", async () => {
    const { id, consent } = await submitted();
    await review(id);
    const offer = { amount: "10000", tenor_months: 12, annual_rate: "8" };
    await idOf(needy.lender("POST", `/lender/applications/${id}/approve`, offer));
    expect((await takeBack(consent)).status).toBe(200);
    expect((await statusOf(id)).status).toBe("approved");
    const ended = await submitted();
    await idOf(needy.agent("POST", `/agent/applications/${ended.id}/withdraw`));
    expect((await takeBack(ended.consent)).status).toBe(200);
    expect((await statusOf(ended.id)).status).toBe("withdrawn");
    const given = { definition_id: needed.id, evidence: EVIDENCE };
    const late = await needy.agent("POST", `/agent/applications/${ended.id}/consents`, given);
    expect([late.status, late.body.error]).toEqual([
      409,
      `Cannot grant the consent: application ${ended.id} is withdrawn`,
    ]);
  });

  test("is not missed while another one of the code holds", async () => {
    const malay = await publish(needy, { code: "bureau", locale: "ms" });
    const { id, consent } = await submitted();
    const evidence = { ...EVIDENCE, captured_at: "2026-03-12T12:00:00Z" };
    const given = { definition_id: malay.id, evidence };
    const other = await idOf(needy.agent("POST", `/agent/applications/${id}/consents`, given));
    expect((await takeBack(consent)).status).toBe(200);
    expect((await statusOf(id)).status).toBe("submitted");
    expect((await takeBack(other)).status).toBe(200);
    expect(await statusOf(id)).toEqual(LACKS);
  });
});

test("another environment, company or agent finds nothing", async () => {
  const company = { ...service, api: await service.signIn(service.admin_email) };
  const definition = await publish(loans);
  const id = await loans.apply();
  const evidence = { ...EVIDENCE, captured_at: "2026-03-12T11:00:00Z" };
  const consent = await idOf(grant(id, definition.id, evidence));
  const staging = await openBorrowing(service, company, { environment: "staging" });
  const foreign = await openBorrowing(service, await service.addTenant());
  const rival = await addMachine(service, company, "agent");
  for (const { lender, agent } of [staging, foreign, { lender: null, agent: rival.api }]) {
    for (const [method, path, body] of [
      ["GET", `/lender/consent-definitions/${definition.id}`],
      ["PUT", `/lender/consent-definitions/${definition.id}`, TEXT],
      ["POST", `/lender/consent-definitions/${definition.id}/publish`],
      ["POST", `/lender/consent-definitions/${definition.id}/retire`],
      ["POST", `/lender/consent-definitions/${definition.id}/versions`, {}],
      ["GET", `/lender/applications/${id}/consents`],
    ] as const) {
      if (lender) expect([path, (await lender(method, path, body)).status]).toEqual([path, 404]);
    }
    if (lender) {
      expect((await agent("GET", "/agent/consent-definitions")).body.data).toEqual([]);
      expect((await lender("GET", "/lender/consent-definitions")).body.data).toEqual([]);
    }
    expect((await agent("GET", `/agent/applications/${id}/consents`)).status).toBe(404);
    const given = { definition_id: definition.id, evidence };
    expect((await agent("POST", `/agent/applications/${id}/consents`, given)).status).toBe(404);
    expect((await agent("POST", `/agent/consents/${consent}/revoke`)).status).toBe(404);
  }
  expect((await consentsOf(id)).map(({ status }) => status)).toEqual(["granted"]);
});
