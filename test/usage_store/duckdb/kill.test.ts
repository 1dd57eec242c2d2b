import { afterAll, afterEach, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { forgeCollisions } from "./forge_collisions.ts";

/** One in every run; `KILL_ROUNDS=100 bun test test/usage_store/duckdb/kill.test.ts` makes more of them. */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? (TESTS_ALL ? 3 : 1));
const ROUND_MS = 300_000;

const folder = await mkdtemp(join(tmpdir(), "usage-kill-"));
afterAll(() => rm(folder, { recursive: true }));

let restore = () => undefined as void;
afterEach(() => restore());

/** Runs a writer, kills it in the middle of its work, and gives the batches it sent and was answered. */
async function runAndKill(
  path: string,
  after_ms: number,
  how: string,
): Promise<{ sent: string[][]; done: string[][] }> {
  const child = Bun.spawn(["bun", join(import.meta.dir, "kill_writer.ts"), path, how], { stdout: "pipe" });
  let output = "";
  const decoder = new TextDecoder();
  let killer: ReturnType<typeof setTimeout> | undefined;
  for await (const bytes of child.stdout) {
    output += decoder.decode(bytes, { stream: true });
    // The time counts from the first answers, with all that goes on in the background seen at work once.
    const is_busy = output.includes("done") && existsSync(`${path}.ids`);
    if (is_busy) killer ??= setTimeout(() => child.kill("SIGKILL"), after_ms);
  }
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  // A last line without its end is a batch whose append had not begun.
  const lines = output.split("\n").slice(0, -1);
  const batches = (word: string) =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.split(" ").slice(1));
  return { sent: batches("sent"), done: batches("done") };
}

test.each(["", "collide"])(
  "every answered event survives kill -9, sent again none doubles %s",
  async (how) => {
    const path = join(folder, `killed${how}.duckdb`);
    const sent = new Map<string, string[]>();
    let answered = 0;
    if (how === "collide") restore = forgeCollisions();
    for (let round = 0; round < ROUNDS; round++) {
      const run = await runAndKill(path, 50 + ((round * 167) % 600), how);
      for (const ids of run.sent) sent.set(ids.join(), ids);
      const done = new Set(run.done.map((ids) => ids.join()));
      const open = run.sent.filter((ids) => !done.has(ids.join()));
      expect(run.done.length).toBeGreaterThan(0);
      answered += run.done.flat().length;

      const store = await openDuckDb({ path, pending_events: 10_000_000 });
      const repeat = (ids: string[]) =>
        store.append(
          1,
          ids.map((id) => modelEvent({ id })),
          2,
        );
      // An answered batch is a duplicate as a whole.
      const again = await Promise.all(run.done.map(repeat));
      expect(again).toEqual(run.done.map(({ length }) => ({ accepted: 0, duplicates: length })));
      // One without an answer is stored whole or not at all; sent again it is stored.
      for (const ids of open) {
        const { accepted, duplicates } = await repeat(ids);
        expect([accepted, duplicates].toSorted((x, y) => x - y)).toEqual([0, ids.length]);
      }
      const expected = [...sent.values()].flat().length;
      expect(await store.check(null, 30_000)).toMatchObject({ events: expected, different: 0 });
      await store.close();
    }
    const store = await openDuckDb({ path });
    const page = { company_id: 1, sort_by: "timestamp", sort_order: "asc", offset: 0 } as const;
    const { rows, total } = await store.search({ ...page, limit: 10_000_000 }, 30_000);
    const expected = [...sent.values()].flat();
    expect(answered).toBeGreaterThan(ROUNDS * 100);
    expect(total).toBe(expected.length);
    expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(expected));
    await store.close();
  },
  ROUNDS * ROUND_MS,
);

