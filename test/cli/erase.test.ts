import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type CommandFolder, makePreparedFolder, runHere, serveHere } from "../support/process.ts";
import { addSubscription, search } from "../usage/fixtures.ts";

let place: CommandFolder;
beforeAll(async () => void (place = await makePreparedFolder()));
afterAll(() => place.remove());

/** Random enough that no engine compresses it away. */
const SECRET = "Qx7-Ada-Lovelace-zK93";

/** The files of the data directory that hold a text. */
function filesWith(text: string, folder = place.data_dir): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return filesWith(text, path);
    return statSync(path).isFile() && readFileSync(path).includes(text) ? [name] : [];
  });
}

test("erase asks for an erasure, and --rewrite carries it out and leaves no byte of it in any file", async () => {
  const sums = { aggregate: true, group_by: ["subscription", "day"] };
  const before = await serveHere(place.env, async (api) => {
    await addSubscription({ api }, "s1");
    const events = Array.from({ length: 300 }, (_, i) => ({
      external_subscription_id: "s1",
      usage: i,
      timestamp: 1_767_000_000_000 + i * 3_600_000,
      metadata: i % 100 === 7 ? { person: SECRET } : { person: `p${i}` },
    }));
    expect((await api("POST", "/usage/events", events)).status).toBe(201);
    return search(api, sums);
  });
  expect(filesWith(SECRET)).toEqual(["usage.duckdb"]);
  const asked = await runHere(
    ["erase", "--company", "1", "--metadata", `person=${SECRET}`, "--from", "2026-01-01T00:00:00Z"],
    place.env,
  );
  expect([asked.code, asked.out]).toEqual([0, expect.stringContaining("Erasure 1 is on record")]);
  const { code, out } = await runHere(["erase", "--rewrite"], place.env);
  expect(code).toBe(0);
  expect(out).toContain("anew: 300 events, all as they were");
  // That before the given instant was not asked for.
  expect(filesWith(SECRET)).toEqual(["usage.duckdb"]);
  await runHere(["erase", "--company", "1", "--metadata", `person=${SECRET}`], place.env);
  await runHere(["erase", "--rewrite"], place.env);
  expect(filesWith(SECRET)).toEqual([]);
  expect(readdirSync(place.data_dir).filter((name) => /\.new|\.tmp/.test(name))).toEqual([]);
  await serveHere(place.env, async (api) => {
    expect(await search(api, sums)).toEqual(before);
    expect((await search(api, { metadata: { erased: "true" } })).meta.total).toBe(3);
    expect((await search(api, { metadata: { person: "p8" } })).meta.total).toBe(1);
    expect((await api("GET", "/usage/erasures")).body.data).toMatchObject([{ erased: 1 }, { erased: 2 }]);
    const repeat = { usage: 9, external_subscription_id: "s1", timestamp: 1_767_000_000_000 };
    expect((await api("POST", "/usage/events", repeat)).body.data.accepted).toBe(1);
  });
});

test("it refuses wrong words, and --rewrite a store that is open", async () => {
  for (const words of [
    ["--company", "1"],
    ["--company", "1", "--metadata", "person"],
    ["--company", "1", "--from", "yesterday"],
    ["--metadata", "a=b"],
  ]) {
    const { code } = await runHere(["erase", ...words], place.env);
    expect([words, code]).toEqual([words, 2]);
  }
  await serveHere(place.env, async () => {
    const { code, err } = await runHere(["erase", "--rewrite"], place.env);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/open already|in use|another process|one process/i),
    ]);
  });
});
