import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../../../src/usage/limits.ts";
import {
  type Api,
  type Json,
  type Service,
  startService,
  TEST_STORE,
  TestClock,
} from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { type S3Server, startS3 } from "../../support/s3_server.ts";
import { addSubscription } from "../fixtures.ts";

// A file lies where it was sent to, and any of several instances may be asked about it.

const MATCHING = {
  subscription: { column: "who" },
  timestamp: { column: "at" },
  usage: { column: "amount" },
};
const FILE = "who,at,amount\nshared,2026-03-02T00:00:00Z,5\nnobody,2026-03-02T00:00:00Z,1\n";

describe.skipIf(TEST_STORE !== "postgres")("a file of usage, with several instances on one database", () => {
  const clock = new TestClock("2026-03-10T00:00:00Z");
  let bucket: S3Server;
  /** Where the file is sent to, and where it is not. */
  let owner: Service;
  let other: Service;
  let other_api: Api;

  beforeAll(async () => {
    bucket = startS3();
    const env = {
      JWT_SECRET: "a secret that both instances have",
      DOCUMENTS_URL: `s3://bucket?endpoint=${bucket.url}`,
      AWS_ACCESS_KEY_ID: "key",
      AWS_SECRET_ACCESS_KEY: "secret",
    };
    owner = await startService({ clock, env: { ...env, INSTANCE_URL: "http://127.0.0.1:3001" } });
    const { database_url } = owner.deps.config;
    other = await startService({
      clock,
      env: { ...env, DATABASE_URL: database_url ?? "", INSTANCE_URL: "http://127.0.0.1:3002" },
    });
    other_api = await other.signIn(owner.admin_email);
    await addSubscription(owner, "shared");
  });
  afterAll(async () => {
    await other.stop();
    await owner.stop();
    await bucket.stop();
  });

  async function send(): Promise<number> {
    const path = "/usage/imports/files?file_name=march.csv";
    const { status, body } = await owner.api("POST", path, FILE, { "content-type": "text/csv" });
    expect(status).toBe(201);
    return body.data.id;
  }
  const read = async (api: Api, id: number): Promise<Json> =>
    (await api("GET", `/usage/imports/${id}`)).body.data;
  const files = ({ deps }: Service) => join(deps.config.data_dir, "usage_uploads");

  test("is begun at the one that does not have it, and imported by the one that does", async () => {
    const id = await send();
    expect((await other_api("POST", `/usage/imports/${id}/run`, { matching: MATCHING })).status).toBe(202);
    for (let i = 0; i < 3; i++) await runNamedJob(other, "usage_uploads");
    expect(await read(other_api, id)).toMatchObject({ status: "running", rows: 0, accepted: 0 });
    await runNamedJob(owner, "usage_uploads");
    const done = { status: "finished", rows: 2, accepted: 1, rejected: 1 };
    expect(await read(other_api, id)).toMatchObject(done);
    expect((await other_api("GET", `/usage/imports/${id}/rejected`)).body).toContain("nobody");
  });

  test("whose instance is gone fails after ten minutes, and says what to do", async () => {
    const id = await send();
    await other_api("POST", `/usage/imports/${id}/run`, { matching: MATCHING });
    const begun = clock.now();
    clock.set(begun.add({ milliseconds: LIMITS.usage_upload_patience_ms - 1 }).toString());
    await runNamedJob(other, "usage_uploads");
    expect(await read(other_api, id)).toMatchObject({ status: "running" });
    clock.set(begun.add({ milliseconds: LIMITS.usage_upload_patience_ms }).toString());
    await runNamedJob(other, "usage_uploads");
    expect(await read(other_api, id)).toMatchObject({
      status: "failed",
      error: "The file is gone: upload it again. What was stored stays, and is not stored twice",
    });
    // It was not gone for good: the instance is back, and the file is there.
    await other_api("POST", `/usage/imports/${id}/run`, { matching: MATCHING });
    await runNamedJob(owner, "usage_uploads");
    expect(await read(owner.api, id)).toMatchObject({ status: "finished", duplicates: 1 });
  });

  test("is deleted at any of them, and leaves the disk that it is on", async () => {
    const id = await send();
    expect((await other_api("DELETE", `/usage/imports/${id}`)).status).toBe(204);
    expect((await owner.api("GET", `/usage/imports/${id}`)).status).toBe(404);
    const day = { milliseconds: LIMITS.usage_upload_ms + 60_000 };
    clock.set(Temporal.Now.instant().add(day).toString());
    await runNamedJob(owner, "usage_uploads_prune");
    expect(existsSync(files(owner)) ? [...new Bun.Glob("*").scanSync(files(owner))] : []).toEqual([]);
  });
});
