import { afterEach, beforeEach, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateIdentity, identityToRecipient } from "age-encryption";
import { openPointAt } from "../../../src/backup/log/point_at.ts";
import { listRanges } from "../../../src/backup/log/ranges.ts";
import { readRecord } from "../../../src/backup/log/record.ts";
import { openTarget } from "../../../src/backup/open_target.ts";
import { dice } from "../../support/dice.ts";
import { flipAnywhere } from "../../support/flip_bits.ts";
import { startS3 } from "../../support/s3_server.ts";
import { Expected, openLogged, readCounted } from "./logged_store.ts";

/** Few in every run; `LOG_ROUNDS=40 bun test test/backup/log` makes more of them. */
const ROUNDS = Number(process.env.LOG_ROUNDS ?? 2);
const SEED = Number(process.env.LOG_SEED ?? 1);
const RESTORES = 4;

const expected = new Expected();
let folder: string;
let data_dir: string;
let url: string;
let places = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "log-"));
  data_dir = join(folder, "data");
  url = `file://${folder}/backups`;
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Restores the rows of an instant; returns what they are and the instant that was shipped. */
async function restoreTo(until: Temporal.Instant, identity: string | null = null) {
  const scratch = mkdtempSync(join(folder, `scratch${++places}-`));
  const point = await openPointAt(openTarget(url), "latest", until, { identity });
  const prepared = await point.prepare?.(scratch);
  if (!prepared) throw new Error("Nothing is prepared");
  const path = join(scratch, "rows.sqlite");
  await prepared.fetch(prepared.manifest.rows, path);
  const counted = readCounted(path);
  expect(counted).toMatchObject({ integrity: "ok", digest: expected.after(counted.k) ?? "nothing" });
  rmSync(scratch, { recursive: true });
  return { ...counted, instant: point.instant, manifest: prepared.manifest };
}

const rangesAt = () => listRanges(openTarget(url));
const lastInstant = async () => Temporal.Instant.from((await rangesAt()).at(-1)?.to ?? "");
const walOf = () => join(data_dir, "meterhouse.sqlite-wal");

interface Commit {
  k: number;
  began_ms: number;
  answered_ms: number;
}

function readJournal(path: string): { commits: Commit[]; begun: number[] } {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const begun = lines.flatMap((line) => (line.startsWith("began") ? Number(line.split(" ")[1]) : []));
  const commits = lines.flatMap((line) => {
    const [k = 0, began_ms = 0, answered_ms = 0] = line.split(" ").map(Number);
    return Number.isNaN(k) ? [] : { k, began_ms, answered_ms };
  });
  return { commits, begun };
}

