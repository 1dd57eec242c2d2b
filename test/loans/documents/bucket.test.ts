import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { inArray } from "drizzle-orm";
import { BlobFolder } from "../../../src/store/blob_folder.ts";
import { checkFiles } from "../../../src/loans/documents/file_check.ts";
import { loanDocumentTable } from "../../../src/loans/documents/tables.ts";
import { flipBit } from "../../support/flip_bits.ts";
import { type Service, startService, TestClock } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { type S3Server, startS3 } from "../../support/s3_server.ts";
import { type Borrowing, filesOf, folderOf, openBorrowing, PDF, sha256, tally } from "./fixtures.ts";

// Documents in a bucket, which several instances share.

const clock = new TestClock("2026-03-10T12:00:00Z");
let s3: S3Server;
let service: Service;
let loans: Borrowing;

beforeAll(async () => {
  s3 = startS3();
  service = await startService({
    clock,
    env: {
      DOCUMENTS_URL: `s3://bucket/live/files?region=eu-central-1&endpoint=${s3.url}`,
      AWS_ACCESS_KEY_ID: "the-key",
      AWS_SECRET_ACCESS_KEY: "the-secret",
    },
  });
  loans = await openBorrowing(service);
});
afterAll(async () => {
  await service.stop();
  await s3.stop();
});
afterEach(() => {
  s3.is_gone = false;
  s3.onWrite = () => undefined;
  s3.onRead = () => undefined;
});

const prefix = () => `live/files/${service.company_id}/`;
/** The objects of a content, by their keys. */
const objectsOf = (bytes: string) =>
  [...s3.objects.keys()].filter((key) => key.startsWith(`${prefix()}${sha256(bytes)}/`));
const download = (id: number) => loans.lender("GET", `/lender/documents/${id}/content`);
const uploaded = async (bytes: string, application_id?: number): Promise<number> => {
  const { status, body } = await loans.upload(application_id ?? (await loans.apply()), { bytes });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.data.id;
};
const sweep = () => runNamedJob(service, "loan_documents");
const check = (reads_bytes: boolean) =>
  checkFiles(service.deps.store.read, service.deps.documents, { reads_bytes });

test("an upload is an object of its own, comes back byte for byte, and leaves nothing on disk", async () => {
  const bytes = `${PDF} in a bucket`;
  const [first, second] = [await uploaded(bytes), await uploaded(bytes)];
  const objects = objectsOf(bytes);
  expect(objects).toHaveLength(2);
  expect(objects[0]).toMatch(new RegExp(`^${prefix()}[0-9a-f]{64}/[0-9a-f-]{36}$`));
  for (const id of [first, second]) {
    const { status, body, headers } = await download(id);
    expect([status, body, headers.get("content-type")]).toEqual([200, bytes, "application/pdf"]);
  }
  expect(filesOf(service)).toEqual([]);
  const { body } = await loans.lender("GET", `/lender/documents/${first}`);
  expect(Object.keys(body.data)).not.toContain("object_id");
  // Each goes with its own row.
  expect((await loans.agent("DELETE", `/agent/documents/${first}`)).status).toBe(200);
  expect(objectsOf(bytes)).toHaveLength(1);
  expect((await download(second)).status).toBe(200);
});

test("of many uploads at once each has its object", async () => {
  const bytes = `${PDF} at once`;
  const id = await loans.apply();
  const answers = await Promise.all(Array.from({ length: 10 }, () => loans.upload(id, { bytes })));
  expect(tally(answers)).toEqual({ 201: 10 });
  expect(objectsOf(bytes)).toHaveLength(10);
  const refused = await Promise.all(
    Array.from({ length: 45 }, () => loans.upload(id, { bytes, type: "other" })),
  );
  // Those beyond the fiftieth document left no object, and those that found no place sent none.
  const stored = tally(refused)[201] ?? 0;
  expect(stored).toBeLessThanOrEqual(40);
  expect(objectsOf(bytes)).toHaveLength(10 + stored);
});

