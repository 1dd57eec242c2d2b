import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { addCatalog } from "../billing/subscriptions/fixtures.ts";
import type { Api, Json } from "../support/harness.ts";
import {
  type CommandFolder,
  type Finished,
  makePreparedFolder,
  run,
  runHere,
  serveHere,
  startServer,
  TESTED_COMMAND,
} from "../support/process.ts";
import { addSubscription, ms, search, uuid } from "../usage/fixtures.ts";
import { counts, rejectsOf } from "../usage/import/fixtures.ts";

// Imports while a server runs. What is read and stored is tested in test/usage/import.

const T0 = ms("2024-05-01T00:00:00Z");
const OPERATOR_TOKEN = "an-operators-token-of-over-32-characters";

let place: CommandFolder;
beforeAll(async () => {
  place = await makePreparedFolder();
  await serveHere(place.env, async (api) => {
    const catalog = await addCatalog({ api });
    for (const name of ["007", "here", "there", "remote", "kill", "many"]) {
      await addSubscription({ api }, name, catalog);
    }
  });
});
afterAll(() => place.remove());

async function write(name: string, content: string): Promise<string> {
  const path = join(place.data_dir, name);
  await Bun.write(path, content);
  return path;
}

function importFile(file: string, ...options: string[]): Promise<Finished> {
  return runHere(["import", "usage", file, ...options], place.env);
}

const count = async (api: Api, name: string): Promise<number> =>
  (await search(api, { aggregate: true, external_subscription_ids: [name] })).data[0]?.event_count ?? 0;

/** Odd rows of every kind, in NDJSON: with and without ids, broken, nested, with numbers and texts. */
const ODD = [
  { external_subscription_id: "007", timestamp: T0, usage: 1.5, metadata: { b: 1, a: { n: [1, null] } } },
  { external_subscription_id: "007", timestamp: "2024-05-01T00:00:00.5Z", usage: "2.25" },
  { external_subscription_id: "007", timestamp: T0 + 0.5, usage: 1 },
  { external_subscription_id: "nobody", timestamp: T0, usage: 1 },
  { external_subscription_id: "007", timestamp: T0, usage: 1e-7 },
  { external_subscription_id: "007", usage: 1 },
  { id: uuid(9), external_subscription_id: "007", timestamp: T0, usage: -3, metadata: null },
  { id: "no id", external_subscription_id: "007", timestamp: T0, usage: 1 },
  { external_subscription_id: "007", timestamp: T0, usage: 1, metadata: "text" },
  [1],
  { external_subscription_id: "007", timestamp: T0 + 1, usage: 123_456_789_012 },
].map((row) => JSON.stringify(row));

test("a file is the same events, rejected rows and reasons as without a server, and the other way is all duplicates", async () => {
  const file = await write("odd.ndjson", `${[...ODD.slice(0, 3), "{broken", ...ODD.slice(3)].join("\n")}\n`);
  const through = await serveHere(place.env, () => importFile(file));
  const rejected = rejectsOf(file);
  const here = await importFile(file);
  const [accepted = 0, , refused] = counts(through);
  expect(counts(here)).toEqual([0, accepted, Number(refused)]);
  expect(rejectsOf(file)).toEqual(rejected);
  expect(accepted).toBeGreaterThan(3);
  await serveHere(place.env, async (api) => {
    expect(await count(api, "007")).toBe(accepted);
    expect(counts(await importFile(file))).toEqual([0, accepted, Number(refused)]);
  });
});

test("needs no folder for temporary files where DATA_DIR can be written", async () => {
  const file = await write("read_only.csv", `external_subscription_id,timestamp,usage\nhere,${T0 - 1},1\n`);
  await serveHere(place.env, async () => {
    const words = ["import", "usage", file];
    expect(counts(await run(words, { ...place.env, TMPDIR: "/proc/nowhere" }))).toEqual([1, 0, 0]);
    expect(readdirSync(place.data_dir).filter((name) => name.startsWith("meterhouse-import-"))).toEqual([]);
  });
});

test("expressions are evaluated where the command runs, and rows without ids of a grown file count once", async () => {
  const lines = Array.from({ length: 50 }, (_, i) => `here,${i},${i + 1}`);
  const options = ["--subscription", "s", "--timestamp", `${T0} + n`, "--usage", "a * 2"];
  const file = await write("grown.csv", `s,n,a\n${lines.slice(0, 20).join("\n")}\n`);
  await serveHere(place.env, async (api) => {
    expect(counts(await importFile(file, ...options))).toEqual([20, 0, 0]);
    await write("grown.csv", `s,n,a\n${lines.join("\n")}\n`);
    const grown = await importFile(file, ...options);
    expect(grown.out).toContain(
      "It begins with a file that was imported before: its rows up to 20 count once",
    );
    expect(counts(grown)).toEqual([30, 20, 0]);
    const { data } = await search(api, { aggregate: true, external_subscription_ids: ["here"] });
    expect(data[0]).toMatchObject({ event_count: 51, total_usage: 50 * 51 + 1 });
    const other = await write("other/grown.csv", `s,n,a\nhere,1000,1\n`);
    expect((await importFile(other, ...options)).err).toContain("another grown.csv was imported before");
  });
  expect(counts(await importFile(file, ...options))).toEqual([0, 50, 0]);
});

