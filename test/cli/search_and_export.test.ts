import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { addCatalog } from "../billing/subscriptions/fixtures.ts";
import type { Json } from "../support/harness.ts";
import { type CommandFolder, makePreparedFolder, runHere, serveHere } from "../support/process.ts";
import { addSubscription, ms, send, uuid } from "../usage/fixtures.ts";

const T0 = ms("2024-05-01T00:00:00Z");
const EVENTS = 250;

let place: CommandFolder;
beforeAll(async () => {
  place = await makePreparedFolder();
  await serveHere(place.env, async (api) => {
    const catalog = await addCatalog({ api });
    for (const external_subscription_id of ["a", "b"]) {
      await addSubscription({ api }, external_subscription_id, catalog);
      const events = Array.from({ length: EVENTS }, (_, i) => ({
        id: uuid(i + (external_subscription_id === "a" ? 0 : EVENTS)),
        external_subscription_id,
        timestamp: T0 + i,
        usage: 1,
        metadata: { parity: i % 2 === 0 ? "even" : "odd" },
      }));
      expect((await send(api, { events })).status).toBe(201);
    }
  });
});
afterAll(() => place.remove());

const linesOf = (text: string): Json[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

const searched = async (...words: string[]): Promise<Json[]> => {
  const { code, out, err } = await runHere(["search", "usage", ...words], place.env);
  expect([code, err]).toEqual([0, ""]);
  return linesOf(out);
};

test("search finds the same with a server and without one, over pages", async () => {
  const words = ["--subscription", "a", "--sort", "asc", "--limit", "230"];
  const here = await searched(...words);
  expect(here.map(({ timestamp }) => timestamp)).toEqual(Array.from({ length: 230 }, (_, i) => T0 + i));
  const filter = ["--from", "2024-05-01T00:00:00.010Z", "--to", String(T0 + 20), "--metadata", "parity=even"];
  const narrow = await searched(...filter, "--group-by", "subscription");
  expect(Object.fromEntries(narrow.map(({ group_key, event_count }) => [group_key, event_count]))).toEqual({
    "1:a": 5,
    "1:b": 5,
  });
  await serveHere(place.env, async () => {
    expect(await searched(...words)).toEqual(here);
    expect((await searched("--group-by", "total"))[0]).toMatchObject({ event_count: 2 * EVENTS });
  });
});

test("export writes the whole file, and none that is there already", async () => {
  const path = join(place.data_dir, "out.ndjson");
  const words = ["export", "usage", path, "--subscription", "b"];
  expect(await runHere(words, place.env)).toMatchObject({
    code: 0,
    out: expect.stringContaining("bytes to"),
  });
  expect(linesOf(readFileSync(path, "utf8"))).toHaveLength(EVENTS);
  expect(await runHere(words, place.env)).toMatchObject({ code: 2 });
  expect(existsSync(`${path}.part`)).toBe(false);
  await serveHere(place.env, async () => {
    const csv = join(place.data_dir, "out.csv");
    expect(await runHere(["export", "usage", csv], place.env)).toMatchObject({ code: 0 });
    expect(readFileSync(csv, "utf8").trim().split(/\r?\n/)).toHaveLength(2 * EVENTS + 1);
  });
});

test.each([
  [["search"], "Say `search usage`"],
  [["search", "usage", "--from", "today"], "--from must be a date-time"],
  [["search", "usage", "--metadata", "x"], "--metadata must be KEY=VALUE"],
  [["search", "usage", "--limit", "0"], "--limit must be"],
  [["search", "usage", "--company", "9"], "--company 9 is no company"],
  [["export", "usage"], "Say `export usage FILE`"],
  [["export", "usage", "x.txt"], "--format must be one of"],
])("wrong words are exit 2: %j", async (words, message) => {
  const { code, err } = await runHere(words, place.env);
  expect([code, err]).toEqual([2, expect.stringContaining(message)]);
});
