import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import postgres from "postgres";
import type { Deps } from "../../src/app/deps.ts";
import { readConfig } from "../../src/core/config.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import type { Api, Json } from "../support/harness.ts";
import { TEST_STORE } from "../support/harness.ts";
import { create } from "../billing/subscriptions/fixtures.ts";
import {
  makeCommandFolder,
  makePreparedFolder,
  type CommandFolder,
  run,
  runHere,
  serveHere,
  startServer,
} from "../support/process.ts";
import { endLockHolders } from "../support/postgres.ts";
import { killRounds } from "../support/properties.ts";

// A usage store and the database that it belongs to: what is refused when one of them is another, an older or a
// second one, and what an operator can do then.

let place: CommandFolder;
beforeEach(async () => {
  place = await makePreparedFolder();
});
afterEach(() => place.remove());

const USAGE_FILES = /^usage\.duckdb/;
const MARCH = Date.UTC(2024, 2, 10);

const served = <T>(work: (api: Api) => Promise<T>, env = place.env): Promise<T> => serveHere(env, work);

async function addCatalog(api: Api): Promise<Json> {
  const client = await create(api, "/clients", { name: "Client" });
  const product = await create(api, "/products", { name: "Product" });
  const model = { name: "Plan", description: "", currency: "EUR", billing_type_id: 2, price: 1 };
  const { id } = await create(api, "/billing-models", model);
  return { client_id: client.id, product_id: product.id, billing_model_id: id };
}

const subscribe = async (api: Api, ids: Json, external_subscription_id: string): Promise<number> =>
  (
    await create(api, "/subscriptions", {
      ...ids,
      name: external_subscription_id,
      external_subscription_id,
      started_at: "2024-03-01T00:00:00Z",
    })
  ).id;

async function use(api: Api, external_subscription_id: string, usage: number): Promise<void> {
  const event = { id: crypto.randomUUID(), external_subscription_id, usage, timestamp: MARCH };
  expect((await api("POST", "/usage/events", [event])).status).toBe(201);
}

async function usageBy(api: Api, group_by: string): Promise<Json> {
  const { status, body } = await api("POST", "/usage/search", { aggregate: true, group_by });
  return status === 200 ? body.data.map((group: Json) => [group.group_key, group.total_usage]) : body;
}

/** Copies the usage store's files to a folder or back. */
function copyUsage(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(to)) if (USAGE_FILES.test(name)) rmSync(join(to, name));
  for (const name of readdirSync(from)) {
    if (USAGE_FILES.test(name)) cpSync(join(from, name), join(to, name));
  }
}

