import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dice } from "../support/dice.ts";
import type { Json } from "../support/harness.ts";
import {
  type CommandFolder,
  makePreparedFolder,
  type ServerProcess,
  startServer,
} from "../support/process.ts";

// The clock of a server's machine is set ahead into the next month or back by two hours while it works, by libfaketime's file, which
// moves the wall clock and none of the timers. CLOCK_ROUNDS=20 tries that often, where the library is installed.

const ROUNDS = Number(process.env.CLOCK_ROUNDS ?? 0);
const roll = dice(Number(process.env.CLOCK_SEED ?? 1));
const DAY_S = 86_400;
const LIBRARY = ["x86_64", "aarch64"]
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));

/** A server whose clock a file sets, by an offset such as +0 or -7200. */
async function start(
  place: CommandFolder,
): Promise<{ server: ServerProcess; set: (offset_s: number) => void }> {
  const file = join(place.data_dir, "..", `faketime-${crypto.randomUUID()}`);
  const set = (offset_s: number) => writeFileSync(file, `${offset_s < 0 ? "" : "+"}${offset_s}\n`);
  set(0);
  const env = {
    ...place.env,
    LOG_LEVEL: "fatal",
    LD_PRELOAD: LIBRARY ?? "",
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
  return { server: await startServer(env), set };
}

test.skipIf(ROUNDS === 0 || LIBRARY === undefined)(
  "whichever way the clock is set, nothing is billed early or twice, and requests go on",
  async () => {
    const place = await makePreparedFolder();
    const { server, set } = await start(place);
    const api = await server.signIn();
    const create = async (path: string, body: object): Promise<number> =>
      (await api("POST", path, body)).body.data.id;
    const client_id = await create("/clients", { name: "A" });
    const product_id = await create("/products", { name: "P" });
    const model = { name: "Flat", description: "", currency: "EUR", billing_type_id: 1, price: 31 };
    const billing_model_id = await create("/billing-models", model);
    // Periods are months: the last one has ended, and a clock that is far enough ahead says that of the present one too.
    const today = Temporal.Now.zonedDateTimeISO("UTC");
    const subscription_id = await create("/subscriptions", {
      name: "Monthly",
      started_at: today.subtract({ months: 1 }).toInstant().toString({ smallestUnit: "millisecond" }),
      external_subscription_id: "monthly",
      client_id,
      product_id,
      billing_model_id,
    });
    const month_end = today.with({ day: 1 }).add({ months: 1 }).startOfDay();
    const to_next_month_s = Math.ceil(month_end.since(today).total("seconds"));
    const ahead_s = Math.max(3 * DAY_S, to_next_month_s + DAY_S);
    const held: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      set(round % 2 === 0 ? ahead_s : -7_200);
      await Bun.sleep(50 + roll(100));
      const refused = await api("POST", "/billing-runs", {});
      expect([round, refused.status]).toEqual([round, 503]);
      expect((await api("POST", "/clients", { name: `Round ${round}` })).status).toBe(201);
      const details: string[] = (await api("GET", "origin:/ready")).body.details;
      expect(details).toHaveLength(1);
      held.push(...details);
      set(0);
      await Bun.sleep(20);
      expect((await api("POST", "/billing-runs", {})).status).toBeLessThan(300);
    }
    const { data: clients } = (await api("GET", "/clients?limit=200")).body;
    const times = clients.map((client: Json) => Date.parse(client.created_at));
    // All of them within the time that the test took: none in the next month.
    expect(Math.max(...times) - Math.min(...times)).toBeLessThan(600_000);
    const records: Json[] = (await api("GET", "/billing-records?limit=200")).body.data;
    expect(records.map((record) => record.subscription_id)).toEqual([subscription_id]);
    console.log({ rounds: ROUNDS, held: held.length, first: held[0], second: held[1] });
    server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
    place.remove();
  },
  600_000,
);
