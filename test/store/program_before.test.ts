import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Api, TEST_STORE } from "../support/harness.ts";
import {
  type CommandFolder,
  makePreparedFolder,
  type ServerProcess,
  startServer,
} from "../support/process.ts";
import { addSubscription, search } from "../usage/fixtures.ts";

// The program of the commit before, and this one, in turns on the same data.

const ROOT = join(import.meta.dir, "../..");
const folder = mkdtempSync(join(tmpdir(), "program-before-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Whether the history is here: an archive of the sources, or a checkout of one commit, has none. */
const has_history = Bun.spawnSync(["git", "cat-file", "-e", "HEAD^:src/main.ts"], { cwd: ROOT }).success;
if (!has_history)
  console.log("The program of the commit before is not tried: its commit is not in this checkout");

beforeAll(async () => {
  if (!has_history) return;
  const archive = Bun.spawn(["git", "archive", "HEAD^"], { cwd: ROOT, stdout: "pipe" });
  const tar = Bun.spawn(["tar", "-x", "-C", folder], { stdin: archive.stdout });
  expect(await tar.exited).toBe(0);
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  expect(existsSync(join(folder, "src/main.ts"))).toBe(true);
});

const event = (number: number) => ({
  id: `00000000-0000-4000-8000-00000000000${number}`,
  external_subscription_id: "s1",
  usage: number,
  timestamp: 1_767_000_000_000,
  metadata: { number },
});

/** Whether the program before may use what this one left. */
function mayUse({ data_dir }: CommandFolder): boolean {
  const database = new Database(join(data_dir, "meterhouse.sqlite"), { readonly: true });
  const row = database
    .query<{ min_program: string }, []>("SELECT min_program FROM program_requirement")
    .get();
  database.close();
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return Bun.semver.order(version, row?.min_program ?? "0.0.0") >= 0;
}

async function stop(server: ServerProcess): Promise<void> {
  server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
}

test.skipIf(!has_history || TEST_STORE !== "sqlite")(
  "it goes on with what this one wrote, and this one with what it wrote",
  async () => {
    const place = await makePreparedFolder();
    const send = async (api: Api, number: number) =>
      (await api("POST", "/usage/events", event(number))).body.data;
    const clientsOf = async (api: Api) => (await api("GET", "/clients")).body.data.length;

    const first = await startServer(place.env, undefined, "src/main.ts", folder);
    const api = await first.signIn();
    await addSubscription({ api }, "s1");
    expect(await send(api, 1)).toEqual({ accepted: 1, duplicates: 0 });
    await stop(first);

    const present = await startServer(place.env);
    const now = await present.signIn();
    expect(await clientsOf(now)).toBe(1);
    expect(await send(now, 1)).toEqual({ accepted: 0, duplicates: 1 });
    expect(await send(now, 2)).toEqual({ accepted: 1, duplicates: 0 });
    await now("POST", "/clients", { name: "Newer" });
    await stop(present);

    // Where this commit has raised what the database demands, the one before refuses it: min_program.test.ts.
    if (!mayUse(place)) return place.remove();
    const again = await startServer(place.env, undefined, "src/main.ts", folder);
    const back = await again.signIn();
    expect(await clientsOf(back)).toBe(2);
    expect(await send(back, 2)).toEqual({ accepted: 0, duplicates: 1 });
    expect(await send(back, 3)).toEqual({ accepted: 1, duplicates: 0 });
    const [total] = (await search(back, { aggregate: true })).data;
    expect(total).toMatchObject({ event_count: 3, total_usage: 6 });
    await stop(again);
    place.remove();
  },
);
