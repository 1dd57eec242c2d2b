import { afterAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quickCheck } from "../../src/store/quick_check.ts";
import { logProblem } from "../../src/store/sqlite_log.ts";
import { dice } from "../support/dice.ts";
import { flipBit } from "../support/flip_bits.ts";

// Damaged files of SQLite: decision 0199.

const folder = mkdtempSync(join(tmpdir(), "sqlite-damage-"));
afterAll(() => rmSync(folder, { recursive: true }));

const PAGE = 4096;
const FRAME = PAGE + 24;

/** A log with commits of one row each, as a killed process leaves it, and the file beside it. */
function makeLog(): { file: string; log: Buffer } {
  const source = join(folder, "source.sqlite");
  const database = new Database(source, { create: true });
  database.run("PRAGMA journal_mode = WAL");
  database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)");
  database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  for (let id = 1; id <= 20; id++) database.run("INSERT INTO t VALUES (?, ?)", [id, "x".repeat(500)]);
  const file = join(folder, "copy.sqlite");
  for (const end of ["", "-wal"]) cpSync(source + end, file + end);
  database.close();
  return { file, log: readFileSync(`${file}-wal`) };
}

const { file, log } = makeLog();
const problemWith = async (bytes: Uint8Array) => {
  writeFileSync(`${file}-wal`, bytes);
  return logProblem(`${file}-wal`);
};

describe("the log of SQLite", () => {
  test("as a killed process leaves it, whole or cut off anywhere, is no problem", async () => {
    expect(await logProblem(join(folder, "none-wal"))).toBeNull();
    const roll = dice(1);
    for (const length of [0, 10, 32, 33, log.length, ...Array.from({ length: 10 }, () => roll(log.length))])
      expect([length, await problemWith(log.subarray(0, length))]).toEqual([length, null]);
  });

  test("with the frames of an earlier round behind its end, or half of a commit, is no problem", async () => {
    const old = Buffer.from(log);
    for (let at = 32; at < old.length; at += FRAME) old.writeUInt32BE(7, at + 8);
    expect(await problemWith(Buffer.concat([log, old.subarray(32)]))).toBeNull();
    expect(await problemWith(flipBit(log, log.length - 100, 0))).toBeNull();
  });

  test("with any flipped bit before its last commits is one", async () => {
    const roll = dice(2);
    for (let i = 0; i < 15; i++) {
      const at = roll(log.length - 3 * FRAME);
      const bytes = flipBit(log, at, roll(8));
      expect([at, await problemWith(bytes)]).toEqual([
        at,
        expect.stringMatching(/^its log (is damaged|begins)/),
      ]);
    }
  });
});

test("quick_check finds a damaged page, in a thread of its own, and nothing in a good file", async () => {
  rmSync(`${file}-wal`, { force: true });
  rmSync(`${file}-shm`, { force: true });
  const path = join(folder, "checked.sqlite");
  const database = new Database(path, { create: true });
  database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)");
  for (let id = 1; id <= 200; id++) database.run("INSERT INTO t VALUES (?, ?)", [id, "y".repeat(300)]);
  database.close();
  expect(await quickCheck(path)).toEqual([]);
  // The kind of its second page.
  writeFileSync(path, flipBit(readFileSync(path), PAGE, 1));
  expect((await quickCheck(path)).length).toBeGreaterThan(0);
});
