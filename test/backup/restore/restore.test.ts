import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateIdentity, identityToRecipient } from "age-encryption";
import type { Deps } from "../../../src/app/deps.ts";
import { call } from "../../../src/app/operation.ts";
import { subscriptionTable } from "../../../src/billing/subscriptions/tables.ts";
import { commandContext } from "../../../src/cli/command.ts";
import { collectDue, runCollection } from "../../../src/emandate/collections/service.ts";
import { findHeldDebits, resumeCollections } from "../../../src/emandate/holds/service.ts";
import { mandateOrderTable } from "../../../src/emandate/orders/tables.ts";
import { mandatePaymentTable } from "../../../src/emandate/payments/tables.ts";
import { lastKey } from "../../../src/store/key_sequences.ts";
import { countRows } from "../../../src/store/select_rows.ts";
import type { Manifest } from "../../../src/backup/manifest.ts";
import { manifestName } from "../../../src/backup/manifest.ts";
import { openTarget } from "../../../src/backup/open_target.ts";
import { openPoint } from "../../../src/backup/restore/point.ts";
import { readVerification } from "../../../src/backup/verify/report.ts";
import { verifyPoint } from "../../../src/backup/verify/verify.ts";
import { Background } from "../../../src/core/background.ts";
import { readConfig } from "../../../src/core/config.ts";
import { openLog } from "../../../src/core/log.ts";
import { RESTORE_MARKER } from "../../../src/core/restore_marker.ts";
import { openDeps } from "../../../src/server/open_deps.ts";
import { verifyBackup } from "../../../src/server/verify_backup.ts";
import { restoreNeeds } from "../../../src/server/restore_needs.ts";
import type { WindowTotal } from "../../../src/usage_store/port.ts";
import { type Service, TEST_STORE } from "../../support/harness.ts";
import { testPostgres } from "../../support/postgres.ts";
import { type Finished, runHere, TESTED_COMMAND } from "../../support/process.ts";
import { addDocuments, digestsOf, openFullService, proveAll, type TableDigest } from "../full_service.ts";
import { makePoint } from "../made_point.ts";

const folder = mkdtempSync(join(tmpdir(), "restore-"));
const backups = join(folder, "backups");
let before: Record<string, TableDigest>;
let bills: number;
let service: Service;
let manifest: Manifest;
let usage: WindowTotal[];
let company: { company_id: number; subscriptions: number[] };

const windowsOf = (ids: readonly number[]) =>
  ids.map((subscription_id) => ({ subscription_id, start_ms: 0, end_ms: Date.UTC(2030, 0) }));

