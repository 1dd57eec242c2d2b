import { expect, test } from "bun:test";
import type { Api, Json } from "../../support/harness.ts";
import { makePreparedFolder, serveHere, startServer } from "../../support/process.ts";
import { addCatalog, flatModel, subscribe } from "../subscriptions/fixtures.ts";
import { killRounds } from "../../support/properties.ts";

/** `KILL_ROUNDS=100 bun test test/billing/simulations/kill.test.ts` makes more of them. */
const ROUNDS = killRounds(1);
const SUBSCRIPTIONS = 120;
const MONTH = "2024-01";

const find = async (api: Api, id: number): Promise<Json> =>
  (await api("GET", `/simulations/${id}`)).body.data;

test(
  "a simulation whose process is killed goes on after its last step: no subscription is missing or there twice",
  async () => {
    const place = await makePreparedFolder();
    let price = 0;
    await serveHere(place.env, async (api) => {
      const catalog = await addCatalog({ api });
      const started_at = `${MONTH}-01T00:00:00Z`;
      await Promise.all(Array.from({ length: SUBSCRIPTIONS }, () => subscribe(api, catalog, { started_at })));
      const { body } = await api("POST", "/billing-runs", { period: MONTH });
      expect(body.data.counts).toMatchObject({ periods: SUBSCRIPTIONS, failed: 0 });
      price = Number(body.data.records[0].totalCharges);
    });
    for (let round = 0; round < ROUNDS; round++) {
      const server = await startServer(place.env);
      const api = await server.signIn();
      const billing_model = { ...flatModel(), price: price + 1 };
      const asked = { billing_model, from: MONTH, to: MONTH };
      const { id } = (await api("POST", "/simulations", asked)).body.data;
      const enough = (round % 4) * 30;
      while ((await find(api, id)).progress.done < enough) await Bun.sleep(1);
      server.kill("SIGKILL");
      await server.exited;
      await serveHere(place.env, async (again) => {
        let found = await find(again, id);
        for (; found.status === "running"; found = await find(again, id)) await Bun.sleep(20);
        const billed = (price * SUBSCRIPTIONS).toFixed(2);
        const simulated = ((price + 1) * SUBSCRIPTIONS).toFixed(2);
        expect(found).toMatchObject({
          status: "finished",
          reproduces: true,
          counts: { subscriptions: SUBSCRIPTIONS, periods: SUBSCRIPTIONS, failed: 0 },
          totals: { billed, simulated, difference: `${SUBSCRIPTIONS}.00` },
        });
        const rows = (await again("GET", `/simulations/${id}/rows?limit=200`)).body.data;
        expect(new Set(rows.map((row: Json) => row.subscription_id)).size).toBe(SUBSCRIPTIONS);
        expect(rows).toHaveLength(SUBSCRIPTIONS);
      });
    }
    place.remove();
  },
  ROUNDS * 60_000 + 60_000,
);
