import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { JOBS, runJob } from "../../../src/jobs.ts";
import { type Answer, type House, type Json, startHouse, TestClock } from "../../harness.ts";
import { addMachine } from "../api_keys/machine.ts";
import { idOf, type Borrowing, openBorrowing } from "../loan_documents/loans.ts";

const clock = new TestClock("2026-03-10T12:00:00Z");
let house: House;
let loans: Borrowing;

beforeAll(async () => {
  house = await startHouse({ clock });
  loans = await openBorrowing(house, house);
});
afterAll(() => house.stop());

const EVIDENCE = { method: "checkbox", captured_at: "2026-03-10T11:59:00Z" };
const TEXT = {
  title: "Credit bureau check",
  purpose_text: "To assess your application",
  data_text: "Your records with the bureau",
  data_categories: ["credit", "identity"],
  audience: "CTOS",
  data_life_days: 2_555,
  validity_days: 365,
};
let codes = 0;
const newCode = () => `code_${++codes}`;

const define = (change: object = {}, { lender } = loans): Promise<Answer> =>
  lender("POST", "/lender/consent-definitions", { code: newCode(), locale: "en", ...TEXT, ...change });

/** A definition that agents may ask for. */
async function published(change: object = {}, to: Borrowing = loans): Promise<Json> {
  const id = await idOf(define(change, to));
  return (await to.lender("POST", `/lender/consent-definitions/${id}/publish`)).body.data;
}

const grant = (application_id: number, definition_id: number, evidence: object = EVIDENCE) =>
  loans.agent("POST", `/agent/applications/${application_id}/consents`, { definition_id, evidence });

const revoke = (id: number, body: object = {}) => loans.agent("POST", `/agent/consents/${id}/revoke`, body);

async function consentsOf(id: number): Promise<Json[]> {
  return (await loans.lender("GET", `/lender/applications/${id}/consents`)).body.data;
}

/** The events of a type, as [type, id, status]. */
async function told(type: string): Promise<[string, number, string][]> {
  const api = await house.signIn(house.admin_email);
  const { body } = await api("GET", `/events?type=${type}&limit=200`);
  return body.data.toReversed().map(({ type, data }: Json) => [type, data.id, data.status]);
}