test("a commit that the disk refuses is an error, and its events are stored when sent again", async () => {
  const path = join(folder, "full.duckdb");
  // A limit on the size of a file stands for a full disk: the write of the log fails, in the commit.
  const shell = `trap "" XFSZ; ulimit -f 4000; exec bun "$0" "$1"`;
  const command = ["bash", "-c", shell, join(import.meta.dir, "full_disk_writer.ts"), path];
  const child = Bun.spawn(command, { stdout: "pipe" });
  const lines = (await new Response(child.stdout).text()).split("\n").slice(0, -1);
  const outcomes = lines.filter((_, i) => i % 2 === 1);
  const batches = lines.filter((_, i) => i % 2 === 0).map((line) => line.split(" ").slice(1));
  const done = outcomes.indexOf("unavailable");
  expect(outcomes.slice(done)).toEqual(["unavailable", "unavailable"]);
  expect(outcomes.slice(0, done)).toEqual(Array.from({ length: done }, () => "done"));
  expect(done).toBeGreaterThan(0);

  const store = await openDuckDb({ path });
  const accepted: number[] = [];
  for (const ids of batches.slice(0, done + 1)) {
    const result = await store.append(
      1,
      ids.map((id) => modelEvent({ id })),
      2,
    );
    accepted.push(result.accepted);
  }
  expect(accepted.slice(0, done)).toEqual(Array.from({ length: done }, () => 0));
  // Whole or not at all: the engine may have written the refused commit or not.
  expect([0, 1_000]).toContain(accepted.at(-1) ?? -1);
  const page = { company_id: 1, sort_by: "timestamp", sort_order: "asc", limit: 1, offset: 0 } as const;
  expect((await store.search(page, 30_000)).total).toBe((done + 1) * 1_000);
  await store.close();
});

/** A checkpoint failed: one in the background, or that of the opening after a commit had failed. */
const CHECKPOINT_FAILED = /the engine failed \(background\)|could not be opened again/;

test("a disk that is full for a while, under checkpoints too, loses nothing, and ingest goes on by itself", async () => {
  const path = join(folder, "full_for_a_while.duckdb");
  const shell = `trap "" XFSZ; ulimit -S -f 2000; exec bun "$0" "$1"`;
  const command = ["bash", "-c", shell, join(import.meta.dir, "full_disk_checkpoint_writer.ts"), path];
  const child = Bun.spawn(command, { stdout: "pipe" });
  const decoder = new TextDecoder();
  let [output, seen_at_room, has_room] = ["", 0, false];
  for await (const bytes of child.stdout) {
    output += decoder.decode(bytes, { stream: true });
    const lines = output.split("\n");
    const refused = lines.filter((line) => line.startsWith("refused")).length;
    // A commit may be the first to fail, or a checkpoint: there is room once both have. Sometimes commits alone fail, and
    // are held back before a checkpoint is due.
    if (!has_room && (refused >= 100 || (refused >= 5 && CHECKPOINT_FAILED.test(output)))) {
      seen_at_room = lines.filter((line) => line.startsWith("done")).length;
      Bun.spawnSync(["prlimit", "--pid", String(child.pid), "--fsize=unlimited"]);
      has_room = true;
    }
    if (has_room && lines.filter((line) => line.startsWith("done")).length > seen_at_room + 30)
      child.kill("SIGKILL");
  }
  await child.exited;
  const lines = output.split("\n").slice(0, -1);
  const refusals = lines.filter((line) => line.startsWith("refused"));
  expect(new Set(refusals)).toEqual(new Set(["refused unavailable"]));
  expect(lines.filter((line) => line.includes("doctor"))).toEqual([]);

  const ids = lines.filter((line) => line.startsWith("done")).flatMap((line) => line.split(" ").slice(1));
  const store = await openDuckDb({ path });
  const again = await store
    .append(
      1,
      ids.map((id) => modelEvent({ id, usage: "2" })),
      2,
    )
    .catch(String);
  // Every one that was answered is there, with the content it had.
  expect(again).toContain(`${ids.length} of ${ids.length} ids are used already`);
  const { events, different } = await store.check(null, 30_000);
  // The batch that was under way when it was killed may be there.
  expect([ids.length, ids.length + 1_000]).toContain(events);
  expect(different).toBe(0);
  await store.close();
});
