import { expect, test } from "bun:test";
import type { Api } from "../../support/harness.ts";
import { makePreparedFolder, serveHere, type ServerProcess, startServer } from "../../support/process.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { addSubscription, search } from "../fixtures.ts";

/**
 * Some with TEST_ALL, `KILL_ROUNDS=100 bun test test/usage/ingest/kill.test.ts` makes more of them. Every check kills the
 * store itself (test/usage_store/duckdb/kill.test.ts) and the service in other work (test/chaos).
 */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 3);
const SENDERS = 8;
const BATCH = 20;

interface Batch {
  ids: string[];
  answered: boolean;
}

const body = ({ ids }: Batch) =>
  ids.map((id) => ({ id, external_subscription_id: "killed", usage: 1, timestamp: 1_700_000_000_000 }));

/** Sends batches without a pause until the server is gone. */
async function sendUntilDeath(api: Api, batches: Batch[]): Promise<void> {
  for (;;) {
    const batch: Batch = { ids: Array.from({ length: BATCH }, () => crypto.randomUUID()), answered: false };
    batches.push(batch);
    try {
      batch.answered = (await api("POST", "/usage/events", body(batch))).status === 201;
    } catch {
      return;
    }
  }
}

async function killDuringIngest(server: ServerProcess, api: Api, after_ms: number): Promise<Batch[]> {
  const batches: Batch[] = [];
  const senders = Array.from({ length: SENDERS }, () => sendUntilDeath(api, batches));
  // A busy machine may have answered nothing by then.
  for (
    let waited = 0;
    waited < after_ms || batches.filter(({ answered }) => answered).length <= 5;
    waited++
  ) {
    await Bun.sleep(1);
  }
  server.kill("SIGKILL");
  await Promise.all([...senders, server.exited]);
  return batches;
}

test.if(TESTS_ALL || process.env.KILL_ROUNDS !== undefined)(
  "kill -9 during ingest loses no answered event, and sending again what was not answered doubles none",
  async () => {
    const place = await makePreparedFolder();
    await serveHere(place.env, (api) => addSubscription({ api }, "killed"));
    let events = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const server = await startServer(place.env);
      const batches = await killDuringIngest(server, await server.signIn(), 150 + (round % 3) * 110);
      const answered = batches.filter((batch) => batch.answered);
      const open = batches.filter((batch) => !batch.answered);
      expect(answered.length).toBeGreaterThan(5);
      expect(open.length).toBeGreaterThan(0);
      await serveHere(place.env, async (api) => {
        for (const batch of batches) {
          const { data } = (await api("POST", "/usage/events", body(batch))).body;
          // An answered batch is there as a whole; another one as a whole or not at all.
          expect(batch.answered ? [0] : [0, BATCH]).toContain(data.accepted);
          expect(data.accepted + data.duplicates).toBe(BATCH);
        }
        events += batches.length * BATCH;
        const [total] = (await search(api, { aggregate: true })).data;
        expect(total).toMatchObject({ event_count: events, total_usage: events });
      });
    }
    place.remove();
  },
  ROUNDS * 300_000,
);
