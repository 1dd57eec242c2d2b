import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommitQueue } from "../../src/store/commit_queue.ts";

const GROUP_MS = 1_000;

let folder: string;
let writer: Database;
let reader: Database;
let queue: CommitQueue;
/** The statements that begin and end transactions, in order. */
let control: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "meterhouse-"));
  writer = new Database(join(folder, "test.sqlite"));
  writer.run("PRAGMA journal_mode = WAL");
  writer.run("PRAGMA foreign_keys = ON");
  writer.run("PRAGMA busy_timeout = 0");
  writer.run(`CREATE TABLE names (name TEXT PRIMARY KEY,
    of TEXT REFERENCES names (name) DEFERRABLE INITIALLY DEFERRED)`);
  reader = new Database(join(folder, "test.sqlite"), { readonly: true });
  control = [];
  // No group ends by its time on a slow machine, unless a transaction takes longer still.
  queue = new CommitQueue(
    {
      get inTransaction() {
        return writer.inTransaction;
      },
      prepare(sql) {
        control.push(sql);
        return writer.prepare(sql);
      },
    },
    { group_ms: GROUP_MS },
  );
});
afterEach(async () => {
  await queue.idle();
  reader.close();
  writer.close();
  rmSync(folder, { recursive: true });
});

const namesIn = (database: Database) =>
  database
    .query<{ name: string }, []>("SELECT name FROM names ORDER BY rowid")
    .all()
    .map(({ name }) => name);
const insert = (name: string, of: string | null = null) =>
  void writer.query("INSERT INTO names (name, of) VALUES (?, ?)").run(name, of);
const add = (name: string) => queue.add(async () => insert(name));
const commits = () => control.filter((sql) => sql === "COMMIT").length;
const BROKEN = "FOREIGN KEY constraint failed";
const messageOf = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    (error: Error) => error.message,
  );

describe("a group", () => {
  test("is those of one turn, run in their order and committed once", async () => {
    const order: number[] = [];
    const all = Array.from({ length: 20 }, (_, i) => add(`${i}`).then(() => order.push(i)));
    await Promise.all(all);
    expect(commits()).toBe(1);
    expect(order).toEqual(all.map((_, i) => i));
    expect(namesIn(reader)).toEqual(all.map((_, i) => `${i}`));
  });

  test("has a bound in number, and the next one follows without being asked for", async () => {
    await Promise.all(Array.from({ length: 130 }, (_, i) => add(`${i}`)));
    expect(commits()).toBe(3);
    expect(namesIn(reader)).toHaveLength(130);
  });

  test("ends after a transaction that takes long: those behind it have their own", async () => {
    const slow = queue.add(async () => {
      insert("slow");
      await Bun.sleep(GROUP_MS + 10);
    });
    const after = add("after");
    await slow;
    expect(namesIn(reader)).toEqual(["slow"]);
    await after;
    expect(commits()).toBe(2);
  });

  test("takes in those that begin while it runs", async () => {
    let second: Promise<void> | undefined;
    await queue.add(async () => {
      second = add("second");
      insert("first");
    });
    await second;
    expect(commits()).toBe(1);
    expect(namesIn(reader)).toEqual(["first", "second"]);
  });
});

describe("an answer", () => {
  test("comes after the commit, and shows what came before in the group", async () => {
    const seen: unknown[] = [];
    const first = add("first").then(() => seen.push(["answered first", namesIn(reader)]));
    const second = queue.add(async () => {
      seen.push(["inside", namesIn(writer), "outside", namesIn(reader)]);
      insert("second");
    });
    await Promise.all([first, second]);
    expect(seen).toEqual([
      ["inside", ["first"], "outside", []],
      ["answered first", ["first", "second"]],
    ]);
  });

  test("that refuses waits for the commit too: what it refuses by may be undone", async () => {
    const told = await Promise.all([
      messageOf(add("taken")),
      messageOf(add("taken")),
      // Breaks a reference, which the commit finds out.
      messageOf(queue.add(async () => insert("orphan", "nobody"))),
    ]);
    expect(told).toEqual([BROKEN, BROKEN, BROKEN]);
    expect(namesIn(reader)).toEqual([]);
  });
});

describe("a transaction that fails", () => {
  test("is undone alone, and its error is its caller's alone", async () => {
    const told = await Promise.all([
      messageOf(add("first")),
      messageOf(
        queue.add(async () => {
          insert("gone");
          throw new Error("no");
        }),
      ),
      messageOf(add("first")),
      messageOf(add("last")),
    ]);
    expect(told).toEqual(["done", "no", "UNIQUE constraint failed: names.name", "done"]);
    expect(namesIn(reader)).toEqual(["first", "last"]);
    expect(commits()).toBe(1);
  });

  test("in the commit fails with all who share it, and the queue goes on", async () => {
    const told = await Promise.all([
      messageOf(add("first")),
      messageOf(queue.add(async () => insert("orphan", "nobody"))),
      messageOf(add("last")),
    ]);
    expect(told).toEqual([BROKEN, BROKEN, BROKEN]);
    expect([namesIn(reader), writer.inTransaction]).toEqual([[], false]);
    await add("next");
    expect(namesIn(reader)).toEqual(["next"]);
  });

  test("for want of room fails with those before it, not with those behind it", async () => {
    const pages = writer.query<{ page_count: number }, []>("PRAGMA page_count").get()?.page_count ?? 0;
    writer.run(`PRAGMA max_page_count = ${pages + 2}`);
    const told = await Promise.all([
      messageOf(add("before")),
      messageOf(add("x".repeat(100_000))),
      messageOf(add("behind")),
    ]);
    expect(told).toEqual(["database or disk is full", "database or disk is full", "done"]);
    expect([namesIn(reader), writer.inTransaction]).toEqual([["behind"], false]);
  });
});

test("another process that writes too long fails those who waited for it, and nobody later", async () => {
  const other = new Database(join(folder, "test.sqlite"));
  other.run("BEGIN IMMEDIATE");
  const patient = new CommitQueue(writer, { busy_ms: 30 });
  const waited = ["a", "b"].map((name) => messageOf(patient.add(async () => insert(name))));
  expect(await Promise.all(waited)).toEqual(Array(2).fill("database is locked"));
  other.run("COMMIT");
  await patient.add(async () => insert("c"));
  expect(namesIn(reader)).toEqual(["c"]);
  other.close();
});
