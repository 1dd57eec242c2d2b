import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "../../src/core/errors.ts";
import { S3Bucket } from "../../src/store/s3_bucket.ts";
import { type S3Server, startS3 } from "../support/s3_server.ts";

// What documents need of a bucket.

const folder = mkdtempSync(join(tmpdir(), "bucket-"));
const path = join(folder, "file");
const file = Bun.file(path);
const keys = { accessKeyId: "the-key", secretAccessKey: "the-secret" };
let s3: S3Server;
let bucket: S3Bucket;
beforeAll(async () => {
  s3 = startS3();
  bucket = new S3Bucket({ bucket: "bucket", prefix: "a b/", region: "eu-x", endpoint: s3.url }, keys, 1_000);
  await Bun.write(path, "content");
});
afterAll(async () => {
  await s3.stop();
  rmSync(folder, { recursive: true });
});

const failure = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: Error) => error,
  );

test("writes, finds, reads and removes below its prefix", async () => {
  await bucket.put("1/x", file);
  expect([...s3.objects.keys()]).toEqual(["a b/1/x"]);
  expect(await bucket.sizeOf("1/x")).toBe(7);
  const pieces = await Array.fromAsync((await bucket.get("1/x")) ?? []);
  expect(Buffer.concat(pieces).toString()).toBe("content");
  await bucket.remove("1/x");
  await bucket.remove("1/x");
  expect([s3.objects.size, await bucket.sizeOf("1/x"), await bucket.get("1/x")]).toEqual([0, null, null]);
});

test("lists a folder page by page", async () => {
  for (const key of ["1/a", "1/b", "1/c", "10/d"]) await bucket.put(key, file);
  s3.modified.set("a b/1/b", "2026-01-02T00:00:00.000Z");
  const pages = await Array.fromAsync(bucket.list("1/"));
  expect(pages.map((page) => page.map(({ key }) => key))).toEqual([["1/a", "1/b"], ["1/c"]]);
  expect(pages[0]?.[1]?.modified_ms).toBe(Date.UTC(2026, 0, 2));
});

test("a server that never answers is given up, and says which, without secrets", async () => {
  s3.onWrite = s3.onRead = () => new Promise(() => undefined);
  const failures = await Promise.all(
    [bucket.put("1/x", file), bucket.get("1/a"), bucket.remove("1/a")].map(failure),
  );
  s3.onWrite = s3.onRead = () => undefined;
  for (const error of failures) {
    expect(Bun.inspect(error)).not.toMatch(/the-secret|Signature/);
    expect([error instanceof AppError && error.kind, String(error?.cause)]).toEqual([
      "unavailable",
      expect.stringContaining(`at ${s3.url}/bucket/a b/: `),
    ]);
  }
});

test("a bucket that is not there has no missing objects, and nothing that is removed", async () => {
  s3.onRead = s3.onWrite = ({ method }) =>
    new Response(method === "HEAD" ? null : "<Error><Code>NoSuchBucket</Code></Error>", { status: 404 });
  const failures = await Promise.all(
    [bucket.get("1/a"), bucket.sizeOf("1/a"), bucket.remove("1/a"), bucket.put("1/a", file)].map(failure),
  );
  s3.onRead = s3.onWrite = () => undefined;
  for (const error of failures)
    expect([error instanceof AppError && error.kind, String(error?.cause)]).toEqual([
      "unavailable",
      expect.stringContaining("NoSuchBucket"),
    ]);
  expect(await bucket.sizeOf("1/not there")).toBe(null);
});

test("nobody listens there", async () => {
  const place = { bucket: "bucket", prefix: "", region: "eu-x", endpoint: "http://127.0.0.1:1" };
  const gone = new S3Bucket(place, keys);
  const failures = await Promise.all([gone.put("x", file), gone.get("x"), gone.list("").next()].map(failure));
  for (const error of failures) {
    expect(error instanceof AppError && [error.kind, error.retry_after_s]).toEqual(["unavailable", 10]);
    expect(String(error?.cause)).toMatch(/ConnectionRefused|ECONNREFUSED/);
  }
});
