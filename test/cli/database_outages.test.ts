import { afterAll, expect, test } from "bun:test";
import postgres from "postgres";
import { dice } from "../support/dice.ts";
import { type Api, TEST_STORE } from "../support/harness.ts";
import { type PostgresServer, startPostgres } from "../support/postgres_server.ts";
import {
  type CommandFolder,
  makeCommandFolder,
  type ServerProcess,
  startServer,
} from "../support/process.ts";

// PostgreSQL is stopped, paused, started again, or ends every session, while clients write and read. They get a 503 at
// worst, nothing that was answered is lost or doubled, and the service is back without a restart. OUTAGE_ROUNDS=50 tries
// that often, by OUTAGE_SEED.

const ROUNDS = Number(process.env.OUTAGE_ROUNDS ?? 0);
const SEED = Number(process.env.OUTAGE_SEED ?? 1);
const KINDS = ["stop", "pause", "restart", "sessions"] as const;
const roll = dice(SEED);
const SHORT = ["pause", "restart"] as const;
const kinds = ROUNDS === 0 ? SHORT : Array.from({ length: ROUNDS }, (_, i) => KINDS[i % 4] ?? "stop");

let database: PostgresServer | undefined;
let place: CommandFolder | undefined;
afterAll(async () => {
  await database?.stop();
  place?.remove();
});

interface World {
  database: PostgresServer;
  server: ServerProcess;
  api: Api;
  /** The names of clients whose creation was answered, and of those of which nothing is known. */
  answered: Set<string>;
  unknown: Set<string>;
  statuses: Map<number, number>;
}

/** Creates clients until told to stop, each under an Idempotency-Key. */
async function write(world: World, name: string, signal: AbortSignal): Promise<void> {
  for (let i = 0; !signal.aborted; i++) {
    const client = `${name} ${i}`;
    world.unknown.add(client);
    const { status } = await world.api(
      "POST",
      "/clients",
      { name: client },
      { "idempotency-key": client.replaceAll(" ", "-") },
    );
    world.statuses.set(status, (world.statuses.get(status) ?? 0) + 1);
    if (status === 201) {
      world.unknown.delete(client);
      world.answered.add(client);
    } else await Bun.sleep(20);
  }
}

const ready = async (world: World) => (await fetch(`${world.server.url}/ready`)).status;

async function untilReady(world: World, status: number): Promise<void> {
  const give_up_ms = performance.now() + 60_000;
  while ((await ready(world)) !== status) {
    if (performance.now() > give_up_ms) throw new Error(`/ready is not ${status} within a minute`);
    await Bun.sleep(100);
  }
}

async function breakIt(
  { database: server }: World,
  kind: (typeof KINDS)[number],
): Promise<() => Promise<void>> {
  switch (kind) {
    case "stop":
      await server.halt();
      return () => server.resume();
    case "restart":
      await server.halt();
      await server.resume();
      return async () => undefined;
    case "pause":
      server.signal("SIGSTOP");
      return async () => server.signal("SIGCONT");
    case "sessions": {
      const admin = postgres(`${server.url}/postgres`, { max: 1, onnotice: () => undefined });
      await admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'meterhouse'`;
      await admin.end();
      return async () => undefined;
    }
    default:
      throw new Error(`Unknown: ${String(kind)}`);
  }
}

async function breakAndCheck(world: World, kind: (typeof KINDS)[number], round: number): Promise<void> {
  const stop = new AbortController();
  const writers = Array.from({ length: 4 }, (_, i) =>
    write(world, `Round ${round} writer ${i}`, stop.signal),
  );
  const all = Promise.all(writers);
  await Bun.sleep(100 + roll(200));
  const mend = await breakIt(world, kind);
  if (kind === "stop" || kind === "pause") await untilReady(world, 503);
  // Long enough that a paused server is given up in every other round.
  if (kind === "pause" && round % 2 === 1) await Bun.sleep(12_000);
  await mend();
  await untilReady(world, 200);
  await Bun.sleep(300);
  stop.abort();
  await all;
  const before = world.answered.size;
  expect((await world.api("POST", "/clients", { name: `Round ${round} after` })).status).toBe(201);
  world.answered.add(`Round ${round} after`);
  expect(world.answered.size).toBe(before + 1);
}

test.skipIf(TEST_STORE !== "postgres")(
  "whatever becomes of PostgreSQL, nothing that was answered is lost, and the service comes back by itself",
  async () => {
    database = await startPostgres();
    const admin = postgres(`${database.url}/postgres`, { max: 1, onnotice: () => undefined });
    await admin`CREATE DATABASE meterhouse`;
    await admin.end();
    place = await makeCommandFolder();
    const env = { ...place.env, DATABASE_URL: `${database.url}/meterhouse`, RATE_LIMIT_ENABLED: "false" };
    const server = await startServer({ ...env, LOG_LEVEL: "fatal" });
    const world: World = {
      database,
      server,
      api: await server.signIn(),
      answered: new Set(),
      unknown: new Set(),
      statuses: new Map(),
    };
    for (const [round, kind] of kinds.entries()) await breakAndCheck(world, kind, round);
    // Every repeat finds what became of its first attempt.
    for (const name of world.unknown) {
      const key = name.replaceAll(" ", "-");
      for (let status = 0; status !== 201 && status !== 409; await Bun.sleep(status === 503 ? 50 : 0))
        ({ status } = await world.api("POST", "/clients", { name }, { "idempotency-key": key }));
    }
    const sql = postgres(env.DATABASE_URL, { max: 1 });
    const rows = await sql<
      { name: string; times: number }[]
    >`SELECT name, count(*)::int AS times FROM clients GROUP BY name`;
    await sql.end();
    const stored = new Map(rows.map(({ name, times }) => [name, times]));
    expect([...world.answered].filter((name) => stored.get(name) !== 1)).toEqual([]);
    expect([...stored].filter(([, times]) => times > 1)).toEqual([]);
    expect(
      [...world.statuses.keys()].filter((status) => status !== 201 && status !== 503 && status !== 409),
    ).toEqual([]);
    expect(world.statuses.get(503) ?? 0).toBeGreaterThan(0);
    if (ROUNDS > 0)
      console.log({
        rounds: kinds.length,
        answered: world.answered.size,
        statuses: Object.fromEntries(world.statuses),
      });
    server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  },
  7_200_000,
);
