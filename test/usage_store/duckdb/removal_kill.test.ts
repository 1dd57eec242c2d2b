import { afterAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { HOUR_MS } from "../../../src/usage_store/time_buckets.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { failure, FIRST_PAGE, NOW_MS, TIMEOUT_MS, TOTAL } from "../fixtures.ts";

/** Few in every run; `KILL_ROUNDS=100 bun test test/usage_store/duckdb/removal_kill.test.ts` makes more of them. */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 1);
const EVENTS = 6_000;
const folder = await mkdtemp(join(tmpdir(), "usage-removal-"));
afterAll(() => rm(folder, { recursive: true }));

/** Kills a process while it removes, after so many portions. */
async function removeAndKill(path: string, since_ms: number, portions: number): Promise<void> {
  const writer = join(import.meta.dir, "removal_writer.ts");
  const child = Bun.spawn([process.execPath, writer, path, String(since_ms)], { stdout: "pipe" });
  let output = "";
  const decoder = new TextDecoder();
  for await (const bytes of child.stdout) {
    output += decoder.decode(bytes, { stream: true });
    if (output.split("\n").length > portions) child.kill("SIGKILL");
  }
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
}

test(
  "kill -9 while events are removed: each counts once, what is left goes on, and none comes back",
  async () => {
    const path = join(folder, "killed.duckdb");
    const first_ms = NOW_MS - (NOW_MS % HOUR_MS) - 1_000 * HOUR_MS;
    const failures: unknown[] = [];
    const open = () => openDuckDb({ path, on_failure: (error) => failures.push(error) });
    const store = await open();
    const events = Array.from({ length: EVENTS }, (_, i) =>
      modelEvent({ timestamp: first_ms + i * 600_000, subscription_id: 1 + (i % 3) }),
    );
    await store.append(1, events, NOW_MS);
    await store.append(2, events.slice(0, 5), NOW_MS);
    const by_day = { ...TOTAL, company_id: 1, group_by: ["subscription" as const, "day" as const] };
    const sorted = (rows: object[]) => rows.map((row) => JSON.stringify(row)).toSorted();
    const expected = sorted(await store.aggregate(by_day, TIMEOUT_MS));
    const last_seq = await store.lastSeq(1, TIMEOUT_MS);
    await store.close();
    for (let round = 0; round < ROUNDS; round++) {
      const since_ms = first_ms + Math.floor(((round + 1) * 900) / ROUNDS) * HOUR_MS;
      await removeAndKill(path, since_ms, 1 + ((round * 7) % 20));
      const again = await open();
      expect(again.sinceOf(1)).toBe(since_ms);
      expect(sorted(await again.aggregate(by_day, TIMEOUT_MS))).toEqual(expected);
      expect((await failure(again.append(1, events.slice(0, 1), NOW_MS))).kind).toBe("invalid");
      while ((await again.removeClosed(1, 1_000)) > 0);
      const left = events.filter(({ timestamp }) => timestamp >= since_ms).length;
      expect((await again.search({ ...FIRST_PAGE, company_id: 1 }, TIMEOUT_MS)).total).toBe(left);
      expect((await again.search({ ...FIRST_PAGE, company_id: 2 }, TIMEOUT_MS)).total).toBe(5);
      expect(sorted(await again.aggregate(by_day, TIMEOUT_MS))).toEqual(expected);
      expect(await again.check(null, TIMEOUT_MS)).toMatchObject({ events: left + 5, different: 0 });
      expect(await again.lastSeq(1, TIMEOUT_MS)).toBe(last_seq);
      await again.close();
    }
    expect(failures).toEqual([]);
  },
  ROUNDS * 300_000,
);