describe("a bucket that fails", () => {
  test.each([
    ["is full", 507, "QuotaExceeded", 3],
    ["refuses us", 403, "AccessDenied", 1],
    ["is not there", 404, "NoSuchBucket", 1],
  ])(
    "when it %s an upload is a 503 that names no bucket, and leaves nothing",
    async (_, code, word, attempts) => {
      const bytes = `${PDF} ${word}`;
      const answer = () => new Response(`<Error><Code>${word}</Code></Error>`, { status: code });
      const id = await loans.apply();
      let asked = 0;
      s3.onWrite = () => (asked++, answer());
      const { status, body, headers } = await loans.upload(id, { bytes });
      expect([status, body]).toEqual([
        503,
        { error: "The place where documents are stored fails: try again later" },
      ]);
      expect([headers.get("retry-after"), asked, filesOf(service), objectsOf(bytes)]).toEqual([
        "10",
        attempts,
        [],
        [],
      ]);
      expect((await loans.agent("GET", `/agent/applications/${id}/documents`)).body.data).toEqual([]);
    },
  );

  test("a moment's failure is none", async () => {
    const bytes = `${PDF} at the second attempt`;
    let failures = 0;
    s3.onWrite = () => (failures++ === 0 ? new Response("slow down", { status: 503 }) : undefined);
    const id = await uploaded(bytes);
    s3.onRead = () => (failures++ === 2 ? new Response("slow down", { status: 503 }) : undefined);
    expect((await download(id)).body).toBe(bytes);
    expect(failures).toBe(4);
  });

  test("what it lost or changed is a 503 and never another document; doctor finds it", async () => {
    const [lost, changed, short] = [`${PDF} lost`, `${PDF} changed`, `${PDF} short`];
    const ids = [await uploaded(lost), await uploaded(changed), await uploaded(short)];
    const keyOf = (bytes: string) => objectsOf(bytes)[0] ?? "";
    const keys = [lost, changed, short].map(keyOf);
    const [, of_changed = "", of_short = ""] = keys;
    expect(await check(true)).toMatchObject({ broken: 0 });
    s3.objects.delete(keyOf(lost));
    s3.objects.set(of_changed, flipBit(Buffer.from(changed), 20, 3));
    s3.objects.set(of_short, Buffer.from("%PDF-"));
    for (const id of ids) {
      const { status, body } = await download(id);
      expect([status, body.error]).toEqual([503, expect.stringContaining("stored data is damaged")]);
    }
    const two = [
      `document ${ids[0]} is missing`,
      `document ${ids[2]} has 5 bytes instead of ${Buffer.byteLength(short)}`,
    ];
    expect(await check(false)).toMatchObject({ broken: 2, problems: two });
    expect(await check(true)).toMatchObject({
      broken: 3,
      problems: [two[0], `document ${ids[1]} has other bytes than were stored`, two[1]],
    });
    for (const id of ids) expect((await loans.agent("DELETE", `/agent/documents/${id}`)).status).toBe(200);
  });

  test("one that breaks off in the middle is a 503", async () => {
    const id = await uploaded(`${PDF} broken off`);
    s3.onRead = () =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            controller.enqueue(new TextEncoder().encode("%PDF-"));
            await Bun.sleep(20);
            controller.error(new Error("gone"));
          },
        }),
      );
    expect((await download(id)).status).toBe(503);
  });

  test("a deletion counts at once, and its object goes with the job", async () => {
    const bytes = `${PDF} deleted meanwhile`;
    const id = await uploaded(bytes);
    s3.is_gone = true;
    expect((await loans.agent("DELETE", `/agent/documents/${id}`)).status).toBe(200);
    expect((await download(id)).status).toBe(404);
    s3.is_gone = false;
    expect(objectsOf(bytes)).toHaveLength(1);
    await sweep();
    expect(objectsOf(bytes)).toEqual([]);
  });
});