test(
  "kill -9 at any moment: each instant is restored to its last commit, and the log goes on",
  async () => {
    const roll = dice(SEED);
    const journal = join(folder, "journal");
    for (let round = 0; round < ROUNDS; round++) {
      const words = [data_dir, url, journal, String(roll(1_000_000))];
      const program = join(import.meta.dir, "logged_store.ts");
      const child = Bun.spawn(["bun", program, ...words], { stdout: "pipe", stderr: "inherit" });
      await child.stdout.getReader().read();
      await Bun.sleep(50 + roll(500));
      child.kill("SIGKILL");
      expect(await child.exited).toBe(137);
    }
    // What was cut before the last kill is shipped by the next start.
    const logged = await openLogged({ data_dir, url });
    await logged.shipping.shipNow();
    const k = await logged.commit();
    appendFileSync(journal, `${k} ${Date.now()} ${Date.now()}\n`);
    await Bun.sleep(2);
    await logged.shipping.shipNow();
    await logged.close();

    const { commits, begun } = readJournal(journal);
    const ranges = await rangesAt();
    for (let i = 0; i < RESTORES * ROUNDS; i++) {
      const range = ranges[roll(ranges.length)];
      if (!range) throw new Error("Nothing is shipped");
      const [from, to] = [range.from, range.to].map((one) => Temporal.Instant.from(one).epochMilliseconds);
      const until = Temporal.Instant.fromEpochMilliseconds((from ?? 0) + roll((to ?? 0) - (from ?? 0) + 1));
      const found = await restoreTo(until);
      const at_ms = Temporal.Instant.from(found.instant).epochMilliseconds;
      expect(at_ms).toBeLessThanOrEqual(until.epochMilliseconds);
      const answered = commits.filter(({ answered_ms }) => answered_ms < at_ms).at(-1)?.k ?? 0;
      // One that was begun by then and was killed before its answer may be there, too.
      const unanswered =
        begun.filter((ms) => ms <= at_ms).length - commits.filter((c) => c.began_ms <= at_ms).length;
      const latest = Math.max(0, ...commits.filter((c) => c.began_ms <= at_ms).map((c) => c.k));
      expect(found.k).toBeGreaterThanOrEqual(answered);
      expect(found.k).toBeLessThanOrEqual(latest + Math.max(0, unanswered));
      // Its usage is there, without a gap.
      const { segments, last_seq } = found.manifest;
      const name = range.records.findLast(({ instant }) => instant === found.instant)?.name ?? "";
      expect((await readRecord(openTarget(url), name)).stored_seq).toBeGreaterThanOrEqual(found.k);
      for (const [n, { from: after }] of segments.entries()) expect(after).toBe(segments[n - 1]?.to ?? 0);
      expect(segments.at(-1)?.to).toBeGreaterThanOrEqual(last_seq);
    }
    if (ROUNDS > 3) {
      const records = ranges.reduce((sum, range) => sum + range.records.length, 0);
      console.log(`${ROUNDS} kills, ${commits.length} commits, ${records} records, ${ranges.length} bases`);
      // Most kills leave the log as it was: it goes on without a new base.
      expect(ranges.length).toBeLessThanOrEqual(1 + Math.ceil(ROUNDS / 2));
    }
  },
  60_000 + ROUNDS * 10_000,
);

test("the log is begun anew without a gap, and stays short while it is shipped", async () => {
  const logged = await openLogged({ data_dir, url, log_bytes: 60_000 });
  logged.shipping.start();
  let [commits, longest, records] = [0, 0, 0];
  while (records <= 3 || commits < 150) {
    for (let i = 0; i < 50; i++) {
      await logged.commit();
      longest = Math.max(longest, Bun.file(walOf()).size);
      await Bun.sleep(1);
    }
    commits += 50;
    // On a busy machine many commits are shipped at once: how long the log gets must not depend on that.
    for (const shipped = records; records === shipped; await Bun.sleep(1))
      records = (await rangesAt())[0]?.records.length ?? 0;
  }
  const middle = Temporal.Now.instant();
  await logged.commit();
  await logged.close();
  expect((await rangesAt()).length).toBe(1);
  expect((await restoreTo(await lastInstant())).k).toBe(commits + 1);
  expect((await restoreTo(middle)).k).toBeLessThanOrEqual(commits + 1);
  expect(logged.problems).toEqual([]);
  expect(longest).toBeLessThan(3_000_000);
});

test("what is not committed is not shipped, and nothing but the shipping begins the log anew", async () => {
  const logged = await openLogged({ data_dir, url, log_bytes: 1e9 });
  await logged.commit();
  await logged.shipping.shipNow();
  const [shipped] = await rangesAt();
  const size = Bun.file(walOf()).size;
  // More than SQLite keeps in memory: it is in the log before it is committed.
  const other = new Database(join(data_dir, "meterhouse.sqlite"));
  other.run("BEGIN");
  other.run("INSERT INTO counted (id, text) VALUES (-1, hex(randomblob(2500000)))");
  expect(Bun.file(walOf()).size).toBeGreaterThan(size + 1_000_000);
  await logged.shipping.shipNow();
  expect((await rangesAt())[0]?.records).toEqual(shipped?.records ?? []);
  other.run("ROLLBACK");
  other.close();
  // More than SQLite checkpoints by itself.
  const run = (sql: string) => logged.store.tx((q) => q.run(sql, [], false));
  for (const _ of [1, 2]) {
    await run("INSERT INTO counted (id, text) VALUES (-1, hex(randomblob(2500000)))");
    await run("DELETE FROM counted WHERE id = -1");
  }
  await logged.commit();
  await Bun.sleep(2);
  await logged.shipping.shipNow();
  await logged.close();
  expect((await rangesAt()).length).toBe(1);
  expect((await restoreTo(await lastInstant())).k).toBe(2);
});

