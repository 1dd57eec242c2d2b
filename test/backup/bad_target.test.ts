import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fetchObject } from "../../src/backup/objects.ts";
import { openTarget } from "../../src/backup/open_target.ts";
import { listPoints, readPoint } from "../../src/backup/points.ts";
import { backUp } from "../../src/server/backups.ts";
import { PER_UNIT } from "../billing/fixtures.ts";
import { dice } from "../support/dice.ts";
import {
  type CommandFolder,
  makePreparedFolder,
  run,
  serveHere,
  TESTED_COMMAND,
} from "../support/process.ts";
import { addSubscription } from "../usage/fixtures.ts";
import { addDocuments, type FullService, openFullService } from "./full_service.ts";
import { type S3Server, startS3 } from "../support/s3_server.ts";
import { killRounds } from "../support/properties.ts";

/** Few in every run; `KILL_ROUNDS=100 bun test test/backup/bad_target.test.ts` makes more of them. */
const ROUNDS = killRounds(1);
const SEED = Number(process.env.KILL_SEED ?? 1);

const url = "s3://bucket/backups";
const scratch = mkdtempSync(join(tmpdir(), "bad-target-"));
const before = { ...process.env };
let s3: S3Server;
let service: FullService;
let place: CommandFolder;

beforeAll(async () => {
  s3 = startS3();
  Object.assign(process.env, { S3_ENDPOINT: s3.url, S3_ACCESS_KEY_ID: "k", S3_SECRET_ACCESS_KEY: "s" });
  service = await openFullService({ BACKUP_URL: url });
  await addDocuments(service);
  place = await makePreparedFolder();
});
afterAll(async () => {
  for (const name of ["S3_ENDPOINT", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY"]) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
  await service.service.stop();
  await s3.stop();
  place.remove();
  rmSync(scratch, { recursive: true });
});

/** The points that are listed, once every object of each was fetched and has the bytes that its manifest names. */
async function wholePoints(at = url): Promise<string[]> {
  const target = openTarget(at);
  const instants = await listPoints(target);
  for (const instant of instants) {
    const point = await readPoint(target, instant);
    for (const object of [point.rows, ...point.segments, ...point.documents]) {
      const path = join(scratch, crypto.randomUUID());
      await fetchObject(target, object, path);
      rmSync(path);
    }
  }
  return instants;
}

/** Something new in every part of a point, so that each writes. */
async function change(): Promise<void> {
  const [company] = service.companies;
  if (!company) throw new Error("There is no company");
  service.clock.set(String(service.clock.now().add({ minutes: 1 })));
  await company.use(await company.subscribe(PER_UNIT), ["2026-03-01T00:00:00Z", "1"]);
}

test("a target that is full from any write on leaves no point, and the next backup is whole", async () => {
  const { deps } = service.service;
  let refused_from = 1;
  for (let is_taken = false; !is_taken; refused_from++) {
    await change();
    const there = await wholePoints();
    let writes = 0;
    s3.onWrite = () =>
      ++writes < refused_from
        ? undefined
        : new Response("<Error><Code>QuotaExceeded</Code><Message>The bucket is full</Message></Error>", {
            status: 403,
          });
    const failed = await backUp(deps).then(
      () => undefined,
      (error: unknown) => String(error),
    );
    s3.onWrite = () => undefined;
    is_taken = failed === undefined;
    if (!is_taken) {
      expect(failed).toContain(`to ${url}`);
      expect(await wholePoints()).toEqual(there);
    }
  }
  await change();
  const { manifest } = await backUp(deps);
  expect((await wholePoints()).at(-1)).toBe(manifest.instant);
  // Rows, usage, documents and the manifest at least.
  expect(refused_from).toBeGreaterThan(4);
});

test("a target that answers late holds nobody up", async () => {
  const { deps } = service.service;
  await change();
  const gate = Promise.withResolvers<undefined>();
  s3.onWrite = () => gate.promise;
  const taken = backUp(deps);
  const [company] = service.companies;
  for (let i = 0; i < 3; i++) {
    await change();
    expect((await company?.api("GET", "/subscriptions?limit=1"))?.status).toBe(200);
  }
  gate.resolve(undefined);
  s3.onWrite = () => undefined;
  const { manifest } = await taken;
  expect((await wholePoints()).at(-1)).toBe(manifest.instant);
});

test("a backup that is killed at any of its writes leaves no point that is not whole", async () => {
  const roll = dice(SEED);
  const at = "s3://bucket/killed";
  const env = { ...place.env, BACKUP_URL: at };
  for (let round = 0; round < ROUNDS; round++) {
    await serveHere(place.env, async (api) => {
      await addSubscription({ api }, `round-${round}`);
      const event = { id: crypto.randomUUID(), external_subscription_id: `round-${round}`, usage: 1 };
      expect((await api("POST", "/usage/events", [event])).status).toBe(201);
    });
    const there = await wholePoints(at);
    // Rows, usage, the manifest, and what is removed after it.
    const killed_at = 1 + roll(4);
    let writes = 0;
    s3.onWrite = (request) => {
      if (!new URL(request.url).pathname.includes("killed") || ++writes !== killed_at) return undefined;
      child.kill("SIGKILL");
      // Half of the time the write reaches the target all the same.
      return roll(2) === 0 ? undefined : new Response(null, { status: 500 });
    };
    const child = Bun.spawn([...TESTED_COMMAND, "backup"], {
      env: { ...env, ...s3Env() },
      stdout: "ignore",
      stderr: "ignore",
    });
    await child.exited;
    s3.onWrite = () => undefined;
    const left = await wholePoints(at);
    expect(left.length).toBeGreaterThanOrEqual(there.length);
    const { code, err } = await run(["backup"], { ...env, ...s3Env() });
    expect(code, err).toBe(0);
    expect(((await wholePoints(at)).at(-1) ?? "") > (left.at(-1) ?? "")).toBe(true);
  }
});

const s3Env = () => ({ S3_ENDPOINT: s3.url, S3_ACCESS_KEY_ID: "k", S3_SECRET_ACCESS_KEY: "s" });