describe("the job", () => {
  test("removes objects that no row refers to when they are a day old, and nothing else", async () => {
    const bytes = `${PDF} with a row`;
    const id = await uploaded(bytes);
    const orphan = (word: string) => `${prefix()}${sha256(word)}/${crypto.randomUUID()}`;
    const keys = {
      old: orphan("old"),
      young: orphan("young"),
      foreign: `${prefix()}notes.txt`,
      elsewhere: `live/files/${service.company_id}0/${sha256("old")}/${crypto.randomUUID()}`,
    };
    for (const key of Object.values(keys)) s3.objects.set(key, Buffer.from("x"));
    s3.modified.set(keys.young, "2026-03-09T12:00:00.001Z");
    const lock = await service.deps.store.lock("backup");
    await sweep();
    expect(s3.objects.has(keys.old)).toBe(true);
    await lock?.release();
    await sweep();
    const there = Object.entries(keys).flatMap(([name, key]) => (s3.objects.has(key) ? name : []));
    expect(there).toEqual(["young", "foreign", "elsewhere"]);
    expect((await download(id)).body).toBe(bytes);
  });

  test("removes nothing of another database, such as the one that this was restored from", async () => {
    const key = `${prefix()}${sha256("of another")}/${crypto.randomUUID()}`;
    s3.objects.set(key, Buffer.from("x"));
    const own = s3.objects.get("live/files/database_id") ?? new Uint8Array();
    expect(Buffer.from(own).toString()).toMatch(/^[0-9a-f-]{36}$/);
    s3.objects.set("live/files/database_id", Buffer.from(crypto.randomUUID()));
    await sweep();
    expect(s3.objects.has(key)).toBe(true);
    s3.objects.set("live/files/database_id", own);
    await sweep();
    expect(s3.objects.has(key)).toBe(false);
  });

  test("moves what DATA_DIR has from before into the bucket, once", async () => {
    const { deps } = service;
    const bytes = `${PDF} from before`;
    const [one, two] = [await loans.apply(), await loans.apply()];
    const ids = [await uploaded(bytes, one), await uploaded(bytes, two)];
    // As without DOCUMENTS_URL: rows that name no object, and one file for both.
    for (const key of objectsOf(bytes)) s3.objects.delete(key);
    const t = deps.store.read.use(loanDocumentTable);
    await deps.store.tx((q) => q.update(t).set({ object_id: null }).where(inArray(t.id, ids)));
    const path = join(folderOf(service), sha256(bytes).slice(0, 2), sha256(bytes));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
    for (const id of ids) expect((await download(id)).body).toBe(bytes);
    s3.onWrite = () => new Response("full", { status: 403 });
    await sweep();
    expect(objectsOf(bytes)).toEqual([]);
    expect((await check(true)).files).toBe(2);
    expect((await download(ids[0] ?? 0)).body).toBe(bytes);
    s3.onWrite = () => undefined;
    await sweep();
    expect((await check(true)).files).toBe(0);
    expect([objectsOf(bytes).length, filesOf(service)]).toEqual([2, []]);
    await sweep();
    expect(objectsOf(bytes)).toHaveLength(2);
    for (const id of ids) expect((await download(id)).body).toBe(bytes);
    // Without DOCUMENTS_URL they are out of reach, which is said and not a missing file.
    const folder = new BlobFolder(folderOf(service), async () => false);
    const found = await checkFiles(deps.store.read, folder, { reads_bytes: false });
    expect(found.problems[0]).toContain("lies in a bucket, and DOCUMENTS_URL is not set");
  });
});

test("nothing of another company is read or removed", async () => {
  const tenant = await service.addTenant();
  const foreign = await openBorrowing(service, tenant);
  const bytes = `${PDF} of two companies`;
  const mine = await uploaded(bytes);
  expect((await foreign.upload(await foreign.apply(), { bytes })).status).toBe(201);
  const theirs = [...s3.objects.keys()].filter((key) => key.startsWith(`live/files/${tenant.company_id}/`));
  expect([theirs.length, objectsOf(bytes).length]).toEqual([1, 1]);
  expect((await foreign.lender("GET", `/lender/documents/${mine}/content`)).status).toBe(404);
  await loans.agent("DELETE", `/agent/documents/${mine}`);
  await sweep();
  expect([s3.objects.has(theirs[0] ?? ""), objectsOf(bytes)]).toEqual([true, []]);
});

test("nothing is left of uploads and downloads in DATA_DIR", () => {
  const incoming = join(folderOf(service), "incoming");
  expect(readdirSync(incoming)).toEqual([]);
  rmSync(incoming, { recursive: true });
});
