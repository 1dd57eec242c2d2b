import { afterAll, expect, test } from "bun:test";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { logProblem } from "../../../src/usage_store/duckdb/engine/log_check.ts";
import { isDamageAtOpening } from "../../../src/usage_store/duckdb/engine/engine.ts";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { AppError } from "../../../src/core/errors.ts";
import { dice } from "../../support/dice.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { flipAnywhere, flipBit } from "../../support/flip_bits.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { TIMEOUT_MS } from "../conformance.ts";

// Bits flipped in the files of the usage store: what is answered is right, or a 503, or the store is refused at its
// opening. DAMAGE_ROUNDS=200 flips more of them. Decision 0199.

const ROUNDS = Number(process.env.DAMAGE_ROUNDS ?? (TESTS_ALL ? 6 : 2));
const folder = await mkdtemp(join(tmpdir(), "usage-damage-"));
afterAll(() => rm(folder, { recursive: true }));

const NOW_MS = 1_800_000_000_000;
const WINDOW = { subscription_id: 1, start_ms: 0, end_ms: 2 * NOW_MS };
const PAGE = { company_id: 1, sort_by: "timestamp", sort_order: "asc", limit: 200, offset: 0 } as const;
const ENDS = ["", ".wal", ".ids"];
// Of the file a start reads little of their metadata: damage there is met by questions.
const events = Array.from({ length: 3_000 }, (_, i) =>
  modelEvent({ object: { note: new Bun.CryptoHasher("sha512").update(String(i)).digest("hex") } }),
);

const COMPACTION = {
  hot_rows: 1_000,
  segment_rows: 2_000,
  move_rows: 700,
  snapshot_rows: 1,
  min_events: 1,
  max_share: 1,
  retry_ms: 10,
};

/** Sorted segments in the file, a snapshot of the index, and the last events in the log: as a killed process leaves them. */
async function makeFiles(): Promise<string> {
  const path = join(folder, "source.duckdb");
  const store = await openDuckDb({ path, compaction: COMPACTION });
  await store.append(1, events.slice(0, 2_000), NOW_MS);
  await store.compact();
  for (let at = 2_000; at < 3_000; at += 100) await store.append(1, events.slice(at, at + 100), NOW_MS);
  const copy = join(folder, "copy.duckdb");
  for (const end of ENDS) if (existsSync(path + end)) cpSync(path + end, copy + end);
  await store.close();
  return copy;
}

/** All that can be asked, as text; what is refused as "503". */
async function ask(path: string): Promise<string[]> {
  const store = await openDuckDb({ path, compaction: { ...COMPACTION, hot_rows: 1e9, segment_rows: 1e9 } });
  const or503 = async (answer: Promise<unknown>) =>
    answer.then(
      (value) => JSON.stringify(value),
      (error: unknown) => {
        if (error instanceof AppError && error.kind === "unavailable") return "503";
        throw error;
      },
    );
  try {
    return [
      await or503(store.totals(1, [WINDOW], { timeout_ms: TIMEOUT_MS })),
      await or503(store.sums(1, [WINDOW], TIMEOUT_MS)),
      await or503(store.search(PAGE, TIMEOUT_MS)),
      await or503(store.search({ ...PAGE, metadata_search: "a" }, TIMEOUT_MS)),
      await or503(store.append(1, events.slice(0, 50), NOW_MS)),
    ];
  } finally {
    await store.close();
  }
}

test("no flipped bit of the file, its log or the snapshot of ids changes an answer", async () => {
  const source = await makeFiles();
  const files = ENDS.map((end) => ({ end, bytes: readFileSync(source + end) }));
  const path = join(folder, "damaged.duckdb");
  const lay = (damaged?: { end: string; bytes: Uint8Array }) => {
    for (const { end, bytes } of files)
      writeFileSync(path + end, damaged?.end === end ? damaged.bytes : bytes);
  };
  lay();
  const right = await ask(path);
  expect(right.includes("503")).toBe(false);
  const tally: Record<string, number> = {};
  for (let seed = 0; seed < ROUNDS; seed++) {
    const roll = dice(seed);
    for (const { end, bytes } of files) {
      const { at, damaged } = flipAnywhere(bytes, roll);
      lay({ end, bytes: damaged });
      const where = `${end || "file"} byte ${at} seed ${seed}`;
      const answers = await ask(path).catch((error: unknown) => {
        if (!isDamageAtOpening(error)) throw new Error(`${where}: ${String(error)}`, { cause: error });
        return null;
      });
      answers?.forEach((answer, i) => {
        if (answer !== "503") expect([where, answer]).toEqual([where, right[i] ?? ""]);
      });
      const outcome = answers === null ? "refused" : answers.includes("503") ? "503" : "right";
      tally[`${end || "file"} ${outcome}`] = (tally[`${end || "file"} ${outcome}`] ?? 0) + 1;
      for (const other of ENDS) rmSync(path + other, { force: true });
    }
  }
  if (ROUNDS > 6) console.log(tally);
  expect(tally[".ids right"]).toBe(ROUNDS);
}, 600_000);

test("a log that was cut off is no problem; a wrong size of an entry that others follow is", async () => {
  const log = readFileSync(join(folder, "copy.duckdb.wal"));
  const path = join(folder, "log");
  const problemWith = (bytes: Uint8Array) => {
    writeFileSync(path, bytes);
    return logProblem(path);
  };
  const roll = dice(3);
  for (const length of [0, 5, 8, 20, log.length, ...Array.from({ length: 20 }, () => roll(log.length))])
    expect([length, problemWith(log.subarray(0, length))]).toEqual([length, null]);
  expect(logProblem(join(folder, "none"))).toBeNull();
  // The size of the first entry: every bit that makes it reach beyond the end of the file.
  for (let bit = 24; bit < 64; bit++)
    expect(problemWith(flipBit(log, 8 + (bit >> 3), bit & 7))).toContain("others follow");
  const wiped = Buffer.from(log);
  wiped.fill(0xff, 8, 16);
  expect(problemWith(wiped)).toContain("others follow");
  for (let at = 0; at < 8; at++) expect(problemWith(flipBit(log, at, 4))).toContain("beginning is damaged");
});
