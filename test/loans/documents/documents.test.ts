import { beforeAll, describe, expect, test } from "bun:test";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { addMachine } from "../../access/api_keys/fixtures.ts";
import {
  type Borrowing,
  filesOf,
  idOf,
  JPEG,
  openBorrowing,
  PDF,
  PNG,
  sha256,
  tally,
  upload,
} from "./fixtures.ts";

const clock = new TestClock("2026-03-10T12:00:00Z");
const service = useService({ clock });
let loans: Borrowing;

beforeAll(async () => {
  loans = await openBorrowing(service);
});

/** The company with its admin signed in at the time of the clock. */
const company = async () => ({ ...service, api: await service.signIn(service.admin_email) });

/** What was told last of a type. */
async function documentEvents(type: string): Promise<Json> {
  const { api } = await company();
  return (await api("GET", `/events?type=${type}&limit=1`)).body.data[0]?.data;
}

test("an upload is stored, has its event, is listed on both sides and sent back byte for byte", async () => {
  const { agent, lender } = loans;
  const id = await loans.apply();
  const { status, body } = await loans.upload(id, { name: "slip gaji.pdf" });
  expect(status).toBe(201);
  const document = {
    id: expect.any(Number),
    environment: "production",
    application_id: id,
    type: "payslip",
    file_name: "slip gaji.pdf",
    content_type: "application/pdf",
    size: PDF.length,
    sha256: sha256(PDF),
    status: "pending_review",
    reason_code: null,
    note: null,
    reviewed_at: null,
    uploaded_by: loans.agent_key.clientId,
    created_at: "2026-03-10T12:00:00.000Z",
    updated_at: "2026-03-10T12:00:00.000Z",
  };
  expect(body.data).toEqual(document);
  const document_id = body.data.id;
  expect(await documentEvents("document.uploaded")).toEqual({
    id: document_id,
    application_id: id,
    type: "payslip",
    status: "pending_review",
    reason_code: null,
    environment: "production",
  });
  for (const [api, path] of [
    [agent, `/agent/applications/${id}/documents`],
    [lender, `/lender/applications/${id}/documents`],
  ] as const) {
    expect((await api("GET", path)).body).toEqual({ data: [document] });
    expect((await api("GET", `${path}?limit=1&page=2`)).body).toEqual({
      data: [],
      meta: { page: 2, limit: 1, total: 1, total_pages: 1 },
    });
  }
  expect((await lender("GET", `/lender/documents/${document_id}`)).body.data).toEqual(document);
  const content = await lender("GET", `/lender/documents/${document_id}/content`);
  expect([content.status, content.body]).toEqual([200, PDF]);
  expect(Object.fromEntries(content.headers)).toMatchObject({
    "content-type": "application/pdf",
    "content-disposition": 'attachment; filename="slip gaji.pdf"',
    "x-content-type-options": "nosniff",
    "cache-control": "private, no-store",
    "content-security-policy": "default-src 'none'; sandbox",
  });
});

test.each([
  ["scan.png", PNG, "image/png", 'attachment; filename="scan.png"'],
  ["photo.JPG", JPEG, "image/jpeg", 'attachment; filename="photo.JPG"'],
  ["malware.exe", PDF, "application/pdf", 'attachment; filename="malware.exe.pdf"'],
  [
    "報告 é'(1).pdf",
    PDF,
    "application/pdf",
    `attachment; filename="__ e'(1).pdf"; filename*=UTF-8''%E5%A0%B1%E5%91%8A%20%C3%A9%27%281%29.pdf`,
  ],
  ["../../etc/passwd", PDF, "application/pdf", 'attachment; filename="passwd.pdf"'],
])("%s is sent as what its bytes are", async (name, bytes, type, disposition) => {
  const id = await loans.apply();
  const { body } = await loans.upload(id, { name, bytes });
  expect(body.data.content_type).toBe(type);
  const { token } = await addMachine(service, await company(), "lender");
  const response = await fetch(`${service.url}/api/v1/lender/documents/${body.data.id}/content`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.headers.get("content-type")).toBe(type);
  expect(response.headers.get("content-disposition")).toBe(disposition);
  expect(sha256(await response.bytes())).toBe(sha256(bytes));
});