test("many files at once, while events come in and searches go on", async () => {
  const rows = 1_000;
  const files = await Promise.all(
    Array.from({ length: 2 }, (_, f) =>
      write(
        `many${f}.csv`,
        `external_subscription_id,timestamp,usage\n${Array.from({ length: rows }, (_row, i) => `many,${T0 + f * rows + i},1\n`).join("")}`,
      ),
    ),
  );
  const server = await startServer(place.env);
  const api = await server.signIn();
  const state = { is_done: false };
  const others = async (): Promise<number> => {
    let sent = 0;
    while (!state.is_done) {
      const answer = await api("POST", "/usage/events", {
        external_subscription_id: "there",
        timestamp: T0,
        usage: 1,
        id: uuid(10_000 + sent),
      });
      expect(answer.status).toBe(201);
      expect(await count(api, "there")).toBe(++sent);
      await Bun.sleep(30);
    }
    return sent;
  };
  const going = others();
  const imported = await Promise.all(files.map((file) => run(["import", "usage", file], place.env)));
  state.is_done = true;
  expect(imported.map(counts)).toEqual(files.map(() => [rows, 0, 0]));
  expect(await going).toBeGreaterThan(0);
  expect(await count(api, "many")).toBe(rows * files.length);
  server.kill("SIGTERM");
  await server.exited;
});

test("by URL: as a user for its own company, as the operator for one that is named", async () => {
  const file = await write("remote.csv", `external_subscription_id,timestamp,usage\nremote,${T0},1\n`);
  await serveHere({ ...place.env, OPERATOR_TOKEN }, async (_, { url }) => {
    const login = await fetch(`${url}/api/v1/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: place.env.ADMIN_EMAIL, password: place.env.ADMIN_PASSWORD }),
    });
    const { token: SERVER_TOKEN }: Json = await login.json();
    const at = (env: Record<string, string>, ...words: string[]) =>
      runHere(["import", "usage", file, "--server", url, ...words], {
        ...place.env,
        DATA_DIR: "/nowhere",
        ...env,
      });
    expect(counts(await at({ SERVER_TOKEN }))).toEqual([1, 0, 0]);
    expect(counts(await at({ OPERATOR_TOKEN }))).toEqual([0, 1, 0]);
    expect(await at({ SERVER_TOKEN }, "--company", "1")).toMatchObject({ code: 2 });
    expect(await at({ OPERATOR_TOKEN }, "--company", "9")).toMatchObject({ code: 2 });
    expect(await at({ SERVER_TOKEN: "wrong" })).toMatchObject({
      code: 1,
      err: expect.stringContaining("token"),
    });
  });
});

test("a server that is killed in the middle, and comes back: the import goes on, and each row counts once", async () => {
  const rows = 110_000;
  const file = join(place.data_dir, "kill.csv");
  await Bun.write(
    file,
    `external_subscription_id,timestamp,usage\n${Array.from({ length: rows }, (_, i) => `kill,${T0 + i},1\n`).join("")}`,
  );
  let server = await startServer(place.env);
  let api = await server.signIn();
  const importing = run(["import", "usage", file], place.env);
  while ((await count(api, "kill")) === 0) await Bun.sleep(30);
  server.kill("SIGKILL");
  await server.exited;
  server = await startServer(place.env);
  const [accepted = 0, duplicates = 0, rejected] = counts(await importing);
  expect([accepted + duplicates, rejected]).toEqual([rows, 0]);
  api = await server.signIn();
  expect(await count(api, "kill")).toBe(rows);
  server.kill("SIGTERM");
  await server.exited;
  rmSync(file);
});

test("a command that is killed in the middle has stored whole slices; run again it stores the rest", async () => {
  const rows = 110_000;
  const file = join(place.data_dir, "command.csv");
  await Bun.write(
    file,
    `external_subscription_id,timestamp,usage\n${Array.from({ length: rows }, (_, i) => `remote,${T0 + 1 + i},1\n`).join("")}`,
  );
  await serveHere(place.env, async (api) => {
    const before = await count(api, "remote");
    const child = Bun.spawn([...TESTED_COMMAND, "import", "usage", file], {
      env: place.env,
      stdout: "ignore",
      stderr: "ignore",
    });
    while ((await count(api, "remote")) === before) await Bun.sleep(30);
    child.kill("SIGKILL");
    await child.exited;
    const [accepted = 0, duplicates = 0] = counts(await importFile(file));
    expect(accepted + duplicates).toBe(rows);
    expect(duplicates).toBeGreaterThan(0);
    expect(await count(api, "remote")).toBe(before + rows);
  });
  rmSync(file);
});