describe("definitions", () => {
  test("a draft is edited, published, retired by its next version, and never changed again", async () => {
    const api = loans.lender;
    const code = newCode();
    const created = await define({ code, locale: "MS-my" });
    expect([created.status, created.body.data]).toEqual([
      201,
      {
        ...TEXT,
        id: expect.any(Number),
        environment: "production",
        code,
        version: 1,
        locale: "ms-MY",
        text_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        status: "draft",
        published_at: null,
        retired_at: null,
        created_at: "2026-03-10T12:00:00.000Z",
        updated_at: "2026-03-10T12:00:00.000Z",
      },
    ]);
    const first = created.body.data;
    const path = `/lender/consent-definitions/${first.id}`;
    const edited = (await api("PUT", path, { ...TEXT, title: "Bureau", validity_days: null })).body.data;
    expect(edited).toMatchObject({ title: "Bureau", validity_days: null, version: 1, status: "draft" });
    expect(edited.text_sha256).not.toBe(first.text_sha256);
    expect((await api("PUT", path, { ...TEXT, code, locale: "ms-MY" })).body.data.text_sha256).toBe(
      first.text_sha256,
    );
    const one = (await api("POST", `${path}/publish`)).body.data;
    expect(one).toMatchObject({ status: "published", published_at: "2026-03-10T12:00:00.000Z" });
    for (const [method, suffix, body] of [
      ["PUT", "", TEXT],
      ["POST", "/publish", undefined],
    ] as const) {
      expect((await api(method, path + suffix, body)).status).toBe(409);
    }
    const next = await api("POST", `${path}/versions`, { title: "Bureau check, again" });
    expect([next.status, next.body.data.version, next.body.data.status]).toEqual([201, 2, "draft"]);
    expect((await api("GET", path)).body.data).toEqual(one);
    const second = `/lender/consent-definitions/${next.body.data.id}`;
    expect((await api("POST", `${second}/publish`)).body.data.status).toBe("published");
    expect((await api("GET", path)).body.data).toMatchObject({
      ...TEXT,
      status: "retired",
      retired_at: "2026-03-10T12:00:00.000Z",
      text_sha256: one.text_sha256,
    });
    const listed = (await loans.agent("GET", `/agent/consent-definitions?code=${code}`)).body.data;
    expect(listed.map(({ version }: Json) => version)).toEqual([2]);
    const all = (await api("GET", `/lender/consent-definitions?code=${code}`)).body.data;
    expect(all.map(({ version, status }: Json) => [version, status])).toEqual([
      [2, "published"],
      [1, "retired"],
    ]);
    expect((await api("GET", `/lender/consent-definitions?code=${code}&status=draft`)).body.data).toEqual([]);
    expect((await api("POST", `${second}/retire`)).body.data.status).toBe("retired");
    expect((await api("POST", `${second}/retire`)).status).toBe(409);
    expect((await loans.agent("GET", `/agent/consent-definitions?code=${code}`)).body.data).toEqual([]);
  });

  test("of two versions published at once one is published in the end, in each language", async () => {
    const api = loans.lender;
    const code = newCode();
    const malay = await published({ code, locale: "ms" });
    const { id } = await published({ code });
    const drafts = await Promise.all(
      Array.from({ length: 6 }, () => api("POST", `/lender/consent-definitions/${id}/versions`, {})),
    );
    expect(drafts.map(({ body }) => body.data.version).toSorted()).toEqual([2, 3, 4, 5, 6, 7]);
    await Promise.all(
      drafts.map(({ body }) => api("POST", `/lender/consent-definitions/${body.data.id}/publish`)),
    );
    const listed = (await loans.agent("GET", `/agent/consent-definitions?code=${code}`)).body.data;
    expect(listed.map(({ locale }: Json) => locale)).toEqual(["en", "ms"]);
    expect(listed[1].id).toBe(malay.id);
  });

  test.each([
    [{ code: "" }, "/code"],
    [{ code: "a b" }, "/code"],
    [{ code: "../x" }, "/code"],
    [{ locale: "english please" }, "/locale"],
    [{ locale: "" }, "/locale"],
    [{ title: "  " }, "/title"],
    [{ title: "x".repeat(201) }, "/title"],
    [{ title: undefined }, "/title"],
    [{ purpose_text: 7 }, "/purpose_text"],
    [{ purpose_text: "x".repeat(10_001) }, "/purpose_text"],
    [{ data_text: undefined }, "/data_text"],
    [{ data_text: "a\0b" }, "/data_text"],
    [{ data_categories: "credit" }, "/data_categories"],
    [{ data_categories: ["credit", "credit"] }, "/data_categories"],
    [{ data_categories: [""] }, "/data_categories/0"],
    [{ data_categories: Array.from({ length: 51 }, (_, i) => `c${i}`) }, "/data_categories"],
    [{ audience: "x".repeat(101) }, "/audience"],
    [{ validity_days: 0 }, "/validity_days"],
    [{ validity_days: 1.5 }, "/validity_days"],
    [{ validity_days: "365" }, "/validity_days"],
    [{ data_life_days: 36_526 }, "/data_life_days"],
    [{ status: "published" }, "/status"],
    [{ version: 3 }, "/version"],
    [{ environment: "staging" }, "/environment"],
    [{ company_id: 1 }, "/company_id"],
    [{ text_sha256: "0" }, "/text_sha256"],
  ])("%j is refused", async (change, path) => {
    const { status, body } = await define(change);
    expect([status, body.details?.[0]?.path]).toEqual([422, path]);
  });

  test("code and locale stay; what exists takes a new version", async () => {
    const api = loans.lender;
    const { id, code } = (await define()).body.data;
    const put = (change: object) => api("PUT", `/lender/consent-definitions/${id}`, { ...TEXT, ...change });
    expect((await put({ code: "another" })).body.details).toEqual([
      { path: "/code", message: `must stay ${code}` },
    ]);
    expect((await put({ locale: "ms" })).body.details).toEqual([
      { path: "/locale", message: "must stay en" },
    ]);
    expect((await api("PUT", `/lender/consent-definitions/${id}`, { title: "x" })).status).toBe(422);
    const again = await define({ code });
    expect([again.status, again.body.error]).toEqual([
      409,
      `Cannot create consent definition ${code}: it exists in en; make a new version of it`,
    ]);
    expect((await define({ code, locale: "ms" })).status).toBe(201);
    expect((await api("POST", `/lender/consent-definitions/${id}/retire`)).status).toBe(409);
    expect((await api("POST", `/lender/consent-definitions/${id}/versions`, { code: "x" })).status).toBe(422);
    expect((await api("GET", "/lender/consent-definitions/999999")).status).toBe(404);
  });
});

