import { expect, test } from "bun:test";
import type { Api, Json } from "../../support/harness.ts";
import { makePreparedFolder, serveHere, startServer } from "../../support/process.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { addSubscription, search } from "../fixtures.ts";

/** Few in every run; `KILL_ROUNDS=100 bun test test/usage/erasures/kill.test.ts` makes more of them. */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 1);
const EVENTS = TESTS_ALL ? 30_000 : 12_000;
const BATCH = 1_000;

const countOf = async (api: Api, metadata: Json): Promise<number> =>
  (await search(api, { aggregate: true, metadata })).data[0].event_count;

/** Events, two thirds of which name a person. */
const newEvents = (person: string) =>
  Array.from({ length: EVENTS }, (_, i) => ({
    id: crypto.randomUUID(),
    external_subscription_id: "erased",
    usage: 1,
    timestamp: 1_700_000_000_000 + i * 60_000,
    metadata: { person: i % 3 === 0 ? "other" : person, round: person },
  }));

test(
  "kill -9 during an erasure: it goes on at the next start, erases each event, counts it once and no other",
  async () => {
    const place = await makePreparedFolder();
    await serveHere(place.env, (api) => addSubscription({ api }, "erased"));
    for (let round = 0; round < ROUNDS; round++) {
      const person = `person ${round}`;
      const events = newEvents(person);
      const server = await startServer(place.env);
      const api = await server.signIn();
      for (let i = 0; i < EVENTS; i += BATCH) {
        const { status } = await api("POST", "/usage/events", events.slice(i, i + BATCH));
        expect(status).toBe(201);
      }
      const total = await search(api, { aggregate: true });
      const asked = await api("POST", "/usage/erasures", { metadata: { person } });
      expect(asked.status).toBe(202);
      // The job begins within the second, and takes some tenths of one.
      await Bun.sleep(300 + ((round * 337) % 1_100));
      server.kill("SIGKILL");
      await server.exited;
      const again = await startServer(place.env);
      const renewed = await again.signIn();
      let newest: Json;
      do {
        await Bun.sleep(100);
        [newest] = (await renewed("GET", "/usage/erasures")).body.data;
      } while (newest.status === "pending");
      expect(newest).toMatchObject({ id: asked.body.data.id, erased: (EVENTS / 3) * 2 });
      expect(await countOf(renewed, { person })).toBe(0);
      expect(await countOf(renewed, { round: person })).toBe(EVENTS / 3);
      expect(await countOf(renewed, { erased: "true" })).toBe((EVENTS / 3) * 2 * (round + 1));
      expect(await search(renewed, { aggregate: true })).toEqual(total);
      const repeat = { ...events[1], metadata: { person: "someone" } };
      expect((await renewed("POST", "/usage/events", repeat)).body.data).toEqual({
        accepted: 0,
        duplicates: 1,
      });
      again.kill("SIGTERM");
      expect(await again.exited).toBe(0);
    }
    place.remove();
  },
  ROUNDS * 300_000,
);
