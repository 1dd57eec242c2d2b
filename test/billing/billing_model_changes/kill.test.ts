import { expect, test } from "bun:test";
import { makePreparedFolder, serveHere, startServer } from "../../support/process.ts";
import type { Api, Json } from "../../support/harness.ts";
import { addCatalog, create, flatModel, subscribe } from "../subscriptions/fixtures.ts";
import { changesOf, changeTo } from "./fixtures.ts";
import { killRounds } from "../../support/properties.ts";

/** Few in every run; `KILL_ROUNDS=100 bun test test/billing/billing_model_changes/kill.test.ts` makes more of them. */
const ROUNDS = killRounds(1);
const SUBSCRIPTIONS = 6;
/** A change takes effect within so long of its instant. */
const DELAY_MS = 2_000;

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

/** Waits until no change is scheduled any more. */
async function settled(api: Api, ids: number[]): Promise<Json[][]> {
  for (;;) {
    const changes = await Promise.all(ids.map((id) => changesOf(api, id)));
    if (changes.flat().every(({ status }) => status !== "scheduled")) return changes;
    await Bun.sleep(50);
  }
}

test(
  "a running server applies what is due within two seconds, one that was killed after its start, in order",
  async () => {
    const place = await makePreparedFolder();
    const started_at = "2024-01-01T00:00:00Z";
    const models: number[] = [];
    let catalog: Json;
    await serveHere(place.env, async (api) => {
      catalog = await addCatalog({ api });
      for (let i = 0; i < 3; i++) models.push((await create(api, "/billing-models", flatModel())).id);
      const prompt = (await subscribe(api, catalog, { started_at })).id;
      await changeTo(api, prompt, models[0] ?? 0, inMs(300));
      const [[{ effective_at, applied_at }]] = (await settled(api, [prompt])) as [[Json]];
      expect(Date.parse(applied_at) - Date.parse(effective_at)).toBeWithin(0, DELAY_MS);
    });
    const [a = 0, b = 0, c = 0] = models;

    for (let round = 0; round < ROUNDS; round++) {
      const server = await startServer(place.env);
      const api = await server.signIn();
      const ids: number[] = [];
      for (let i = 0; i < SUBSCRIPTIONS; i++) ids.push((await subscribe(api, catalog, { started_at })).id);
      // Due about when the server is killed: before, while and after changes are applied.
      const first = Date.now() + 1_500;
      for (const [i, id] of ids.entries()) {
        for (const [step, model] of models.entries()) {
          const at = new Date(first + i * 40 + step * 300).toISOString();
          expect((await changeTo(api, id, model, at)).status).toBe(200);
        }
      }
      await Bun.sleep(Math.max(0, first + 200 + (round % 3) * 350 - Date.now()));
      server.kill("SIGKILL");
      await server.exited;
      await Bun.sleep(500);
      await serveHere(place.env, async (again) => {
        const changes = await settled(again, ids);
        for (const [i, own] of changes.entries()) {
          const steps = own.map((one) => [one.status, one.old_billing_model_id, one.new_billing_model_id]);
          expect(steps).toEqual([
            ["applied", catalog.billing_model_id, a],
            ["applied", a, b],
            ["applied", b, c],
          ]);
          const times = own.map((one) => Date.parse(one.applied_at));
          expect(times).toEqual(times.toSorted((x, y) => x - y));
          expect((await again("GET", `/subscriptions/${ids[i]}`)).body.data.billing_model_id).toBe(c);
        }
      });
    }
    place.remove();
  },
  ROUNDS * 60_000,
);
