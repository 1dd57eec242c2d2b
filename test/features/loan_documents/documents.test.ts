import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { checkFiles } from "../../../src/features/loan_documents/check.ts";
import { JOBS, runJob } from "../../../src/jobs.ts";
import { type House, type Json, startHouse, TestClock } from "../../harness.ts";
import { addMachine } from "../api_keys/machine.ts";
import { idOf, JPEG, type Borrowing, openBorrowing, PDF, PNG, upload } from "./loans.ts";

const clock = new TestClock("2026-03-10T12:00:00Z");
let house: House;
let loans: Borrowing;

beforeAll(async () => {
  house = await startHouse({ clock });
  loans = await openBorrowing(house, house);
});
afterAll(() => house.stop());

const sha256 = (bytes: string | Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
const folder = (company_id = house.company_id) =>
  join(house.deps.config.data_dir, "documents", String(company_id));

/** The files of a company's documents, those that come in too. */
function filesOf(company_id = house.company_id): string[] {
  return readdirSync(folder(company_id), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
}

async function sweep(): Promise<void> {
  const job = JOBS.find(({ name }) => name === "loan_documents");
  if (!job) throw new Error("No such job");
  expect(await runJob(house.deps, job)).toBe(true);
}

/** The company with its admin signed in at the time of the clock. */
const company = async () => ({ ...house, api: await house.signIn(house.admin_email) });

/** What was told last of a type. */
async function told(type: string): Promise<Json> {
  const { api } = await company();
  return (await api("GET", `/events?type=${type}&limit=1`)).body.data[0]?.data;
}

test("an upload is stored, told of, listed on both sides and sent back byte for byte", async () => {
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
  expect(await told("document.uploaded")).toEqual({
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
  const { token } = await addMachine(house, await company(), "lender");
  const response = await fetch(`${house.url}/api/v1/lender/documents/${body.data.id}/content`, {
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
    expect(await told("document.verified")).toMatchObject({ id: first, status: "verified" });
    const second = await uploaded();
    const reason = { reason_code: "blurry", note: "Page 2 can't be read" };
    const rejected = await api("POST", `/lender/documents/${second}/reject`, reason);
    expect(rejected.body.data).toMatchObject({ status: "rejected", ...reason });
    expect(await told("document.rejected")).toMatchObject({ id: second, reason_code: "blurry" });
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
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(409)]);
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
    expect(filesOf().filter((name) => name === sha256(bytes))).toHaveLength(1);
  });

  test("the 51st is refused, also of two at once, and leaves no file", async () => {
    const id = await loans.apply();
    const slips = Array.from({ length: 49 }, (_, i) => `${PDF} slip ${i}`);
    for (const bytes of slips) expect((await loans.upload(id, { bytes })).status).toBe(201);
    const last = [`${PDF} fifty`, `${PDF} fifty-one`];
    const answers = await Promise.all(last.map((bytes) => loans.upload(id, { bytes })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409]);
    expect(answers.find(({ status }) => status === 409)?.body.error).toBe(
      `Cannot add a document to application ${id}: it has 50 already`,
    );
    expect(filesOf().filter((name) => last.map(sha256).includes(name))).toHaveLength(1);
  });
});

describe("deletion", () => {
  test("a file goes with the last document that has its content", async () => {
    const api = loans.agent;
    const bytes = `${PDF} twice`;
    const [one, two] = [await loans.apply(), await loans.apply()];
    const first = (await loans.upload(one, { bytes })).body.data.id;
    const second = (await loans.upload(two, { bytes })).body.data.id;
    expect((await api("DELETE", `/agent/documents/${first}`)).body).toEqual({ data: {} });
    expect((await api("DELETE", `/agent/documents/${first}`)).status).toBe(404);
    expect(filesOf()).toContain(sha256(bytes));
    expect((await api("DELETE", `/agent/documents/${second}`)).status).toBe(200);
    expect(filesOf()).not.toContain(sha256(bytes));
  });

  test("while others upload and delete the same content, what is there has its file", async () => {
    const bytes = `${PDF} contended`;
    const ids = await Promise.all(Array.from({ length: 8 }, () => loans.apply()));
    const keepers = await Promise.all(
      ids.map(async (id, i) => {
        for (let round = 0; round < 6; round++) {
          const document = (await loans.upload(id, { bytes })).body.data.id;
          if (i < 7 || round < 5) await loans.agent("DELETE", `/agent/documents/${document}`);
        }
        return id;
      }),
    );
    expect(keepers).toHaveLength(8);
    expect(filesOf()).toContain(sha256(bytes));
  });

  test("what is verified stays, and what an application that is with the lender rests on", async () => {
    const { agent, lender } = loans;
    const id = await loans.apply();
    const verified = (await loans.upload(id)).body.data.id;
    await lender("POST", `/lender/documents/${verified}/verify`);
    const answer = await agent("DELETE", `/agent/documents/${verified}`);
    expect([answer.status, answer.body.error]).toEqual([
      409,
      `Cannot delete document ${verified}: it is verified`,
    ]);
    const other = (await loans.upload(id, { type: "other" })).body.data.id;
    await idOf(agent("POST", `/agent/applications/${id}/submit`));
    const refused = await agent("DELETE", `/agent/documents/${other}`);
    expect([refused.status, refused.body.error]).toEqual([
      409,
      `Cannot delete document ${other}: its application is submitted`,
    ]);
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

describe("retention", () => {
  test("documents go 90 days after their application came to nothing, others stay", async () => {
    clock.set("2026-04-01T00:00:00Z");
    const [ended, open, deleted] = [await loans.apply(), await loans.apply(), await loans.apply()];
    const contents = ["ended", "open", "deleted"].map((word) => `${PDF} ${word} 2026`);
    for (const [i, id] of [ended, open, deleted].entries()) {
      expect((await loans.upload(id, { bytes: contents[i] ?? "" })).status).toBe(201);
    }
    const api = loans.agent;
    await idOf(api("POST", `/agent/applications/${ended}/submit`));
    await idOf(api("POST", `/agent/applications/${ended}/withdraw`));
    expect((await api("DELETE", `/agent/applications/${deleted}`)).status).toBe(200);
    const count = async (id: number) =>
      (await loans.lender("GET", `/lender/applications/${id}/documents?limit=1`)).body.meta?.total;
    clock.set("2026-06-29T23:59:59Z");
    await sweep();
    expect([await count(ended), await count(open)]).toEqual([1, 1]);
    clock.set("2026-06-30T00:00:00Z");
    await sweep();
    expect([await count(ended), await count(open)]).toEqual([0, 1]);
    expect(contents.map((bytes) => filesOf().includes(sha256(bytes)))).toEqual([false, true, false]);
  });

  test("lost files go when they are an hour old; what documents have stays", async () => {
    clock.set("2026-07-01T12:00:00Z");
    const id = await loans.apply();
    const bytes = `${PDF} kept`;
    await loans.upload(id, { bytes });
    const lost = sha256("lost");
    const places = [
      join(folder(), lost.slice(0, 2), lost),
      join(folder(), "incoming", "half"),
      join(folder(), sha256("young").slice(0, 2), sha256("young")),
      join(folder(), sha256(bytes).slice(0, 2), sha256(bytes)),
    ];
    for (const place of places) if (!place.endsWith(sha256(bytes))) await Bun.write(place, "x");
    const age = [
      "2026-07-01T10:59:59Z",
      "2026-07-01T10:59:59Z",
      "2026-07-01T11:30:00Z",
      "2026-01-01T00:00:00Z",
    ];
    for (const [i, place] of places.entries()) {
      const time = new Date(age[i] ?? "");
      utimesSync(place, time, time);
    }
    await sweep();
    const there = places.map((place) => statSync(place, { throwIfNoEntry: false }) !== undefined);
    expect(there).toEqual([false, false, true, true]);
  });
});

test("what doctor looks at: files that are gone, of another size or with other bytes", async () => {
  const { deps } = house;
  const check = (reads_bytes: boolean) => checkFiles(deps.store.read, deps.documents, { reads_bytes });
  const id = await loans.apply();
  const places: string[] = [];
  const ids: number[] = [];
  for (const [type, word] of [
    ["payslip", "gone"],
    ["passport", "short"],
    ["other", "other"],
  ] as const) {
    const { body } = await loans.upload(id, { type, bytes: `${PDF}${word}` });
    ids.push(body.data.id);
    places.push(join(folder(), body.data.sha256.slice(0, 2), body.data.sha256));
  }
  const { documents, broken } = await check(true);
  expect([documents > 3, broken]).toEqual([true, 0]);
  const [gone = "", short = "", other = ""] = places;
  await Bun.file(gone).delete();
  await Bun.write(short, "%PDF-");
  await Bun.write(other, `${PDF}OTHER`);
  const two = [
    `document ${ids[0]} is missing`,
    `document ${ids[1]} has 5 bytes instead of ${PDF.length + 5}`,
  ];
  expect(await check(false)).toEqual({ documents, broken: 2, problems: two });
  expect(await check(true)).toEqual({
    documents,
    broken: 3,
    problems: [...two, `document ${ids[2]} has other bytes than were stored`],
  });
  expect((await loans.lender("GET", `/lender/documents/${ids[0]}/content`)).status).toBe(500);
  for (const document of ids) await loans.agent("DELETE", `/agent/documents/${document}`);
  expect((await check(true)).broken).toBe(0);
});

describe("walls", () => {
  test("another environment, company or agent finds nothing", async () => {
    const id = await loans.apply();
    const document = (await loans.upload(id)).body.data.id;
    const staging = await openBorrowing(house, await company(), { environment: "staging" });
    const tenant = await house.addTenant();
    const foreign = await openBorrowing(house, tenant);
    const rival = await addMachine(house, await company(), "agent");
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
      expect((await upload(house, token, id)).status).toBe(404);
    }
    const mine = await foreign.apply();
    expect((await foreign.upload(mine)).status).toBe(201);
    expect(filesOf(tenant.company_id)).toEqual([sha256(PDF)]);
    const { body } = await loans.lender("GET", `/lender/applications/${id}/documents`);
    expect(body.data.map(({ id, status }: Json) => [id, status])).toEqual([[document, "pending_review"]]);
  });

  test("each side stays on its paths", async () => {
    const user = await house.signIn(house.admin_email);
    const { agent, lender } = loans;
    const id = await loans.apply();
    const document = (await loans.upload(id)).body.data.id;
    expect((await agent("GET", `/lender/documents/${document}/content`)).status).toBe(403);
    expect((await lender("DELETE", `/agent/documents/${document}`)).status).toBe(403);
    const lending = await addMachine(house, await company(), "lender");
    expect((await upload(house, lending.token, id)).status).toBe(403);
    expect((await user("GET", `/lender/documents/${document}`)).status).toBe(403);
    expect((await house.anonymous("GET", `/lender/documents/${document}`)).status).toBe(401);
    expect((await upload(house, "none", id)).status).toBe(401);
  });
});
