import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import type { Manifest } from "../../src/backup/manifest.ts";
import { fetchObject } from "../../src/backup/objects.ts";
import { openTarget } from "../../src/backup/open_target.ts";
import { listPoints, newestPoint } from "../../src/backup/points.ts";
import { type CommandFolder, makePreparedFolder, run, runHere, startServer } from "../support/process.ts";
import { addSubscription } from "../usage/fixtures.ts";

let place: CommandFolder;
const backups = mkdtempSync(join(tmpdir(), "backups-"));
const url = `file://${backups}`;
const target = openTarget(url);

beforeAll(async () => {
  place = await makePreparedFolder();
});
afterAll(() => {
  place.remove();
  rmSync(backups, { recursive: true });
});

/** What a point holds, restored by hand into a scratch folder. */
async function open(point: Manifest, identity: string | null = null) {
  const scratch = mkdtempSync(join(tmpdir(), "point-"));
  const path = join(scratch, "rows.sqlite");
  await fetchObject(target, point.rows, path, identity);
  const rows = new Database(path, { readonly: true });
  const engine = await DuckDBInstance.create(":memory:");
  const usage = await engine.connect();
  await usage.run(
    "CREATE TABLE events (seq BIGINT, company_id INTEGER, subscription_id INTEGER, timestamp BIGINT, id UUID, usage DECIMAL(18,6), metadata VARCHAR, created_at BIGINT)",
  );
  for (const [i, segment] of point.segments.entries()) {
    const file = join(scratch, `${i}.parquet`);
    await fetchObject(target, segment, file, identity);
    await usage.run(`INSERT INTO events BY NAME SELECT * FROM '${file}'`);
  }
  const ask = async (sql: string) => (await usage.runAndReadAll(sql)).getRowsJson();
  return {
    rows,
    ask,
    close() {
      rows.close();
      usage.closeSync();
      engine.closeSync();
      rmSync(scratch, { recursive: true });
    },
  };
}

/** Holds a point against itself: rows by table, references, events, what bills counted. */
async function check(point: Manifest, identity: string | null = null): Promise<void> {
  const opened = await open(point, identity);
  const { rows, ask } = opened;
  try {
    expect(rows.query("PRAGMA integrity_check").values()).toEqual([["ok"]]);
    expect(rows.query("PRAGMA foreign_key_check").values()).toEqual([]);
    for (const [table, count] of Object.entries(point.counts))
      expect(rows.query(`SELECT count(*) FROM "${table}"`).values(), table).toEqual([[count]]);
    const found = await ask("SELECT count(*), count(DISTINCT seq), coalesce(max(seq), 0) FROM events");
    expect(found.map((row) => row.map(Number))).toEqual([[point.events, point.events, expect.any(Number)]]);
    expect(Number(found[0]?.[2])).toBeLessThanOrEqual(point.last_seq);
    const digests = await ask(`SELECT company_id, strftime(make_timestamp_ms(timestamp), '%Y-%m') AS month,
      sum((md5_number(id::VARCHAR || '|' || timestamp::VARCHAR || '|' || usage::VARCHAR) >> 64)::UBIGINT)::VARCHAR
      FROM events GROUP BY ALL ORDER BY ALL`);
    const halves = digests.map(([company, month, sum]) => [
      company,
      month,
      BigInt.asUintN(64, BigInt(sum as string))
        .toString(16)
        .padStart(16, "0"),
    ]);
    expect(halves).toEqual(
      point.digests.map(({ company_id, month, digest }) => [company_id, month, digest.slice(16)]),
    );
    // Every event's subscription is there.
    const known = new Set(
      rows
        .query("SELECT id FROM subscriptions")
        .values()
        .map(([id]) => Number(id)),
    );
    const used = (await ask("SELECT DISTINCT subscription_id FROM events")).map(([id]) => Number(id));
    expect(used.filter((id) => !known.has(id))).toEqual([]);
  } finally {
    opened.close();
  }
}

const newest = async () => {
  const point = await newestPoint(target);
  if (point === undefined) throw new Error("There is no point");
  return point;
};

const events = (external_subscription_id: string) =>
  Array.from({ length: 20 }, () => ({
    id: crypto.randomUUID(),
    external_subscription_id,
    usage: 1,
    timestamp: 1_700_000_000_000,
  }));

test("points are taken while commits, subscriptions and usage go on; a killed backup leaves none; segments are shared", async () => {
  const env = { ...place.env, BACKUP_URL: url, RATE_LIMIT_ENABLED: "false" };
  let server = await startServer(env);
  let api = await server.signIn();
  const over = new AbortController();
  let sent = 0;
  const work = async () => {
    while (!over.signal.aborted) {
      const name = crypto.randomUUID();
      await addSubscription({ api }, name);
      expect((await api("POST", "/usage/events", events(name))).status).toBe(201);
      sent += 20;
      await Bun.sleep(20);
    }
  };
  const workers = [work(), work()];
  const points: Manifest[] = [];
  for (let n = 0; n < 3; n++) {
    const before = sent;
    const { code, out, err } = await run(["backup"], env);
    expect(code, err).toBe(0);
    expect(out).toContain(" events, 0 documents in ");
    const point = await newest();
    expect(point.events).toBeGreaterThanOrEqual(before);
    points.push(point);
  }
  over.abort();
  await Promise.all(workers);
  for (const point of points) await check(point);
  const [first, , third] = points;
  expect(third?.segments.slice(0, first?.segments.length)).toEqual(first?.segments ?? []);

  const command = run(["backup"], env);
  while (!existsSync(join(place.data_dir, "backup"))) await Bun.sleep(1);
  server.kill("SIGKILL");
  await Promise.all([server.exited, command]);
  await check(await newest());

  server = await startServer(env);
  api = await server.signIn();
  const { code, err } = await run(["backup"], env);
  expect(code, err).toBe(0);
  const last = await newest();
  expect(last.instant > (third?.instant ?? "")).toBe(true);
  expect(last.events).toBe(sent);
  await check(last);
  expect(existsSync(join(place.data_dir, "backup"))).toBe(false);
  server.kill("SIGTERM");
  await server.exited;
});

test("backups are encrypted to the recipient; none of the secrets is in one; list shows all", async () => {
  const identity = await generateX25519Identity();
  const secret = "s".repeat(40);
  const recipient = await identityToRecipient(identity);
  const env = { ...place.env, BACKUP_URL: url, BACKUP_RECIPIENT: recipient, JWT_SECRET: secret };
  const { code, err } = await runHere(["backup"], env);
  expect(code, err).toBe(0);
  const point = await newest();
  expect(point.rows.name).toEndWith(".sqlite.age");
  expect(point.segments.map((segment) => segment.recipient)).toEqual([recipient]);
  await check(point, identity);
  const opened = await open(point, identity);
  expect(Buffer.from(opened.rows.serialize()).includes(secret)).toBe(false);
  opened.close();
  const listed = await runHere(["backup", "list"], env);
  expect(listed.out.trim().split("\n")).toHaveLength((await listPoints(target)).length + 1);
});

test("what is missing is named", async () => {
  expect(await runHere(["backup"], place.env)).toMatchObject({
    code: 2,
    err: expect.stringContaining("set BACKUP_URL"),
  });
  expect(await runHere(["backup"], { ...place.env, BACKUP_URL: "file:///proc/none" })).toMatchObject({
    code: 1,
    err: expect.stringContaining("Cannot write rows/"),
  });
});
