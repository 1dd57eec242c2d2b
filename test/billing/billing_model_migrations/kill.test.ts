import { expect, test } from "bun:test";
import { makePreparedFolder, serveHere, startServer } from "../../support/process.ts";
import type { Api, Json } from "../../support/harness.ts";
import { changesOf } from "../billing_model_changes/fixtures.ts";
import { addCatalog, create, flatModel, subscribe } from "../subscriptions/fixtures.ts";
import { killRounds } from "../../support/properties.ts";

/** `KILL_ROUNDS=100 bun test test/billing/billing_model_migrations/kill.test.ts` makes more of them. */
const ROUNDS = killRounds(1);
const SUBSCRIPTIONS = 40;

async function progressOf(api: Api, id: number): Promise<Json> {
  return (await api("GET", `/billing-model-migrations/${id}`)).body.data;
}

test(
  "a migration whose process is killed goes on with the next one, and changes each subscription once",
  async () => {
    const place = await makePreparedFolder();
    for (let round = 0; round < ROUNDS; round++) {
      const server = await startServer(place.env);
      const api = await server.signIn();
      const catalog = await addCatalog({ api });
      const started_at = "2024-01-01T00:00:00Z";
      const many = Array.from({ length: SUBSCRIPTIONS }, () => subscribe(api, catalog, { started_at }));
      const ids = (await Promise.all(many)).map(({ id }) => id);
      const to = (await create(api, "/billing-models", flatModel())).id;
      const { body } = await api("POST", "/billing-model-migrations", {
        from_billing_model_id: catalog.billing_model_id,
        to_billing_model_id: to,
        at: "next_period",
      });
      const { id } = body.data;
      const enough = 1 + (round % 10) * 3;
      while ((await progressOf(api, id)).counts.changed < enough) await Bun.sleep(1);
      server.kill("SIGKILL");
      await server.exited;
      await serveHere(place.env, async (again) => {
        while ((await progressOf(again, id)).status === "running") await Bun.sleep(20);
        const { counts, errors } = await progressOf(again, id);
        expect([counts, errors]).toEqual([
          { subscriptions: SUBSCRIPTIONS, changed: SUBSCRIPTIONS, failed: 0 },
          [],
        ]);
        for (const subscription_id of ids) {
          const changes = await changesOf(again, subscription_id);
          const shown = changes.map((change) => [change.new_billing_model_id, change.status]);
          expect(shown).toEqual([[to, "scheduled"]]);
        }
      });
    }
    place.remove();
  },
  ROUNDS * 60_000,
);
