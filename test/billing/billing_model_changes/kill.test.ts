import { expect, test } from "bun:test";
import { makePreparedFolder, type ServerProcess, startServer } from "../../support/process.ts";
import type { Api, Json } from "../../support/harness.ts";
import { addCatalog, create, flatModel, subscribe } from "../subscriptions/fixtures.ts";
import { changesOf, changeTo } from "./fixtures.ts";

/** Few in every run; `KILL_ROUNDS=100 bun test test/billing/billing_model_changes/kill.test.ts` makes more of them. */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 2);
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
    let server: ServerProcess = await startServer(place.env);
    let api = await server.signIn();
    const catalog = await addCatalog({ api });
    const started_at = "2024-01-01T00:00:00Z";
    const models: number[] = [];
    for (let i = 0; i < 3; i++) models.push((await create(api, "/billing-models", flatModel())).id);
    const [a = 0, b = 0, c = 0] = models;

    const prompt = (await subscribe(api, catalog, { started_at })).id;
    await changeTo(api, prompt, a, inMs(300));
    const [[{ effective_at, applied_at }]] = (await settled(api, [prompt])) as [[Json]];
    expect(Date.parse(applied_at) - Date.parse(effective_at)).toBeWithin(0, DELAY_MS);

    for (let round = 0; round < ROUNDS; round++) {
      const ids: number[] = [];
      for (let i = 0; i < SUBSCRIPTIONS; i++) ids.push((await subscribe(api, catalog, { started_at })).id);
      // Due about when the server is killed: before, while and after changes are applied.
      const first = Date.now() + 1_500;
      for (const [i, id] of ids.entries()) {
        for (const [step, model] of [a, b, c].entries()) {
          const at = new Date(first + i * 40 + step * 300).toISOString();
          expect((await changeTo(api, id, model, at)).status).toBe(200);
        }
      }
      await Bun.sleep(Math.max(0, first + 200 + (round % 3) * 350 - Date.now()));
      server.kill("SIGKILL");
      await server.exited;
      await Bun.sleep(500);
      server = await startServer(place.env);
      api = await server.signIn();
      const changes = await settled(api, ids);
      for (const [i, own] of changes.entries()) {
        const steps = own.map((one) => [one.status, one.old_billing_model_id, one.new_billing_model_id]);
        const first_model = catalog.billing_model_id;
        expect(steps).toEqual([
          ["applied", first_model, a],
          ["applied", a, b],
          ["applied", b, c],
        ]);
        const times = own.map((one) => Date.parse(one.applied_at));
        expect(times).toEqual(times.toSorted((x, y) => x - y));
        expect((await api("GET", `/subscriptions/${ids[i]}`)).body.data.billing_model_id).toBe(c);
      }
    }
    server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
    place.remove();
  },
  ROUNDS * 60_000,
);
