import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../../../src/store/limits.ts";
import { INSTANCES, type Answer, useService } from "../../support/harness.ts";
import { type Borrowing, filesOf, folderOf, JPEG, openBorrowing, PDF, PNG, send } from "./fixtures.ts";
import { beginUpload, BOUNDARY, chunk, HEAD, TAIL } from "./raw_upload.ts";

const service = useService();
let loans: Borrowing;
let token: string;
let id: number;

beforeAll(async () => {
  loans = await openBorrowing(service, service);
  token = await loans.token();
  id = await loans.apply();
});

const MIB = 1024 * 1024;
/** A file of so many bytes that begins like a PDF. */
function pdfOf(size: number): Uint8Array {
  const bytes = new Uint8Array(size).fill(120);
  bytes.set(Buffer.from("%PDF-1.7\n"));
  return bytes;
}

/** The uploads of a company that are under way, at whatever instance: their paths. */
const underWay = (company_id = service.company_id) =>
  service.instances
    .map((deps) => join(folderOf(service, company_id, deps), "incoming"))
    .flatMap((folder) => (existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []));

/** Waits until no upload is under way: what a broken connection leaves is removed when the server notices. */
async function settled(): Promise<string[]> {
  for (let i = 0; i < 200 && underWay().length > 0; i++) await Bun.sleep(10);
  return underWay();
}

const post = (body: FormData | string, headers: Record<string, string> = {}) =>
  send(service.url, token, id, { body, headers });

function formOf(parts: [string, string | Blob, string?][]): FormData {
  const form = new FormData();
  for (const [name, value, file_name] of parts) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, value, file_name);
  }
  return form;
}

const file = (bytes: string | Uint8Array, name = "a.pdf"): [string, Blob, string] => [
  "file",
  new Blob([bytes]),
  name,
];
const multipart = { "content-type": `multipart/form-data; boundary=${BOUNDARY}` };

describe("what is refused leaves nothing", () => {
  const zip = "PK\u0003\u0004";
  test.each<[string, () => Promise<Answer>, number, unknown]>([
    [
      "an .exe named .pdf",
      () => loans.upload(id, { bytes: "MZ\u0090 %PDF-1.7" }),
      415,
      "The file must be a PDF",
    ],
    ["a page of HTML", () => loans.upload(id, { bytes: "<html>%PDF-" }), 415, "The file must be a PDF"],
    ["a ZIP that ends as a PDF", () => loans.upload(id, { bytes: `${zip}${PDF}` }), 415, "The file must be"],
    [
      "a picture in SVG",
      () => loans.upload(id, { bytes: "<svg onload='x'/>" }),
      415,
      "The file must be a PDF",
    ],
    ["two bytes", () => loans.upload(id, { bytes: "%P" }), 415, "The file must be a PDF"],
    ["no bytes", () => loans.upload(id, { bytes: "" }), 422, "file must not be empty"],
    [
      "10 MiB and a byte",
      () => loans.upload(id, { bytes: pdfOf(10 * MIB + 1) }),
      413,
      "The file is over 10485760",
    ],
    [
      "an unknown type",
      () => loans.upload(id, { type: "selfie" }),
      422,
      "type must be one of ic_front, ic_back",
    ],
    ["no type", () => post(formOf([file(PDF)])), 422, "type is required"],
    ["no file", () => post(formOf([["type", "payslip"]])), 422, "file is required"],
    [
      "two files",
      () => post(formOf([["type", "payslip"], file(PDF), file(PDF)])),
      422,
      "file must be given once",
    ],
    [
      "two types",
      () => post(formOf([["type", "payslip"], ["type", "other"], file(PDF)])),
      422,
      "type must be given once",
    ],
    [
      "a field too many",
      () => post(formOf([["type", "payslip"], ["environment", "staging"], file(PDF)])),
      422,
      "environment is not a known field; known are type",
    ],
    [
      "a field called __proto__",
      () => post(formOf([["type", "payslip"], ["__proto__", "x"], file(PDF)])),
      422,
      "__proto__ is not a known field",
    ],
    [
      "a file as text",
      () =>
        post(
          formOf([
            ["type", "payslip"],
            ["file", PDF],
          ]),
        ),
      422,
      "file must be a file with a name",
    ],
    [
      "a name that can't be seen",
      () => loans.upload(id, { name: "\u202E\u200B" }),
      422,
      "file must have a name of visible characters",
    ],
    ["JSON", () => post("{}", { "content-type": "application/json" }), 415, "Cannot read application/json"],
    [
      "a type without a boundary",
      () => post(HEAD, { "content-type": "multipart/form-data" }),
      400,
      "must name a boundary",
    ],
    [
      "another boundary",
      () => post(`${HEAD}${PDF}`, { "content-type": "multipart/form-data; boundary=x" }),
      400,
      "cut off",
    ],
    ["half a body", () => post(`${HEAD}${PDF}`, multipart), 400, "The body was cut off"],
    ["half a header", () => post(HEAD.slice(0, -20), multipart), 400, "The body was cut off"],
    ["nothing", () => post("", multipart), 400, "The body was cut off"],
  ])("%s", async (_, sent, status, message) => {
    const before = (await loans.agent("GET", `/agent/applications/${id}/documents?limit=1`)).body;
    const answer = await sent();
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringContaining(String(message))]);
    expect(await settled()).toEqual([]);
    expect((await loans.agent("GET", `/agent/applications/${id}/documents?limit=1`)).body).toEqual(before);
  });

  test("an application that is not there", async () => {
    for (const path of [999_999, "x", "0"]) {
      const response = await fetch(`${service.url}/api/v1/agent/applications/${path}/documents`, {
        method: "POST",
        body: formOf([["type", "payslip"], file(PDF)]),
        headers: { authorization: `Bearer ${token}` },
      });
      expect(response.status).toBe(path === 999_999 ? 404 : 422);
    }
  });
});