beforeAll(async () => {
  const full = await openFullService();
  service = full.service;
  const { deps } = full.service;
  await addDocuments(full);
  const [first] = full.companies;
  if (!first) throw new Error("There is no company");
  company = first;
  bills = await proveAll(deps);
  await deps.background.stop();
  before = await digestsOf(deps.store);
  usage = await deps.usage.totals(company.company_id, windowsOf(company.subscriptions), {
    timeout_ms: 5_000,
  });
  manifest = await makePoint(deps, `file://${backups}`);
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

/** What does not depend on where rows go. */
const onSqlite = test.skipIf(TEST_STORE === "postgres");

let places = 0;
async function emptyPlace(): Promise<{ words: string[]; env: Record<string, string>; data_dir: string }> {
  const data_dir = join(folder, `place ${++places}`);
  const env = { DATA_DIR: data_dir, LOG_LEVEL: "fatal", USAGE_MEMORY_LIMIT: "512MB" };
  if (TEST_STORE === "sqlite") return { data_dir, env, words: ["--to", data_dir] };
  const DATABASE_URL = await (await testPostgres()).createDatabase();
  return { data_dir, env: { ...env, DATABASE_URL }, words: ["--to", data_dir, "--to", DATABASE_URL] };
}

const restore = (...words: string[]): Promise<Finished> =>
  runHere(["restore", ...words, "--from", `file://${backups}`], { USAGE_MEMORY_LIMIT: "512MB" });

test("a point becomes the same rows, usage, documents and bills in an empty place", async () => {
  const { words, env, data_dir } = await emptyPlace();
  const done = await restore("latest", ...words);
  expect(done).toMatchObject({ code: 0, err: "" });
  expect(done.out).toContain(`${manifest.events} events, 2 documents`);
  expect(existsSync(join(data_dir, RESTORE_MARKER))).toBe(false);

  const deps = await openDeps(readConfig(env));
  try {
    const after = await digestsOf(deps.store);
    const changed = Object.keys(after).filter((name) => after[name]?.digest !== before[name]?.digest);
    expect(changed).toEqual(["usage_link", "debit_holds"]);
    expect(await proveAll(deps)).toBe(bills);
    const windows = windowsOf(company.subscriptions);
    expect(await deps.usage.totals(company.company_id, windows, { timeout_ms: 5_000 })).toEqual(usage);
    expect(await deps.usage.check(null, 5_000)).toMatchObject({ different: 0, events: manifest.events });
    expect(await deps.usage.lastSeq(company.company_id, 5_000)).toBe(manifest.last_seq);
    await goesOn(deps);
  } finally {
    await deps.close();
  }
  expect(await restore("latest", ...words)).toMatchObject({
    code: 1,
    err: expect.stringContaining("not empty"),
  });
});

/** What was there by the point is known, what came after it is new, keys are others, and no debit goes out. */
async function goesOn(deps: Deps): Promise<void> {
  const { company_id, subscriptions } = company;
  const [subscription_id = 0] = subscriptions;
  const stored = await deps.usage.search(
    { company_id, sort_by: "timestamp", sort_order: "asc", limit: 1, offset: 0 },
    5_000,
  );
  const [row] = stored.rows;
  if (!row) throw new Error("There are no events");
  const known = { ...row, timestamp_given: true, metadata: null };
  const lost = { ...known, subscription_id, id: crypto.randomUUID() };
  const now_ms = deps.clock.now().epochMilliseconds;
  const added = await deps.usage.append(company_id, [known, lost], now_ms);
  expect(added).toEqual({ accepted: 1, duplicates: 1 });
  const { read } = deps.store;
  expect(await lastKey(read, read.use(subscriptionTable))).toBe(6 + 10_000);
  expect(await lastKey(read, read.use(mandatePaymentTable))).toBe(6 + 1_000_000);

  const ctx = commandContext(deps, company_id);
  const orders = () => countRows(read, read.use(mandateOrderTable), undefined);
  const sent = await orders();
  await call(ctx, collectDue, {});
  const held = call(ctx, runCollection, {});
  expect(String(await held.catch((error) => error))).toContain(
    `debits are held since the restore of the point of ${manifest.instant}`,
  );
  expect(await orders()).toBe(sent);
  expect(await call(ctx, findHeldDebits, {})).toMatchObject({ due: 1, due_mandates: expect.any(Number) });
  await call(ctx, resumeCollections, {});
  const { counts } = await call(ctx, runCollection, {});
  expect(counts.submitted).toBeGreaterThan(0);
  expect(await orders()).toBe(sent + counts.submitted);
}

test("verifying restores into a folder that is gone afterwards, and names what it proved", async () => {
  const point = await openPoint(openTarget(`file://${backups}`), "latest", null);
  const needs = restoreNeeds({ usage_memory_limit: "512MB", usage_lanes: 8 }, Temporal.Now.instant());
  const scratch = join(folder, "scratch");
  const report = await verifyPoint(point, { ...needs, bills: 5, seed: 1, scratch });
  expect(report).toMatchObject({
    problems: [],
    bills: 5,
    documents: 2,
    events: manifest.events,
    rows: expect.any(Number),
  });
  expect(existsSync(scratch)).toBe(false);
});

onSqlite("`backup verify` and the weekly job say what they proved, and fail on damage", async () => {
  const { env } = await emptyPlace();
  const settings = { ...env, BACKUP_URL: `file://${backups}` };
  const verified = await runHere(["backup", "verify", "--bills", "4", "--seed", "3"], settings);
  expect(verified).toMatchObject({ code: 0, err: "" });
  expect(verified.out).toContain(`Point ${manifest.instant}, restored in `);
  expect(verified.out).toContain(
    "4 bills, rated anew from their events (seed 3)\n2 of 2 documents\nNothing differs\n",
  );
  const wellAt = () => readVerification(env.DATA_DIR ?? "")?.well_at?.epochMilliseconds;
  const well_at = wellAt();
  expect(well_at).toBeGreaterThan(1.7e12);

  const name = manifestName(manifest.instant);
  const [first, ...others] = manifest.digests;
  const changed = { ...manifest, digests: [{ ...first, units: "1" }, ...others] };
  const bytes = readFileSync(join(backups, name));
  writeFileSync(join(backups, name), JSON.stringify(changed));
  const config = readConfig(settings);
  const log = openLog("silent");
  const failed = verifyBackup({ config, log, background: new Background() });
  const message = String(await failed.catch((error) => error));
  writeFileSync(join(backups, name), bytes);
  expect(message).toContain(`The point of ${manifest.instant} is not what was backed up`);
  expect(wellAt()).toBe(well_at);
  expect(message).toMatch(/WRONG: Usage of company \d, 2026-01: the manifest says \d+ of 1 units/);
  expect(await verifyBackup({ config: readConfig(env), log, background: new Background() })).toBeUndefined();
});

describe("damage is named", () => {
  const objects = (): [string, string][] => [
    ["rows", manifest.rows.name],
    ["segment", manifest.segments[0]?.name ?? ""],
    ["document", manifest.documents[0]?.name ?? ""],
  ];
  async function whileDamaged(name: string, damage: (path: string) => void, expected: RegExp): Promise<void> {
    const path = join(backups, name);
    cpSync(path, `${folder}/kept`);
    damage(path);
    try {
      const { words, data_dir, env } = await emptyPlace();
      const done = await restore(manifest.instant, ...words);
      expect([done.code, done.err]).toEqual([1, expect.stringMatching(expected)]);
      if (!existsSync(data_dir)) return;
      // What is there is no data directory.
      expect(String(await openDeps(readConfig(env)).catch((error) => error))).toContain("was cut off");
      const again = await restore(manifest.instant, ...words);
      expect(again.err).toContain("was cut off there");
    } finally {
      rmSync(path, { force: true });
      cpSync(`${folder}/kept`, path);
    }
  }
  onSqlite("a flipped byte in each kind of object", async () => {
    for (const [, name] of objects()) {
      const flip = (path: string) => {
        const bytes = readFileSync(path);
        const middle = Math.floor(bytes.length / 2);
        bytes[middle] = (bytes[middle] ?? 0) ^ 1;
        writeFileSync(path, bytes);
      };
      await whileDamaged(name, flip, new RegExp(`${RegExp.escape(name)} .*damaged`));
    }
  });
  onSqlite("an object that is missing", async () => {
    for (const [, name] of objects()) await whileDamaged(name, unlinkSync, new RegExp(RegExp.escape(name)));
  });
  onSqlite("a manifest that was cut off, or changed", async () => {
    const name = manifestName(manifest.instant);
    const cut = (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 500));
    await whileDamaged(name, cut, /points\/.* it is no JSON/);
    const change = (path: string) =>
      writeFileSync(path, JSON.stringify({ ...manifest, counts: { ...manifest.counts, clients: 3 } }));
    await whileDamaged(name, change, /clients has 2 rows; the manifest says 3/);
  });
});

test("a restore that is killed half way leaves nothing that a server takes for whole", async () => {
  const rows = join(backups, manifest.rows.name);
  renameSync(rows, `${folder}/rows`);
  // Whoever reads from it waits.
  Bun.spawnSync(["mkfifo", rows]);
  const { words, env, data_dir } = await emptyPlace();
  try {
    const child = Bun.spawn(
      [...TESTED_COMMAND, "restore", "latest", ...words, "--from", `file://${backups}`],
      { env: { ...process.env, USAGE_MEMORY_LIMIT: "512MB" }, stdout: "ignore", stderr: "inherit" },
    );
    while (!existsSync(join(data_dir, "usage.duckdb")) && child.exitCode === null) await Bun.sleep(20);
    child.kill("SIGKILL");
    await child.exited;
  } finally {
    rmSync(rows);
    renameSync(`${folder}/rows`, rows);
  }
  expect(existsSync(join(data_dir, RESTORE_MARKER))).toBe(true);
  const started = await runHere(["serve"], { ...env, PORT: "0" });
  expect(started).toMatchObject({
    code: 78,
    err: expect.stringContaining("delete the folder and restore again"),
  });
  // The database is as empty as it was.
  const other = words.map((word) => (word === data_dir ? `${data_dir} again` : word));
  expect(await restore("latest", ...other)).toMatchObject({ code: 0, err: "" });
});

onSqlite("an encrypted point needs its secret key", async () => {
  const identity = await generateIdentity();
  const recipient = await identityToRecipient(identity);
  const sealed = `file://${folder}/sealed`;
  await makePoint(service.deps, sealed, recipient);
  const { words } = await emptyPlace();
  const from = ["--from", sealed];
  const attempt = (...more: string[]) => runHere(["restore", "latest", ...words, ...from, ...more], {});
  expect(await attempt()).toMatchObject({
    code: 1,
    err: expect.stringContaining(`encrypted to ${recipient}`),
  });
  const fresh = await emptyPlace();
  const key = join(folder, "key.txt");
  writeFileSync(key, `# created: today\n${identity}\n`);
  const done = await runHere(["restore", "latest", ...fresh.words, ...from, "--identity", key], {});
  expect([done.code, done.err]).toEqual([0, ""]);
});

test("a point that is not there, a place of no kind and missing words are refused", async () => {
  const { words } = await emptyPlace();
  for (const [given, code, message] of [
    [
      ["2020-01-01T00:00:00.000Z", ...words],
      1,
      `There is no point 2020-01-01T00:00:00.000Z at file://${backups}`,
    ],
    [["latest", "--to", "s3://bucket"], 2, "--to takes one folder"],
    [["latest"], 2, "--to takes one folder"],
    [[...words], 2, "Say which point"],
  ] as const) {
    const done = await restore(...given);
    expect([done.code, done.err]).toEqual([code, expect.stringContaining(message)]);
  }
});
