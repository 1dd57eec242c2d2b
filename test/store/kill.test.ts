import { expect, test } from "bun:test";
import type { Api, Json } from "../support/harness.ts";
import { makePreparedFolder, type ServerProcess, startServer } from "../support/process.ts";
import { killRounds } from "../support/properties.ts";

/** Few in every run; `KILL_ROUNDS=100 bun test test/store/kill.test.ts` makes more of them. */
const ROUNDS = killRounds(1);
/** So many that most commits are shared. */
const SENDERS = 32;

/** A client whose creation was sent; every third with a key. */
interface Sent {
  name: string;
  key: Record<string, string>;
  answered: boolean;
}

/** Creates clients until the server is gone; in between it sends what fails inside of its transaction. */
async function sendUntilDeath(api: Api, sent: Sent[], sender: number): Promise<void> {
  for (let i = 0; ; i++) {
    const name = crypto.randomUUID();
    const one: Sent = { name, key: i % 3 === 0 ? { "idempotency-key": name } : {}, answered: false };
    sent.push(one);
    try {
      one.answered = (await api("POST", "/clients", { name }, one.key)).status === 201;
      if (sender % 4 === 0) expect((await api("DELETE", "/clients/999999999")).status).toBe(404);
    } catch {
      return;
    }
  }
}

/** Kills the server once so many clients were answered. */
async function killAmongCommits(server: ServerProcess, api: Api, answers: number): Promise<Sent[]> {
  const sent: Sent[] = [];
  const senders = Array.from({ length: SENDERS }, (_, sender) => sendUntilDeath(api, sent, sender));
  while (sent.filter(({ answered }) => answered).length < answers) await Bun.sleep(1);
  server.kill("SIGKILL");
  await Promise.all([...senders, server.exited]);
  return sent;
}

const total = async (api: Api, path: string): Promise<number> => (await api("GET", path)).body.meta.total;

/** How many clients there are of each name. */
async function countNames(api: Api): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (let page = 1; ; page++) {
    const { data } = (await api("GET", `/clients?page=${page}&limit=100`)).body;
    for (const { name } of data as Json[]) counts.set(name, (counts.get(name) ?? 0) + 1);
    if (data.length < 100) return counts;
  }
}

test(
  "kill -9 among shared commits loses no answered change, and leaves none without its entry and event",
  async () => {
    const place = await makePreparedFolder();
    const env = { ...place.env, RATE_LIMIT_ENABLED: "false" };
    let server = await startServer(env);
    let api = await server.signIn();
    for (let round = 0; round < ROUNDS; round++) {
      const sent = await killAmongCommits(server, api, 100 + (round % 7) * 45);
      server = await startServer(env);
      api = await server.signIn();
      expect(sent.some(({ answered }) => !answered)).toBe(true);
      // What was not answered is sent again where it has a key: it is never done twice.
      for (const { name, key, answered } of sent)
        if (!answered && "idempotency-key" in key)
          expect([201, 409]).toContain((await api("POST", "/clients", { name }, key)).status);
      const counts = await countNames(api);
      for (const { name, key, answered } of sent) {
        const least = answered || "idempotency-key" in key ? 1 : 0;
        expect([least, 1]).toContain(counts.get(name) ?? 0);
      }
      const created = [...counts.values()].reduce((sum, count) => sum + count, 0);
      expect(await total(api, "/audit-log?operation=create_client")).toBe(created);
      expect(await total(api, "/events?type=client.created")).toBe(created);
      expect(await total(api, "/audit-log?operation=delete_client")).toBe(0);
    }
    server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
    place.remove();
  },
  ROUNDS * 60_000,
);