/** Remembers the rows as they are; returns what brings them back. Nobody may be connected then. */
async function saveRows(): Promise<() => Promise<void>> {
  const url = place.env.DATABASE_URL;
  if (url === undefined) {
    const file = join(place.data_dir, "meterhouse.sqlite");
    const saved = `${place.data_dir}/saved-${crypto.randomUUID()}`;
    const database = new Database(file);
    database.run("VACUUM INTO ?", [saved]);
    database.close();
    return async () => {
      for (const end of ["", "-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
      cpSync(saved, file);
    };
  }
  const name = new URL(url).pathname.slice(1);
  const saved = `${name}_saved_${crypto.randomUUID().slice(0, 8)}`;
  await administer(url, `CREATE DATABASE ${saved} TEMPLATE ${name}`);
  return () => administer(url, `DROP DATABASE ${name}`, `CREATE DATABASE ${name} TEMPLATE ${saved}`);
}

async function administer(url: string, ...statements: string[]): Promise<void> {
  const admin = postgres(url.replace(/[^/]+$/, "postgres"), { max: 1, onnotice: () => undefined });
  for (const statement of statements) await admin.unsafe(statement);
  await admin.end();
}

/** What a start says in its one line, having failed; nothing when it serves. */
async function refused(env = place.env): Promise<string> {
  const told = await serveHere(env, () => Promise.resolve("")).catch((error) => String(error.message));
  expect(told.split("\n")).toHaveLength(1);
  return told;
}

const accept = async (env = place.env) => {
  const doctor = await runHere(["doctor", "--accept-usage"], env);
  expect(doctor).toMatchObject({ code: 0, out: expect.stringContaining("; accepted although ") });
  expect((await runHere(["doctor", "--accept-usage"], env)).out).not.toContain("accepted although");
};

describe("a database put back to an earlier state beside its usage store", () => {
  test("is refused, doctor says why, and once accepted gives no key again that usage is stored under", async () => {
    const ids = await served(async (api) => {
      const catalog = await addCatalog(api);
      await subscribe(api, catalog, "first");
      await use(api, "first", 1);
      return catalog;
    });
    const restore = await saveRows();
    const lost = await served(async (api) => {
      const id = await subscribe(api, ids, "lost");
      await use(api, "lost", 1_000);
      return id;
    });
    await restore();

    const told = "the database is older than the usage store (it lacks the store's last opening)";
    const { code, err } = await run(["serve"], place.env);
    expect([code, err.trim().split("\n")]).toEqual([78, [expect.stringContaining(told)]]);
    expect(await refused()).toContain(told);
    const doctor = await runHere(["doctor"], place.env);
    expect(doctor.code).toBe(1);
    expect(doctor.out).toContain("FAIL  usage store: Cannot use the usage store in ");
    await accept();
    await served(async (api) => {
      expect(await subscribe(api, ids, "second")).toBeGreaterThan(lost);
      await use(api, "second", 10);
      expect((await usageBy(api, "subscription")).toSorted()).toEqual([
        [null, 1_000],
        ["1:first", 1],
        ["1:second", 10],
      ]);
      expect(await usageBy(api, "client")).toEqual([
        [null, 1_000],
        [String(ids.client_id), 11],
      ]);
      const events = await api("POST", "/usage/search", { min_usage: 1_000 });
      expect(events.body.data).toMatchObject([{ subscription_id: `1:unknown-${lost}`, usage: 1_000 }]);
      const log = await api("GET", "/audit-log?operation=accept_usage");
      expect(log.body.data).toMatchObject([{ origin: "cli", target: { type: "usage_store" } }]);
    });
  });

  test("is refused also within one opening, by the keys that it has given", async () => {
    await served(async (api) => {
      const catalog = await addCatalog(api);
      await subscribe(api, catalog, "first");
      await subscribe(api, catalog, "lost");
      await use(api, "lost", 1_000);
    });
    await change(
      "DELETE FROM subscriptions WHERE id = 2",
      "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'subscriptions'",
      "SELECT setval(pg_get_serial_sequence('subscriptions', 'id'), 1)",
    );
    expect(await refused()).toContain("it has given subscription_id 1 last, and usage is stored under 2");
  });
});

describe("a usage store put back to an earlier state", () => {
  test("is refused, stops runs, and once accepted counts from where bills have counted to", async () => {
    const saved = join(place.data_dir, "saved");
    const bill = async (api: Api) => (await api("POST", "/billing-runs", { period: "2024-03" })).body.data;
    const ids = await served(async (api) => {
      const catalog = await addCatalog(api);
      await subscribe(api, catalog, "first");
      await use(api, "first", 1);
      return catalog;
    });
    copyUsage(place.data_dir, saved);
    await served(async (api) => {
      await use(api, "first", 10);
      await bill(api);
    });
    copyUsage(saved, place.data_dir);
    const told = "it is older than the database (it lacks the last opening)";
    expect(await refused()).toContain(told);
    expect((await runHere(["doctor"], place.env)).out).toContain(told);
    // Not even where nothing but the bills tells.
    await change("DELETE FROM usage_link");
    await forget("database_id", "opening");
    expect(await refused()).toContain("its events end at number 1, and bills have counted up to 2");
    await accept();
    await served(async (api) => {
      await use(api, "first", 100);
      expect((await bill(api)).counts).toMatchObject({ adjustments: 1, failed: 0 });
      const records = (await api("GET", "/billing-records")).body.data;
      const charges = records.map(({ totalCharges }: Json) => Number(totalCharges));
      expect(charges.reduce((sum: number, charge: number) => sum + charge, 0)).toBe(101);
      await subscribe(api, ids, "second");
    });
  });

  test("within one opening is refused by how far it had got", async () => {
    await served(async (api) => {
      await subscribe(api, await addCatalog(api), "first");
      await use(api, "first", 1);
      await use(api, "first", 2);
    });
    await tamper(
      "DELETE FROM usage_hour_deltas",
      "DELETE FROM usage_hour_folds",
      "DELETE FROM usage_meta WHERE name = 'seq_floor'",
    );
    expect(await refused()).toContain("its events end at number 0, and it had stored up to 2");
  });
});

describe("another usage store", () => {
  test("is refused, and so is none where there was one; nothing is made, and the first one goes on", async () => {
    await served(async (api) => {
      await subscribe(api, await addCatalog(api), "first");
      await use(api, "first", 1);
    });
    const saved = join(place.data_dir, "saved");
    copyUsage(place.data_dir, saved);
    for (const name of readdirSync(place.data_dir))
      if (USAGE_FILES.test(name)) rmSync(join(place.data_dir, name));
    expect(await refused()).toContain(`there is none, and this database's was last opened in`);
    expect(existsSync(join(place.data_dir, "usage.duckdb"))).toBe(false);

    const other = await makeCommandFolder();
    await served(() => Promise.resolve(), other.env);
    copyUsage(other.data_dir, place.data_dir);
    expect(await refused()).toContain("it belongs to another database");
    await forget("database_id", "opening");
    expect(await refused()).toContain("this database's usage is in another one, last opened in");

    copyUsage(saved, place.data_dir);
    await served(async (api) => expect(await usageBy(api, "subscription")).toEqual([["1:first", 1]]));
    other.remove();
  });

  test("that is a copy, used since, is refused", async () => {
    await served(async (api) => {
      await subscribe(api, await addCatalog(api), "first");
      await use(api, "first", 1);
    });
    const saved = join(place.data_dir, "saved");
    copyUsage(place.data_dir, saved);
    await served((api) => use(api, "first", 10));
    const elsewhere = await makePreparedFolder();
    copyUsage(place.data_dir, elsewhere.data_dir);
    copyUsage(saved, place.data_dir);
    // The copy was opened as often, somewhere else: when the folder was prepared, and twice since.
    await forget("opening");
    await tamper("INSERT INTO usage_meta VALUES ('opening', '3 another')");
    expect(await refused()).toContain("another copy of it was used since");
    copyUsage(elsewhere.data_dir, place.data_dir);
    await served((api) => use(api, "first", 100));
    elsewhere.remove();
  });
});

describe.skipIf(TEST_STORE !== "postgres")("two processes on one PostgreSQL", () => {
  test("work with one usage store at a time, whichever folder they have", async () => {
    const second = await makeCommandFolder();
    const env = { ...place.env, DATA_DIR: second.data_dir };
    const server = await startServer(place.env);
    const api = await server.signIn();
    await subscribe(api, await addCatalog(api), "first");
    await use(api, "first", 1);
    expect(await refused(env)).toContain(`there is none, and this database's was last opened in`);
    // Nor with a store of its own, or with a copy of the first one's.
    const other = await makeCommandFolder();
    await served(() => Promise.resolve(), other.env);
    copyUsage(other.data_dir, second.data_dir);
    expect(await refused(env)).toContain("another process uses this database with the usage store in");
    expect((await runHere(["doctor"], env)).out).toContain("in use by another process");
    server.kill("SIGKILL");
    await server.exited;
    // The lock ends with the process: what is left is that it is another store.
    await served((again) => use(again, "first", 10));
    expect(await refused(env)).toContain("it belongs to another database");
    for (const one of [second, other]) one.remove();
  });

  test("one that loses its lock to another's gives its usage store up", async () => {
    const config = readConfig({ ...place.env, LOG_LEVEL: "silent" });
    const first = await openDeps(config);
    const admin = postgres(place.env.DATABASE_URL ?? "", { max: 1 });
    const isOpen = (deps: Deps) =>
      deps.usage.ping(5_000).then(
        () => true,
        () => false,
      );
    await endLockHolders(admin);
    await Bun.sleep(500);
    expect(await isOpen(first)).toBe(true);
    expect(await first.store.lock("usage store")).toBeNull();
    // Meanwhile another one has opened its own.
    await admin`UPDATE usage_link SET opening_number = opening_number + 1, opening_id = 'another'`;
    await endLockHolders(admin);
    const deadline = performance.now() + 10_000;
    while ((await isOpen(first)) && performance.now() < deadline) await Bun.sleep(50);
    expect(await isOpen(first)).toBe(false);
    // It holds nobody up from then on.
    let free = await first.store.lock("usage store");
    for (let attempt = 0; free === null && attempt < 100; attempt++) {
      await Bun.sleep(50);
      free = await first.store.lock("usage store");
    }
    expect(free).not.toBeNull();
    await Promise.all([first.close(), admin.end()]);
  });
});

test("a deployment from before stores had names goes on as it is", async () => {
  await served(async (api) => {
    await subscribe(api, await addCatalog(api), "first");
    await use(api, "first", 1);
  });
  await change("DELETE FROM usage_link");
  await forget("database_id", "opening", "store_id", "seq_floor");
  for (let start = 0; start < 2; start++) {
    await served(async (api) => expect(await usageBy(api, "subscription")).toEqual([["1:first", 1]]));
  }
});

const WRITER = `
  import "./src/server/node_env.ts";
  import { readConfig } from "./src/core/config.ts";
  import { openDeps } from "./src/server/open_deps.ts";
  const deps = await openDeps(readConfig({ ...process.env, LOG_LEVEL: "fatal" }));
  console.log("open");
  for (;;) {
    const event = { subscription_id: 1, timestamp: 0, timestamp_given: true, usage: "1", metadata: null };
    await deps.usage.append(1, [{ ...event, id: crypto.randomUUID() }], Date.now());
  }`;

/** Few in every run; `KILL_ROUNDS=100 bun test test/cli/usage_link.test.ts` makes more of them. */
const ROUNDS = killRounds(1);

test(
  "whenever one is killed, at its start or at work, the next start is not refused",
  async () => {
    await served(async (api) => void (await subscribe(api, await addCatalog(api), "first")));
    for (let round = 0; round < ROUNDS; round++) {
      const child = Bun.spawn(["bun", "-e", WRITER], { env: place.env, stdout: "pipe", stderr: "pipe" });
      // Every other one dies about the time at which both stores write of each other.
      if (round % 2 === 1) await child.stdout.getReader().read();
      await Bun.sleep(round % 2 === 1 ? Math.random() * 300 : 300 + Math.random() * 600);
      child.kill("SIGKILL");
      await child.exited;
      expect(await child.stderr.text()).toBe("");
    }
    expect((await runHere(["doctor"], place.env)).out).toContain("ok    usage store");
  },
  ROUNDS * 10_000,
);

/** Changes rows of a database that nobody is connected to; the last two statements are for one dialect each. */
async function change(statement: string, sqlite?: string, on_postgres?: string): Promise<void> {
  const url = place.env.DATABASE_URL;
  if (url === undefined) {
    const database = new Database(join(place.data_dir, "meterhouse.sqlite"));
    for (const one of [statement, sqlite]) if (one !== undefined) database.run(one);
    return database.close();
  }
  const admin = postgres(url, { max: 1 });
  for (const one of [statement, on_postgres]) if (one !== undefined) await admin.unsafe(one);
  await admin.end();
}

/** Runs statements on the usage store of a stopped server. */
async function tamper(...statements: string[]): Promise<void> {
  const instance = await DuckDBInstance.create(join(place.data_dir, "usage.duckdb"));
  const connection = await instance.connect();
  for (const statement of statements) await connection.run(statement);
  connection.closeSync();
  instance.closeSync();
}

const forget = (...names: string[]) =>
  tamper(`DELETE FROM usage_meta WHERE name IN (${names.map((name) => `'${name}'`).join(", ")})`);
