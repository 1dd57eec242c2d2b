import { expect, test } from "bun:test";
import type { Api, Json } from "../../support/harness.ts";
import { makePreparedFolder, serveHere, startServer } from "../../support/process.ts";
import { addSubscription } from "../../usage/fixtures.ts";
import { killRounds } from "../../support/properties.ts";

/** Few in every run; `KILL_ROUNDS=100 bun test --timeout 3600000 test/entitlements/alerts/kill.test.ts` makes more of them. */
const ROUNDS = killRounds(2);
const EVENT = { external_subscription_id: "limited", usage: 10 };

async function toldOf(api: Api, alert_id: number): Promise<{ firings: number; events: string[] }> {
  const { meta } = (await api("GET", `/alerts/${alert_id}/firings`)).body;
  const { data } = (await api("GET", "/events?limit=200")).body;
  const events = data
    .filter(({ type }: Json) => type === "alert.reached" || type === "limit.reached")
    .map((event: Json) => `${event.type} ${event.data.threshold}`);
  return { firings: meta.total, events: events.toSorted() };
}

test(
  "kill -9 between a total and its event: after the start each threshold is told once",
  async () => {
    const { env } = await makePreparedFolder();
    let alert_id = 0;
    await serveHere(env, async (api) => {
      const { id } = await addSubscription({ api }, "limited");
      await api("POST", "/features", { code: "tokens", name: "Tokens", kind: "limit" });
      await api("PUT", `/subscriptions/${id}/entitlements/tokens`, { limit: 10 * ROUNDS, window: "life" });
      const thresholds = Array.from({ length: ROUNDS }, (_, i) => 10 * (i + 1));
      const alert = { name: "A", on: "usage", feature: "tokens", thresholds };
      alert_id = (await api("POST", "/alerts", alert)).body.data.id;
    });
    for (let round = 0; round < ROUNDS; round++) {
      const server = await startServer(env);
      const api = await server.signIn();
      expect((await api("POST", "/usage/events", EVENT)).status).toBe(201);
      // At any moment before, in or after the look.
      await Bun.sleep((round * 2_300) / Math.max(ROUNDS - 1, 1));
      server.kill("SIGKILL");
      await server.exited;
    }
    const server = await startServer(env);
    const api = await server.signIn();
    const expected = [
      ...Array.from({ length: ROUNDS }, (_, i) => `alert.reached ${10 * (i + 1)}`),
      "limit.reached 100",
    ].toSorted();
    const until = Date.now() + 30_000;
    while ((await toldOf(api, alert_id)).events.length < expected.length && Date.now() < until)
      await Bun.sleep(100);
    // The next looks tell nothing more.
    await Bun.sleep(3_000);
    expect(await toldOf(api, alert_id)).toEqual({ firings: ROUNDS, events: expected });
    server.kill("SIGKILL");
    await server.exited;
  },
  120_000 + ROUNDS * 15_000,
);
