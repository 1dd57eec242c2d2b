import { expect, test } from "bun:test";
import { join } from "node:path";
import { makePreparedFolder, startServer } from "../../support/process.ts";
import type { Api } from "../../support/harness.ts";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { batchId, HOURS, readBatches, UNIQUE } from "../../usage_store/duckdb/memory_shortage.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { addSubscription } from "../fixtures.ts";

/**
 * Some with TEST_ALL; `SHORTAGE_ROUNDS=20 bun test test/usage/ingest/memory_shortage.test.ts` makes more of them. Every check
 * tries the store itself with too little memory (test/usage_store/duckdb/memory_shortage.test.ts).
 */
const ROUNDS = Number(process.env.SHORTAGE_ROUNDS ?? 3);
/** A round lasts so long at least, and until so many of its batches were answered. */
const ROUND_MS = 2_000;
const ROUND_BATCHES = 4;
const LIMITS = ["10MB", "12MB", "16MB"];
const SIZES = [1, 100, 500, 1_000];

/** What a round's senders and askers saw. */
interface Seen {
  next: number;
  sent: Map<number, number>;
  done: Set<number>;
  statuses: Map<string, number>;
  is_over: boolean;
}

/** Counts an answer by what was asked; undefined when the server is gone. */
async function call(seen: Seen, what: string, asked: ReturnType<Api>): Promise<number | undefined> {
  const answer = await asked.catch(() => undefined);
  if (answer === undefined) return undefined;
  const key = `${what} ${answer.status}`;
  seen.statuses.set(key, (seen.statuses.get(key) ?? 0) + 1);
  return answer.status;
}

/** Sends batches, each again by the same ids until it is stored. */
async function sendForever(api: Api, seen: Seen, size: number): Promise<void> {
  while (!seen.is_over) {
    const batch = seen.next++;
    const events = Array.from({ length: size }, (_, i) => {
      const id = batchId(batch, i);
      const timestamp = 1_760_000_000_000 + ((batch * 7_919 + i) % HOURS) * 3_600_000;
      return { id, external_subscription_id: "short", usage: 1, timestamp, metadata: { [UNIQUE]: id } };
    });
    seen.sent.set(batch, size);
    for (let status = 0; status !== 201; ) {
      const answered = await call(seen, "ingest", api("POST", "/usage/events", events));
      if (answered === undefined) return;
      status = answered;
      if (status !== 201) await Bun.sleep(20);
    }
    seen.done.add(batch);
  }
}

async function askForever(api: Api, seen: Seen): Promise<void> {
  const body = { aggregate: true, group_by: `metadata:${UNIQUE}` };
  while (!seen.is_over && (await call(seen, "aggregate", api("POST", "/usage/search", body))) !== undefined)
    await Bun.sleep(5);
}

test.if(TESTS_ALL || process.env.SHORTAGE_ROUNDS !== undefined)(
  "with too little memory ingest beside aggregates answers 201 or 503, and kills and refusals lose and double nothing",
  async () => {
    const place = await makePreparedFolder();
    const seen: Seen = { next: 0, sent: new Map(), done: new Set(), statuses: new Map(), is_over: false };
    const figures = { rounds: 0, failures: 0, lost: 0, doubled: 0, torn: 0, different: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      const limit = LIMITS[round % LIMITS.length] ?? "";
      const server = await startServer({ ...place.env, USAGE_MEMORY_LIMIT: limit });
      const api = await server.signIn();
      if (round === 0) await addSubscription({ api }, "short");
      seen.is_over = false;
      const busy = [
        ...SIZES.map((size) => sendForever(api, seen, size)),
        askForever(api, seen),
        askForever(api, seen),
      ];
      const wanted = seen.done.size + ROUND_BATCHES;
      await Bun.sleep(ROUND_MS);
      while (seen.done.size < wanted) await Bun.sleep(50);
      figures.failures += server.printed().split("the engine failed").length - 1;
      seen.is_over = true;
      server.kill("SIGKILL");
      await Promise.all([...busy, server.exited]);

      const path = join(place.data_dir, "usage.duckdb");
      const store = await openDuckDb({ path });
      figures.different += (await store.check(null, 60_000)).different;
      await store.close();
      const { batches, doubled } = await readBatches(path);
      figures.rounds++;
      figures.doubled += doubled;
      for (const batch of seen.done) figures.lost += (seen.sent.get(batch) ?? 0) - (batches.get(batch) ?? 0);
      for (const [batch, events] of batches) if (events !== seen.sent.get(batch)) figures.torn++;
    }
    if (process.env.SHORTAGE_ROUNDS !== undefined)
      console.info({ ...figures, batches: seen.done.size, statuses: Object.fromEntries(seen.statuses) });
    expect(figures).toMatchObject({ rounds: ROUNDS, lost: 0, doubled: 0, torn: 0, different: 0 });
    expect(seen.done.size).toBeGreaterThanOrEqual(ROUNDS * ROUND_BATCHES);
    const known = [
      "ingest 201",
      "ingest 503",
      "aggregate 200",
      "aggregate 422",
      "aggregate 429",
      "aggregate 503",
    ];
    expect([...seen.statuses.keys()].filter((status) => !known.includes(status))).toEqual([]);
    place.remove();
  },
  ROUNDS * 300_000,
);