describe("reviews", () => {
  async function uploaded(): Promise<number> {
    return (await loans.upload(await loans.apply())).body.data.id;
  }

  test("verify and reject tell what was found, once", async () => {
    const first = await uploaded();
    clock.set("2026-03-11T12:00:00Z");
    const api = loans.lender;
    const verified = (await api("POST", `/lender/documents/${first}/verify`)).body.data;
    expect(verified).toMatchObject({
      status: "verified",
      reason_code: null,
      reviewed_at: "2026-03-11T12:00:00.000Z",
    });
    expect(await documentEvents("document.verified")).toMatchObject({ id: first, status: "verified" });
    const second = await uploaded();
    const reason = { reason_code: "blurry", note: "Page 2 can't be read" };
    const rejected = await api("POST", `/lender/documents/${second}/reject`, reason);
    expect(rejected.body.data).toMatchObject({ status: "rejected", ...reason });
    expect(await documentEvents("document.rejected")).toMatchObject({ id: second, reason_code: "blurry" });
    for (const id of [first, second]) {
      expect((await api("POST", `/lender/documents/${id}/verify`)).status).toBe(409);
      expect((await api("POST", `/lender/documents/${id}/reject`, reason)).status).toBe(409);
    }
  });

  test("of twenty at once one is taken", async () => {
    const api = loans.lender;
    const id = await uploaded();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        i % 2 === 0
          ? api("POST", `/lender/documents/${id}/verify`)
          : api("POST", `/lender/documents/${id}/reject`, { reason_code: "other" }),
      ),
    );
    expect(tally(answers)).toEqual({ 200: 1, 409: 19 });
  });

  test.each([
    [{}, "/reason_code", "is required"],
    [{ reason_code: "ugly" }, "/reason_code", "must be one of blurry, expired, wrong_type"],
    [{ reason_code: "other", status: "verified" }, "/status", "is not a known field"],
    [{ reason_code: "other", note: "x".repeat(501) }, "/note", "must be at most 500 characters"],
    [{ reason_code: "other", environment: "staging" }, "/environment", "is not a known field"],
  ])("%j is refused", async (body, path, message) => {
    const id = await uploaded();
    const answer = await loans.lender("POST", `/lender/documents/${id}/reject`, body);
    expect(answer.status).toBe(422);
    expect(answer.body.details).toEqual([{ path, message: expect.stringContaining(message) }]);
  });
});

describe("one document of a type is current", () => {
  test("the next supersedes the one before, whatever was said of it", async () => {
    const { lender } = loans;
    const id = await loans.apply();
    const first = (await loans.upload(id)).body.data.id;
    await lender("POST", `/lender/documents/${first}/reject`, { reason_code: "expired" });
    await loans.upload(id, { bytes: `${PDF}2` });
    await loans.upload(id, { type: "ic_front", bytes: PNG });
    const { body } = await lender("GET", `/lender/applications/${id}/documents`);
    expect(body.data.map(({ type, status, reason_code }: Json) => [type, status, reason_code])).toEqual([
      ["payslip", "superseded", "expired"],
      ["payslip", "pending_review", null],
      ["ic_front", "pending_review", null],
    ]);
    expect((await lender("POST", `/lender/documents/${first}/verify`)).status).toBe(409);
  });

  test("of many at once too, and equal ones are one file", async () => {
    const id = await loans.apply();
    const bytes = `${PDF} at once`;
    const answers = await Promise.all(Array.from({ length: 10 }, () => loans.upload(id, { bytes })));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
    const { body } = await loans.agent("GET", `/agent/applications/${id}/documents`);
    const statuses = body.data.map(({ status }: Json) => status);
    expect(statuses).toEqual([...Array(9).fill("superseded"), "pending_review"]);
    expect(filesOf(service).filter((name) => name === sha256(bytes))).toHaveLength(1);
  });

  test("the 51st is refused, also of two at once, and leaves no file", async () => {
    const id = await loans.apply();
    const slips = Array.from({ length: 49 }, (_, i) => `${PDF} slip ${i}`);
    for (const bytes of slips) expect((await loans.upload(id, { bytes })).status).toBe(201);
    const last = [`${PDF} fifty`, `${PDF} fifty-one`];
    const answers = await Promise.all(last.map((bytes) => loans.upload(id, { bytes })));
    expect(tally(answers)).toEqual({ 201: 1, 409: 1 });
    expect(answers.find(({ status }) => status === 409)?.body.error).toBe(
      `Cannot add a document to application ${id}: it has 50 already`,
    );
    expect(filesOf(service).filter((name) => last.map(sha256).includes(name))).toHaveLength(1);
  });
});

