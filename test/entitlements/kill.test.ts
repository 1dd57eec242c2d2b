import { expect, test } from "bun:test";
import { chunks } from "../../src/core/chunk.ts";
import type { Api, Json } from "../support/harness.ts";
import { makePreparedFolder, serveHere, type ServerProcess, startServer } from "../support/process.ts";
import { addSubscription } from "../usage/fixtures.ts";
import { killRounds } from "../support/properties.ts";

/** Few in every run; `KILL_ROUNDS=100 bun test --timeout 3600000 test/entitlements/kill.test.ts` makes more of them. */
const ROUNDS = killRounds(1);
const CALLERS = 6;
const LIMIT = 1_000_000;

const EVENT = { usage: 3, timestamp: 1_700_000_000_000 };
const EXTERNAL = { external_subscription_id: "limited" };
const check = (api: Api, more: Json = {}) =>
  api("POST", "/usage/check", { ...EXTERNAL, feature: "tokens", ...more });

/** What callers know of the calls that were answered, and of those that may have been carried out. */
interface Known {
  /** The usage of events by id; answered or not. */
  sent: Map<string, number>;
  stored: Set<string>;
  /** Reservations that were answered, and neither settled nor freed by an answer. */
  held: Set<string>;
  freed: Set<string>;
}

/** Reserves, then settles with less, frees or leaves it, until the server is gone. */
async function callUntilDeath(api: Api, known: Known, caller: number): Promise<void> {
  try {
    for (let i = caller; ; i++) {
      const { id } = (await check(api, { units: 5, reserve_s: 3_600 })).body.data.reservation;
      known.held.add(id);
      if (i % 4 === 0) continue;
      if (i % 4 === 1) {
        known.freed.add(id);
        if ((await api("DELETE", `/usage/reservations/${id}`)).status === 200) known.held.delete(id);
        continue;
      }
      known.sent.set(id, 3);
      if ((await send(api, id)).status === 201) {
        known.stored.add(id);
        known.held.delete(id);
      }
    }
  } catch {
    // It was killed.
  }
}

const send = (api: Api, id: string) => api("POST", "/usage/events", { ...EXTERNAL, id, ...EVENT });

async function kill(server: ServerProcess, known: Known, api: Api): Promise<void> {
  const callers = Array.from({ length: CALLERS }, (_, i) => callUntilDeath(api, known, i));
  const before = known.stored.size;
  while (known.stored.size < before + 20) await Bun.sleep(1);
  server.kill("SIGKILL");
  await Promise.all([...callers, server.exited]);
}

test(
  "kill -9 among checks, reservations and commits: used is what the store measures, held what was not settled",
  async () => {
    const { env } = await makePreparedFolder();
    await serveHere(env, async (api) => {
      const { id } = await addSubscription({ api }, "limited");
      await api("POST", "/features", { code: "tokens", name: "Tokens", kind: "limit" });
      await api("PUT", `/subscriptions/${id}/entitlements/tokens`, { limit: LIMIT, window: "life" });
    });
    const known: Known = { sent: new Map(), stored: new Set(), held: new Set(), freed: new Set() };
    for (let round = 0; round < ROUNDS; round++) {
      const server = await startServer(env);
      const api = await server.signIn();
      await settleAll(api, known);
      await kill(server, known, await server.signIn());
    }
    await serveHere(env, (api) => settleAll(api, known));
    expect(known.stored.size).toBeGreaterThanOrEqual(20 * ROUNDS);
  },
  120_000 + ROUNDS * 15_000,
);

/** Compares a start with what is known, then sends again all that was sent, twice: it counts once. */
async function settleAll(api: Api, known: Known): Promise<void> {
  const total = async () => {
    const answers = await api("POST", "/usage/search", { aggregate: true });
    return Number(answers.body.data[0]?.total_usage ?? 0);
  };
  const certain = async () => {
    for (;;) {
      const { data } = (await check(api)).body;
      if (data.certain) return { used: Number(data.used), reserved: Number(data.reserved) };
    }
  };
  const started = await certain();
  expect(started.used).toBe(await total());
  expect(started.used).toBeGreaterThanOrEqual(3 * known.stored.size);
  for (let repeat = 0; repeat < 2; repeat++)
    for (const ids of chunks([...known.sent.keys()], 500)) {
      const events = ids.map((id) => ({ ...EXTERNAL, id, ...EVENT }));
      expect((await api("POST", "/usage/events", events)).status).toBe(201);
      for (const id of ids) {
        known.stored.add(id);
        known.held.delete(id);
      }
    }
  const settled = await certain();
  expect(settled.used).toBe(3 * known.sent.size);
  expect(settled.used).toBe(await total());
  // Those that were being freed when it died may be held still, and one that was never answered of each caller and round.
  const surely = [...known.held].filter((id) => !known.freed.has(id)).length;
  expect(settled.reserved).toBeGreaterThanOrEqual(5 * surely);
  expect(settled.reserved).toBeLessThanOrEqual(5 * (known.held.size + CALLERS * ROUNDS));
}