test("what another process commits is in it, and its checkpoint begins a new base", async () => {
  const logged = await openLogged({ data_dir, url });
  await logged.commit();
  await logged.shipping.shipNow();
  const before = await lastInstant();
  const other = new Database(join(data_dir, "meterhouse.sqlite"));
  other.run("PRAGMA wal_autocheckpoint = 0");
  await logged.commit();
  other.run("DELETE FROM counted WHERE id = 0");
  await logged.shipping.shipNow();
  expect((await rangesAt()).length).toBe(1);
  await logged.commit();
  other.run("PRAGMA wal_checkpoint(TRUNCATE)");
  await logged.commit();
  other.close();
  await Bun.sleep(2);
  await logged.shipping.shipNow();
  const ranges = await rangesAt();
  expect(ranges.map(({ records }) => records[0]?.kind)).toEqual(["base", "base"]);
  expect((await restoreTo(await lastInstant())).k).toBe(4);
  expect((await restoreTo(before)).k).toBe(1);
  const [first, second] = ranges;
  const between = Temporal.Instant.from(first?.to ?? "").add({ milliseconds: 1 });
  expect(openPointAt(openTarget(url), "latest", between)).rejects.toThrow(
    `allows ${first?.from} to ${first?.to}, ${second?.from} to ${second?.to}`,
  );
  await logged.close();
});

test("another's commit between the last cut and the checkpoint begins a new base", async () => {
  const logged = await openLogged({ data_dir, url, log_bytes: 1 });
  await logged.commit();
  await logged.shipping.shipNow();
  const other = new Database(join(data_dir, "meterhouse.sqlite"));
  other.run("PRAGMA wal_autocheckpoint = 0");
  const { log } = logged;
  const truncate = log.truncate.bind(log);
  const again = Promise.withResolvers<void>();
  let times = 0;
  log.truncate = () => {
    if (times++ === 0) other.run(`INSERT INTO counted (id, text) VALUES (-5, '')`);
    else again.resolve();
    return truncate();
  };
  logged.shipping.start();
  await again.promise;
  // It has its turn once that checkpoint is over.
  await logged.commit();
  other.run("DELETE FROM counted WHERE id = -5");
  other.close();
  await logged.close();
  expect((await rangesAt()).length).toBe(2);
  expect((await restoreTo(await lastInstant())).k).toBe(2);
});

test("commits that a power cut took back after they were shipped begin a new base", async () => {
  let logged = await openLogged({ data_dir, url });
  await logged.commit();
  await logged.shipping.shipNow();
  const cut_off = join(folder, "cut off");
  // By another process: closing a copied file here would take SQLite's locks along.
  Bun.spawnSync(["cp", "-r", data_dir, cut_off]);
  await logged.commit();
  await Bun.sleep(2);
  await logged.shipping.shipNow();
  const shipped = await lastInstant();
  Bun.spawnSync(["cp", "-r", join(data_dir, "backup_log"), cut_off]);
  await logged.close();
  data_dir = cut_off;
  logged = await openLogged({ data_dir, url });
  await logged.undo();
  await logged.commit();
  await logged.commit();
  await Bun.sleep(2);
  await logged.shipping.shipNow();
  await logged.close();
  expect((await rangesAt()).length).toBe(2);
  expect((await restoreTo(shipped)).k).toBe(2);
  expect((await restoreTo(await lastInstant())).k).toBe(3);
});

test("beside each new point there is a base, and the log before it goes on up to it", async () => {
  const logged = await openLogged({ data_dir, url });
  await logged.commit();
  await logged.shipping.shipNow();
  await Bun.sleep(2);
  const point = await logged.takePoint();
  await logged.commit();
  await logged.shipping.shipNow();
  const [first, second] = await rangesAt();
  expect(second?.point).toBe(point);
  expect(second?.from).toBe(first?.to ?? "");
  await logged.commit();
  await Bun.sleep(2);
  await logged.shipping.shipNow();
  expect((await restoreTo(await lastInstant())).k).toBe(3);
  expect((await restoreTo(Temporal.Instant.from(point))).k).toBe(1);
  await logged.close();
});