describe("consents", () => {
  test("who, what and how is kept, and told", async () => {
    const definition = await published();
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
      expires_at: "2027-03-10T12:00:00.000Z",
      revoked_at: null,
      revoke_reason: null,
      created_at: "2026-03-10T12:00:00.000Z",
      updated_at: "2026-03-10T12:00:00.000Z",
    };
    expect([status, body.data]).toEqual([201, consent]);
    expect(await consentsOf(id)).toEqual([consent]);
    expect((await loans.agent("GET", `/agent/applications/${id}/consents`)).body.data).toEqual([consent]);
    expect((await told("consent.granted")).at(-1)).toEqual(["consent.granted", body.data.id, "granted"]);
    const again = await grant(id, definition.id);
    expect([again.status, again.body.error]).toEqual([
      409,
      `Cannot grant the consent: it is granted already, as consent ${body.data.id}`,
    ]);
  });

  test("of ten at once one is granted", async () => {
    const definition = await published();
    const id = await loans.apply();
    const answers = await Promise.all(Array.from({ length: 10 }, () => grant(id, definition.id)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array(9).fill(409)]);
    expect(await consentsOf(id)).toHaveLength(1);
  });

  test("only what is published now can be consented to", async () => {
    const api = loans.lender;
    const id = await loans.apply();
    const draft = (await define()).body.data;
    const old = await published();
    const next = (await api("POST", `/lender/consent-definitions/${old.id}/versions`, {})).body.data;
    await api("POST", `/lender/consent-definitions/${next.id}/publish`);
    const retired = await published();
    await api("POST", `/lender/consent-definitions/${retired.id}/retire`);
    const foreign = await published({}, await openBorrowing(house, await house.addTenant()));
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
    [{ captured_at: "2026-03-10" }, "/evidence/captured_at"],
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
    const { id } = await published();
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
    const body = { definition_id: (await published()).id, evidence: EVIDENCE, ...change };
    const id = await loans.apply();
    const answer = await loans.agent("POST", `/agent/applications/${id}/consents`, body);
    expect([answer.status, answer.body.details?.[0]?.path]).toEqual([422, path]);
  });

  test("one is revoked once, with its reason, and may be granted again", async () => {
    const definition = await published();
    const id = await loans.apply();
    const first = await idOf(grant(id, definition.id));
    expect((await revoke(first, { reason: "" })).status).toBe(422);
    expect((await revoke(first, { note: "x" })).status).toBe(422);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => revoke(first, { reason: " Changed my mind " })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(5).fill(409)]);
    expect(answers.find(({ status }) => status === 200)?.body.data).toMatchObject({
      status: "revoked",
      revoked_at: "2026-03-10T12:00:00.000Z",
      revoke_reason: "Changed my mind",
    });
    const second = await idOf(grant(id, definition.id));
    expect((await consentsOf(id)).map(({ id, status }) => [id, status])).toEqual([
      [first, "revoked"],
      [second, "granted"],
    ]);
    expect((await revoke(999_999)).status).toBe(404);
  });

  test("they end with their time, which the job writes down once", async () => {
    const lasting = await published({ validity_days: null });
    const short = await published({ validity_days: 1 });
    const id = await loans.apply();
    const stays = await idOf(grant(id, lasting.id));
    const ends = await idOf(grant(id, short.id));
    const job = JOBS.find(({ name }) => name === "consent_expiry");
    if (!job) throw new Error("No such job");
    const mine = async () => (await told("consent.expired")).filter(([, consent]) => consent === ends);
    clock.set("2026-03-11T11:59:59.999Z");
    await runJob(house.deps, job);
    expect(await mine()).toEqual([]);
    clock.set("2026-03-11T12:00:00Z");
    const late = await revoke(ends);
    expect([late.status, late.body.error]).toEqual([409, `Cannot revoke consent ${ends}: it is expired`]);
    await Promise.all([runJob(house.deps, job), runJob(house.deps, job)]);
    await runJob(house.deps, job);
    expect(await mine()).toEqual([["consent.expired", ends, "expired"]]);
    expect((await consentsOf(id)).map(({ id, status }) => [id, status])).toEqual([
      [stays, "granted"],
      [ends, "expired"],
    ]);
  });

  test("one whose time has run out makes room for the next before the job has come", async () => {
    const { id: definition_id } = await published({ validity_days: 1 });
    const id = await loans.apply();
    const first = await idOf(grant(id, definition_id, { ...EVIDENCE, captured_at: "2026-03-11T12:00:00Z" }));
    clock.set("2026-03-12T12:00:00Z");
    const second = await idOf(grant(id, definition_id, { ...EVIDENCE, captured_at: "2026-03-12T12:00:00Z" }));
    expect((await consentsOf(id)).map(({ id, status }) => [id, status])).toEqual([
      [first, "expired"],
      [second, "granted"],
    ]);
  });
});

describe("a required consent that is taken back", () => {
  let needy: Borrowing;
  let needed: Json;

  beforeAll(async () => {
    const tenant = await house.addTenant();
    const setup = await openBorrowing(house, tenant, { code: "setup" });
    needed = await published({ code: "bureau" }, setup);
    needy = await openBorrowing(house, tenant, { required_consents: ["bureau"] });
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
    const malay = await published({ code: "bureau", locale: "ms" }, needy);
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
  const company = { ...house, api: await house.signIn(house.admin_email) };
  const definition = await published();
  const id = await loans.apply();
  const evidence = { ...EVIDENCE, captured_at: "2026-03-12T11:00:00Z" };
  const consent = await idOf(grant(id, definition.id, evidence));
  const staging = await openBorrowing(house, company, { environment: "staging" });
  const foreign = await openBorrowing(house, await house.addTenant());
  const rival = await addMachine(house, company, "agent");
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