describe("names", () => {
  const named = (disposition: string) =>
    post(
      `${HEAD.replace('name="file"; filename="a.pdf"', `name="file"; ${disposition}`)}${PDF}${TAIL}`,
      multipart,
    );

  test.each([
    ['filename="../../etc/passwd"', "passwd"],
    ['filename="..\\\\..\\\\boot.ini"', "boot.ini"],
    ['filename="a\0b.pdf"', "ab.pdf"],
    ['filename="a%0Ab.pdf"', "a%0Ab.pdf"],
    ["filename*=UTF-8''%E2%80%AE%E5%A0%B1%2Epdf", "報.pdf"],
    ['filename="<script>.pdf"', "_script_.pdf"],
  ])("%j is kept as %j", async (disposition, kept) => {
    const { status, body } = await named(disposition);
    expect([status, body.data?.file_name]).toEqual([201, kept]);
  });

  test.each(['filename="a\nb.pdf"', "filename*=UTF-8''a%0Ab.pdf"])(
    "%j is cleaned or refused",
    async (bad) => {
      const { status, body } = await named(bad);
      expect([201, 422]).toContain(status);
      expect(body.data?.file_name ?? "").not.toMatch(/\p{Cc}/u);
    },
  );
});

describe("size and speed", () => {
  test("10 MiB come in", async () => {
    const { status, body } = await loans.upload(id, { bytes: pdfOf(10 * MIB) });
    expect([status, body.data?.size]).toEqual([201, 10 * MIB]);
  });

  test("what has come in of many documents is on disk, not in memory", async () => {
    Bun.gc(true);
    const before = process.memoryUsage().arrayBuffers;
    const all = 14 * 9 * MIB;
    const uploads = await Promise.all(
      Array.from({ length: 14 }, () => beginUpload(service.url, token, id, 10 * MIB)),
    );
    for (const { write } of uploads) write(`${HEAD}${PDF}`);
    while (underWay().length < uploads.length) await Bun.sleep(5);
    const piece = new Uint8Array(128 * 1024);
    for (let at = 0; at < 9 * MIB; at += piece.byteLength) {
      for (const { write } of uploads) write(piece);
      await Bun.sleep(1);
    }
    const bytesIn = () => underWay().reduce((sum, name) => sum + statSync(name).size, 0);
    // A few bytes of each wait for the boundary that might begin with them.
    while (bytesIn() < all - MIB) await Bun.sleep(5);
    Bun.gc(true);
    // What the process holds now, this test's own pieces too.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(all / 10);
    for (const { cut } of uploads) cut();
    expect(await settled()).toEqual([]);
  });

  test("a body that says it is too long is refused before it comes", async () => {
    const { answer, cut } = await beginUpload(service.url, token, id, 11 * MIB);
    expect((await answer).status).toBe(413);
    cut();
  });

  test("one that says nothing is refused when it is too long, not when it ends", async () => {
    const upload = await beginUpload(service.url, token, id);
    upload.write(chunk(HEAD));
    upload.write(chunk("%PDF-1.7\n"));
    const answered: number[] = [];
    void upload.answer.then(
      ({ status }) => answered.push(status),
      () => undefined,
    );
    const piece = chunk(new Uint8Array(256 * 1024));
    for (let i = 0; i < 400 && answered.length === 0; i++) {
      upload.write(piece);
      await Bun.sleep(1);
    }
    expect(answered).toEqual([413]);
    expect(upload.sent()).toBeLessThan(60 * MIB);
    upload.cut();
    expect(await settled()).toEqual([]);
  });

  test("what can't be a document is refused at its beginning", async () => {
    const upload = await beginUpload(service.url, token, id, 9 * MIB);
    upload.write(`${HEAD}MZ this program can't be run in DOS mode`);
    expect((await upload.answer).status).toBe(415);
    upload.cut();
    expect(await settled()).toEqual([]);
  });

  test("a slow upload comes in", async () => {
    const body = Buffer.from(`${HEAD}${PDF}${TAIL}`);
    const upload = await beginUpload(service.url, token, id, body.byteLength);
    for (const byte of body) {
      upload.write(Uint8Array.of(byte));
      await Bun.sleep(1);
    }
    expect((await upload.answer).status).toBe(201);
    upload.cut();
  });

  test("a connection that breaks in the middle leaves nothing", async () => {
    const files = filesOf(service);
    const upload = await beginUpload(service.url, token, id, 5 * MIB);
    upload.write(`${HEAD}${PDF}`);
    while (underWay().length === 0) await Bun.sleep(5);
    upload.cut();
    expect(await settled()).toEqual([]);
    expect(filesOf(service)).toEqual(files);
  });

  test("only so many come in at once for a company; others have their own", async () => {
    const other = await service.addTenant();
    const tenant = await openBorrowing(service, other);
    const other_token = await tenant.token();
    const application_id = await tenant.apply();
    const most = LIMITS.document_uploads_company * INSTANCES;
    const stalled = await Promise.all(
      Array.from({ length: most }, async () => {
        const upload = await beginUpload(service.url, other_token, application_id, MIB);
        upload.write(`${HEAD}${PDF}`);
        return upload;
      }),
    );
    while (underWay(other.company_id).length < most) await Bun.sleep(5);
    const refused = await tenant.upload(application_id);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await loans.upload(id, { type: "passport", bytes: PNG })).status).toBe(201);
    for (const { cut } of stalled) cut();
    while (underWay(other.company_id).length > 0) await Bun.sleep(5);
    expect((await tenant.upload(application_id, { bytes: JPEG })).status).toBe(201);
  });
});