test("a restart finds the rest in the spool, and begins a new base where the log is another", async () => {
  let logged = await openLogged({ data_dir, url });
  await logged.commit();
  await logged.shipping.shipNow();
  // The target is gone while the log is begun anew, and until the end.
  renameSync(join(folder, "backups"), join(folder, "away"));
  writeFileSync(join(folder, "backups"), "");
  const { shipping } = logged;
  shipping.start();
  for (let i = 0; i < 40; i++) {
    await logged.commit();
    await Bun.sleep(5);
  }
  expect(logged.log.shipped_until_ms).toBeLessThan(Date.now() - 100);
  await logged.close();
  expect(logged.problems[0]).toContain("backups");
  expect(readdirSync(join(data_dir, "backup_log")).length).toBeGreaterThan(4);
  rmSync(join(folder, "backups"));
  renameSync(join(folder, "away"), join(folder, "backups"));

  const waiting = join(folder, "waiting");
  cpSync(join(data_dir, "backup_log"), waiting, { recursive: true });

  logged = await openLogged({ data_dir, url });
  await logged.commit();
  await Bun.sleep(2);
  await logged.shipping.shipNow();
  const ranges = await rangesAt();
  expect(ranges.length).toBe(2);
  expect((await restoreTo(Temporal.Instant.from(ranges[0]?.to ?? ""))).k).toBe(41);
  expect((await restoreTo(await lastInstant())).k).toBe(42);
  await logged.close();
  expect(readdirSync(join(data_dir, "backup_log"))).toEqual(["cut.json"]);

  // As after a kill between a record and its removal here: it is not shipped again.
  rmSync(join(waiting, "cut.json"));
  cpSync(waiting, join(data_dir, "backup_log"), { recursive: true });
  logged = await openLogged({ data_dir, url });
  await Bun.sleep(2);
  await logged.shipping.shipNow();
  expect((await rangesAt()).slice(0, 2)).toEqual(ranges);
  expect((await restoreTo(await lastInstant())).k).toBe(42);
  await logged.close();
});

test("an encrypted log in a bucket that is gone for a while", async () => {
  const identity = await generateIdentity();
  const s3 = startS3();
  // The object itself comes back, as in `runHere`.
  const own = process.env;
  process.env = { ...own, S3_ENDPOINT: s3.url, S3_ACCESS_KEY_ID: "key", S3_SECRET_ACCESS_KEY: "secret" };
  url = "s3://bucket/prefix";
  try {
    const logged = await openLogged({ data_dir, url, recipient: await identityToRecipient(identity) });
    await logged.commit();
    await logged.shipping.shipNow();
    s3.is_gone = true;
    await logged.commit();
    expect(logged.shipping.shipNow()).rejects.toThrow("prefix");
    await Bun.sleep(2);
    s3.is_gone = false;
    await logged.commit();
    await logged.shipping.shipNow();
    expect((await restoreTo(await lastInstant(), identity)).k).toBe(3);
    expect((await rangesAt()).length).toBe(1);
    expect(restoreTo(await lastInstant())).rejects.toThrow("its secret key is needed");
    await logged.close();
  } finally {
    await s3.stop();
    process.env = own;
  }
});

test("damage and gaps in what was shipped are named, never restored", async () => {
  const roll = dice(SEED);
  const logged = await openLogged({ data_dir, url, log_bytes: 1e9 });
  for (let i = 0; i < 3; i++) {
    await logged.commit();
    await logged.shipping.shipNow();
    await Bun.sleep(2);
  }
  await logged.close();
  const until = await lastInstant();
  const point = (await rangesAt())[0]?.point ?? "";
  const wal = join(folder, "backups", "log", point, "wal");
  const [name = ""] = readdirSync(wal).toSorted();
  const path = join(wal, name);
  const whole = readFileSync(path);
  for (let i = 0; i < ROUNDS * 3; i++) {
    writeFileSync(path, flipAnywhere(whole, roll).damaged);
    expect(restoreTo(until)).rejects.toThrow(name);
  }
  rmSync(path);
  expect(restoreTo(until)).rejects.toThrow(name);
  writeFileSync(path, whole);
  expect((await restoreTo(until)).k).toBe(3);
  const records = join(folder, "backups", "log", point, "records");
  const [, second = ""] = readdirSync(records).toSorted();
  rmSync(join(records, second));
  expect(restoreTo(until)).rejects.toThrow("allows");
});
