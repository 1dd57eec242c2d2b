import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTarget } from "../../src/backup/open_target.ts";
import { openPoint } from "../../src/backup/restore/point.ts";
import { restorePoint } from "../../src/backup/restore/restore.ts";
import { takePoint } from "../../src/backup/take_point.ts";
import { checkFiles } from "../../src/loans/documents/file_check.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { restoreNeeds } from "../../src/server/restore_needs.ts";
import { TABLES } from "../../src/server/schema.ts";
import { openBorrowing, PDF, sha256 } from "../loans/documents/fixtures.ts";
import { type Service, startService } from "../support/harness.ts";
import { type S3Server, startS3 } from "../support/s3_server.ts";
import { makePoint } from "./made_point.ts";

// Documents that are objects in a bucket are in backups as files are.

const folder = mkdtempSync(join(tmpdir(), "backup-"));
const url = `file://${folder}/backups`;
let s3: S3Server;
let service: Service;

beforeAll(async () => {
  s3 = startS3();
  service = await startService({
    env: {
      DOCUMENTS_URL: `s3://bucket?endpoint=${s3.url}`,
      AWS_ACCESS_KEY_ID: "the-key",
      AWS_SECRET_ACCESS_KEY: "the-secret",
    },
  });
  const loans = await openBorrowing(service);
  for (const bytes of [PDF, PDF, `${PDF} of another`]) {
    expect((await loans.upload(await loans.apply(), { bytes })).status).toBe(201);
  }
});
afterAll(async () => {
  await service.stop();
  await s3.stop();
  rmSync(folder, { recursive: true });
});

test("a point has each content once, and is restored as files that need no bucket", async () => {
  const manifest = await makePoint(service.deps, url);
  const stored = [PDF, `${PDF} of another`].map(sha256).toSorted();
  expect(manifest.documents.map((one) => one.sha256).toSorted()).toEqual(stored);
  const data_dir = join(folder, "restored");
  const needs = restoreNeeds(service.deps.config, Temporal.Now.instant());
  const point = await openPoint(openTarget(url), "latest", null);
  expect(await restorePoint(point, { data_dir, database_url: null, usage_url: null }, needs)).toMatchObject({
    documents: 2,
  });
  for (const one of stored) {
    const path = join(data_dir, "documents", String(service.company_id), one.slice(0, 2), one);
    expect(sha256(readFileSync(path))).toBe(one);
  }
  const restored = await openDeps({
    ...service.deps.config,
    data_dir,
    database_url: null,
    documents_url: null,
  });
  const check = await checkFiles(restored.store.read, restored.documents, { reads_bytes: true });
  await restored.close();
  expect(check).toEqual({ documents: 3, files: 3, broken: 0, problems: [] });
});

test("one that the bucket lost is reported as damaged; a bucket that is gone fails the backup", async () => {
  const { deps } = service;
  const { store, usage, documents, clock, config } = deps;
  const take = (name: string) =>
    takePoint({
      store,
      usage,
      documents,
      data_dir: config.data_dir,
      database_url: config.database_url,
      recipient: null,
      tables: Object.values(TABLES),
      target: openTarget(`file://${folder}/${name}`),
      now: clock.now(),
      isStopping: () => false,
    });
  s3.is_gone = true;
  expect(await take("gone").catch(String)).toContain("The place where documents are stored fails");
  s3.is_gone = false;
  const lost = sha256(`${PDF} of another`);
  for (const key of s3.objects.keys()) if (key.includes(lost)) s3.objects.delete(key);
  const { damaged_documents, manifest } = await take("lost");
  expect(damaged_documents).toEqual([`${service.company_id}/${lost}`]);
  expect(manifest.documents.map((one) => one.sha256)).toEqual([sha256(PDF)]);
});
