import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Context } from "../../../src/app/context.ts";
import type { Deps } from "../../../src/app/deps.ts";
import { call } from "../../../src/app/operation.ts";
import { AppError } from "../../../src/core/errors.ts";
import { JOBS } from "../../../src/server/jobs.ts";
import { runAtItsTime } from "../../../src/server/scheduler.ts";
import { LIMITS } from "../../../src/usage/limits.ts";
import { carryOnUploads } from "../../../src/usage/uploads/run.ts";
import { deleteUsageUpload } from "../../../src/usage/uploads/service.ts";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { runAtAll } from "../../support/jobs.ts";
import { addSubscription } from "../fixtures.ts";

// A file of usage lies where it was sent to, and any of several instances may be asked about it. The service here has it;
// another instance is one with the same database and a folder of its own.

const clock = new TestClock("2026-03-10T00:00:00Z");
const service = useService({ clock });
const elsewhere = mkdtempSync(join(tmpdir(), "meterhouse-elsewhere-"));

beforeAll(() => addSubscription(service, "shared"));
afterAll(() => rmSync(elsewhere, { recursive: true, force: true }));

/** The other instance. */
function another(): Deps {
  const url = "http://127.0.0.1:3002";
  const { deps } = service;
  const instances: Deps["instances"] = {
    id: crypto.randomUUID(),
    url,
    others: [],
    begin: async () => undefined,
    end: async () => undefined,
  };
  const openContext: Deps["openContext"] = (caller) => {
    const ctx = deps.openContext(caller);
    return { ...ctx, config: { ...ctx.config, data_dir: elsewhere, instance_url: url } };
  };
  return { ...deps, instances, openContext };
}

/** What the other instance works with. */
function atAnother(): Context {
  const actor = { kind: "system", company_id: service.company_id } as const;
  return another().openContext({ actor, origin: "job", request_id: "test", address: null });
}

async function send(): Promise<number> {
  const file = "who,at,amount\nshared,2026-03-02T00:00:00Z,5\nnobody,2026-03-02T00:00:00Z,1\n";
  const path = "/usage/imports/files?file_name=march.csv";
  const { body } = await service.api("POST", path, file, { "content-type": "text/csv" });
  return body.data.id;
}

async function begin(id: number): Promise<void> {
  const matching = {
    subscription: { column: "who" },
    timestamp: { column: "at" },
    usage: { column: "amount" },
  };
  expect((await service.api("POST", `/usage/imports/${id}/run`, { matching })).status).toBe(202);
}

const read = async (id: number): Promise<Json> =>
  (await service.api("GET", `/usage/imports/${id}`)).body.data;
const files = (): string[] =>
  service.instances
    .map(({ config }) => join(config.data_dir, "usage_uploads"))
    .flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []));

test("an instance without the file leaves it to the one that has it", async () => {
  const id = await send();
  await begin(id);
  for (let i = 0; i < 3; i++) await call(atAnother(), carryOnUploads, {});
  expect(await read(id)).toMatchObject({ status: "running", rows: 0, accepted: 0, error: null });
  await runAtAll(service, "usage_uploads");
  expect(await read(id)).toMatchObject({ status: "finished", rows: 2, accepted: 1, rejected: 1 });
});

test("after ten minutes without the instance that has it a run fails, says what to do, and may be run again", async () => {
  const id = await send();
  await begin(id);
  const begun = clock.now();
  clock.set(begun.add({ milliseconds: LIMITS.usage_upload_patience_ms - 1 }).toString());
  await call(atAnother(), carryOnUploads, {});
  expect(await read(id)).toMatchObject({ status: "running" });
  clock.set(begun.add({ milliseconds: LIMITS.usage_upload_patience_ms }).toString());
  await call(atAnother(), carryOnUploads, {});
  expect(await read(id)).toMatchObject({
    status: "failed",
    error: "The file is gone: upload it again. What was stored stays, and is not stored twice",
  });
  await begin(id);
  await runAtAll(service, "usage_uploads");
  expect(await read(id)).toMatchObject({ status: "finished", accepted: 0, duplicates: 1, rejected: 1 });
});

test("a run waits for a usage store that is away, however long that takes", async () => {
  const id = await send();
  await begin(id);
  const [file = ""] = files();
  const holder = service.instances.find(({ config }) =>
    existsSync(join(config.data_dir, "usage_uploads", file)),
  );
  if (holder === undefined) throw new Error("No instance has the file");
  const begun = clock.now();
  for (let minutes = 1; minutes <= 30; minutes++) {
    clock.set(begun.add({ minutes }).toString());
    const actor = { kind: "system", company_id: service.company_id } as const;
    const ctx = holder.openContext({ actor, origin: "job", request_id: "test", address: null });
    const refuse = () => {
      throw new AppError("unavailable", "The usage store is away");
    };
    const usage = new Proxy(ctx.usage, { get: () => refuse });
    await call({ ...ctx, usage }, carryOnUploads, {});
    await call(atAnother(), carryOnUploads, {});
    expect(await read(id)).toMatchObject({ status: "running", rows: 0, error: null });
  }
  await runAtAll(service, "usage_uploads");
  expect(await read(id)).toMatchObject({ status: "finished", rows: 2, rejected: 1 });
});

test("a file that was deleted at another instance leaves its disk by the nightly job", async () => {
  const id = await send();
  await call(atAnother(), deleteUsageUpload, { id });
  expect((await service.api("GET", `/usage/imports/${id}`)).status).toBe(404);
  expect(files()).toHaveLength(1);
  // Files have the machine's time.
  clock.set(
    Temporal.Now.instant()
      .add({ milliseconds: LIMITS.usage_upload_ms + 60_000 })
      .toString(),
  );
  await runAtAll(service, "usage_uploads_prune");
  expect(files()).toEqual([]);
});

test("each instance sees to the files on its own disk; of other jobs one does the work", async () => {
  const folders = [service.deps.config.data_dir, elsewhere].map((place) => join(place, "usage_uploads"));
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${service.company_id}-${crypto.randomUUID()}`), "who\n");
  }
  clock.set(
    Temporal.Now.instant()
      .add({ milliseconds: LIMITS.usage_upload_ms + 60_000 })
      .toString(),
  );
  const runs: Record<string, boolean[]> = {};
  for (const name of ["usage_uploads_prune", "loan_documents", "audit_log_prune"]) {
    const job = JOBS.find((one) => one.name === name);
    if (job === undefined) throw new Error(`There is no job ${name}`);
    runs[name] = [await runAtItsTime(service.deps, job), await runAtItsTime(another(), job)];
  }
  expect(runs).toEqual({
    usage_uploads_prune: [true, true],
    loan_documents: [true, true],
    audit_log_prune: [true, false],
  });
  expect(folders.flatMap((folder) => readdirSync(folder))).toEqual([]);
});
