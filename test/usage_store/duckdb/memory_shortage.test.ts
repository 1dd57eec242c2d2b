import { afterAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { readBatches } from "./memory_shortage.ts";

/** One in every run; `SHORTAGE_ROUNDS=100 bun test test/usage_store/duckdb/memory_shortage.test.ts` makes more of them. */
const ROUNDS = Number(process.env.SHORTAGE_ROUNDS ?? (TESTS_ALL ? 3 : 1));
/** A round lasts so long at least, and until so many batches were answered. */
const ROUND_MS = 3_000;
const ROUND_BATCHES = 5;
const LIMITS = ["10MB", "8MB", "14MB", "10MB", "24MB", "64MB"];

const folder = await mkdtemp(join(tmpdir(), "usage-shortage-"));
afterAll(() => rm(folder, { recursive: true }));

/** What a writer printed. */
interface Printed {
  sent: Map<number, number>;
  done: Set<number>;
  told: string[];
}

async function runAndEnd(
  path: string,
  limit: string,
  first: number,
  signal: NodeJS.Signals,
): Promise<Printed> {
  const command = ["bun", join(import.meta.dir, "memory_shortage_writer.ts"), path, limit, String(first)];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
  const errors = new Response(child.stderr).text();
  const decoder = new TextDecoder();
  let output = "";
  let answered = 0;
  let ender: ReturnType<typeof setInterval> | undefined;
  for await (const bytes of child.stdout) {
    const text = decoder.decode(bytes, { stream: true });
    output += text;
    answered += text.split("done ").length - 1;
    ender ??= setInterval(() => {
      if (answered < ROUND_BATCHES) return;
      clearInterval(ender);
      child.kill(signal);
    }, ROUND_MS);
  }
  await child.exited;
  clearInterval(ender);
  // It ended as it was told to, not by an error of its own.
  expect([await errors, child.signalCode ?? child.exitCode]).toEqual([
    "",
    signal === "SIGKILL" ? "SIGKILL" : 0,
  ]);
  const printed: Printed = { sent: new Map(), done: new Set(), told: [] };
  for (const line of output.split("\n").slice(0, -1)) {
    const [word, number = "", size] = line.split(" ");
    if (word === "sent") printed.sent.set(Number(number), Number(size));
    else if (word === "done") printed.done.add(Number(number));
    else printed.told.push(line);
  }
  return printed;
}

test(
  "with too little memory, killed and not, every answered event is stored once, and all sums are right",
  async () => {
    const path = join(folder, "short.duckdb");
    const sent = new Map<number, number>();
    const done = new Set<number>();
    const figures = { rounds: 0, engines_lost: 0, reopenings: 0, lost: 0, doubled: 0, torn: 0, different: 0 };
    const mismatches: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const limit = LIMITS[round % LIMITS.length] ?? "";
      const run = await runAndEnd(path, limit, round * 1_000_000, round % 3 === 2 ? "SIGTERM" : "SIGKILL");
      for (const [batch, size] of run.sent) sent.set(batch, size);
      for (const batch of run.done) done.add(batch);
      figures.rounds++;
      figures.engines_lost += run.told.filter((line) => line.includes("the engine failed")).length;
      figures.reopenings += run.told.filter((line) => line.includes("opened again after")).length;
      mismatches.push(...run.told.filter((line) => line.includes("doctor")));

      const store = await openDuckDb({ path, memory_limit: "1GB" });
      const check = await store.check(null, 60_000);
      await store.close();
      const { batches, doubled } = await readBatches(path);
      figures.different += check.different;
      figures.doubled += doubled;
      for (const batch of done) figures.lost += (sent.get(batch) ?? 0) - (batches.get(batch) ?? 0);
      for (const [batch, events] of batches) if (events !== sent.get(batch)) figures.torn++;
    }
    if (process.env.SHORTAGE_ROUNDS !== undefined) console.info({ ...figures, batches: done.size });
    expect(figures).toMatchObject({ rounds: ROUNDS, lost: 0, doubled: 0, torn: 0, different: 0 });
    expect(mismatches).toEqual([]);
    expect(figures.engines_lost).toBeGreaterThan(0);
    expect(done.size).toBeGreaterThanOrEqual(ROUNDS * ROUND_BATCHES);
  },
  // Rounds end when enough was answered, which other work on the machine holds up.
  ROUNDS * 300_000,
);