test("an application that has come to its end takes neither documents nor reviews", async () => {
  const { agent, lender } = loans;
  const id = await loans.apply();
  const document = (await loans.upload(id)).body.data.id;
  await idOf(agent("POST", `/agent/applications/${id}/submit`));
  expect((await loans.upload(id, { type: "other" })).status).toBe(201);
  await idOf(agent("POST", `/agent/applications/${id}/withdraw`));
  const refused = await loans.upload(id);
  expect([refused.status, refused.body.error]).toEqual([
    409,
    `Cannot add a document to application ${id}: it is withdrawn`,
  ]);
  expect((await lender("POST", `/lender/documents/${document}/verify`)).status).toBe(409);
});

test("one whose time has run out takes none, also before that is written down", async () => {
  const id = await loans.apply();
  const document = (await loans.upload(id)).body.data.id;
  clock.set("2026-06-20T12:00:00Z");
  const refused = await loans.upload(id);
  expect([refused.status, refused.body.error]).toEqual([
    409,
    `Cannot add a document to application ${id}: it is expired`,
  ]);
  expect((await loans.lender("POST", `/lender/documents/${document}/verify`)).status).toBe(409);
  expect((await loans.agent("DELETE", `/agent/documents/${document}`)).status).toBe(409);
});

describe("walls", () => {
  test("another environment, company or agent finds nothing", async () => {
    const id = await loans.apply();
    const document = (await loans.upload(id)).body.data.id;
    const staging = await openBorrowing(service, await company(), { environment: "staging" });
    const tenant = await service.addTenant();
    const foreign = await openBorrowing(service, tenant);
    const rival = await addMachine(service, await company(), "agent");
    const others = [
      { lender: staging.lender, agent: staging.agent, token: await staging.token() },
      { lender: foreign.lender, agent: foreign.agent, token: await foreign.token() },
      { lender: null, agent: rival.api, token: rival.token },
    ];
    for (const { lender, agent, token } of others) {
      for (const [method, path, body] of [
        ["GET", `/lender/applications/${id}/documents`],
        ["GET", `/lender/documents/${document}`],
        ["GET", `/lender/documents/${document}/content`],
        ["POST", `/lender/documents/${document}/verify`],
        ["POST", `/lender/documents/${document}/reject`, { reason_code: "other" }],
      ] as const) {
        if (lender) expect([path, (await lender(method, path, body)).status]).toEqual([path, 404]);
      }
      expect((await agent("GET", `/agent/applications/${id}/documents`)).status).toBe(404);
      expect((await agent("DELETE", `/agent/documents/${document}`)).status).toBe(404);
      expect((await upload(service, token, id)).status).toBe(404);
    }
    const mine = await foreign.apply();
    expect((await foreign.upload(mine)).status).toBe(201);
    expect(filesOf(service, tenant.company_id)).toEqual([sha256(PDF)]);
    const { body } = await loans.lender("GET", `/lender/applications/${id}/documents`);
    expect(body.data.map((one: Json) => [one.id, one.status])).toEqual([[document, "pending_review"]]);
  });

  test("each side stays on its paths", async () => {
    const user = await service.signIn(service.admin_email);
    const { agent, lender } = loans;
    const id = await loans.apply();
    const document = (await loans.upload(id)).body.data.id;
    expect((await agent("GET", `/lender/documents/${document}/content`)).status).toBe(403);
    expect((await lender("DELETE", `/agent/documents/${document}`)).status).toBe(403);
    const lending = await addMachine(service, await company(), "lender");
    expect((await upload(service, lending.token, id)).status).toBe(403);
    expect((await user("GET", `/lender/documents/${document}`)).status).toBe(403);
    expect((await service.anonymous("GET", `/lender/documents/${document}`)).status).toBe(401);
    expect((await upload(service, "none", id)).status).toBe(401);
  });
});
