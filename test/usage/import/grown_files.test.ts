import { afterAll, beforeAll, expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { basename, join } from "node:path";
import { array, assert, asyncProperty, boolean, integer, record } from "fast-check";
import { digestOf, readSource } from "../../../src/usage/import/source.ts";
import { type KnownImport } from "../../../src/usage/import/model.ts";
import { type CommandFolder, makePreparedFolder, runHere, serveHere } from "../../support/process.ts";
import { propertyCases } from "../../support/properties.ts";
import { addCatalog } from "../../billing/subscriptions/fixtures.ts";
import { addSubscription, ms, search } from "../fixtures.ts";

// Files whose rows have no ids, and that are imported again after they have grown.

const T0 = ms("2024-05-01T00:00:00Z");
const HEADER = "external_subscription_id,timestamp,usage\n";
const NAMES = ["grown", "first", "second", "other"];

let place: CommandFolder;

beforeAll(async () => {
  place = await makePreparedFolder();
  await serveHere(place.env, async (api) => {
    const catalog = await addCatalog({ api });
    for (const name of NAMES) await addSubscription({ api }, name, catalog);
  });
});
afterAll(() => place.remove());

const rows = (name: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `${name},${T0 + from + i},1\n`).join("");

const path = (name: string) => join(place.data_dir, name);

async function importFile(name: string, ...options: string[]) {
  const finished = await runHere(["import", "usage", path(name), ...options], place.env);
  const [, ...counts] = /^(\d+) accepted, (\d+) duplicates, (\d+) rejected/m.exec(finished.out) ?? [];
  return { ...finished, counts: counts.map(Number) };
}

async function total(name: string): Promise<unknown> {
  const found = await serveHere(place.env, (api) =>
    search(api, { external_subscription_ids: [name], aggregate: true }),
  );
  return found.data[0].total_usage;
}

test("a file that grows and is imported again stores its new rows only, however often", async () => {
  await Bun.write(path("grown.csv"), HEADER + rows("grown", 0, 100));
  const first = await importFile("grown.csv");
  expect([first.counts, first.err]).toEqual([[100, 0, 0], ""]);
  appendFileSync(path("grown.csv"), rows("grown", 100, 250));
  const second = await importFile("grown.csv");
  expect([second.counts, second.err]).toEqual([[150, 100, 0], ""]);
  expect(second.out).toContain("begins with a file that was imported before: its rows up to 100 count once");
  appendFileSync(path("grown.csv"), rows("grown", 250, 260));
  expect((await importFile("grown.csv")).counts).toEqual([10, 250, 0]);
  // Moved elsewhere, and whole again.
  await Bun.write(path("moved.csv"), Bun.file(path("grown.csv")));
  expect((await importFile("moved.csv")).counts).toEqual([0, 260, 0]);
  expect(await total("grown")).toBe(260);
});

test("a last row that was cut off, and stands there whole later, is rejected and not counted twice", async () => {
  await Bun.write(path("cut.csv"), HEADER + rows("first", 0, 10));
  appendFileSync(path("cut.csv"), `first,${T0 + 10},1`);
  expect((await importFile("cut.csv")).counts).toEqual([11, 0, 0]);
  appendFileSync(path("cut.csv"), "5\n");
  const again = await importFile("cut.csv");
  expect(again.counts).toEqual([0, 10, 1]);
  const rejects = await Bun.file(`${path("cut.csv")}.rejects.ndjson`).text();
  expect(rejects).toContain("is used already, by an event with other usage");
});

test("another file of the name is warned of, before its rows count again", async () => {
  await Bun.write(path("other.csv"), HEADER + rows("other", 0, 10));
  await importFile("other.csv");
  // A new first line: nothing of it is known.
  await Bun.write(path("other.csv"), HEADER + rows("other", 50, 51) + rows("other", 0, 10));
  const { counts, err } = await importFile("other.csv");
  expect(counts).toEqual([11, 0, 0]);
  expect(err).toContain(`Warning: another ${basename(path("other.csv"))} was imported before`);
  // With ids of its own no row can count again.
  await Bun.write(path("other.csv"), HEADER + rows("second", 0, 5));
  const named = await importFile("other.csv", "--id", "md5('s' || timestamp)::UUID");
  expect([named.counts, named.err]).toEqual([[5, 0, 0], ""]);
});

test("a row keeps its name through all versions of a file that were imported, whole or in part", async () => {
  const version = record({
    lines: integer({ min: 0, max: 40 }),
    part: integer({ min: 0, max: 40 }),
    cut: boolean(),
  });
  await assert(
    asyncProperty(array(version, { maxLength: 6 }), async (versions) => {
      const file = path("versions.csv");
      const known = new Map<string, KnownImport>();
      const names = new Map<number, string>();
      let lines = 0;
      for (const { lines: more, part, cut } of versions) {
        lines += more;
        await Bun.write(file, rows("first", 0, lines));
        const source = await readSource(file, "versions.csv", [...known.values()]);
        // All of its rows are stored, or the first of them: the others may be named anew the next time.
        const stored = cut ? Math.min(part, lines) : lines;
        for (let row = 1; row <= stored; row++) {
          const name = digestOf(source, row);
          expect(names.get(row) ?? name).toBe(name);
          names.set(row, name);
        }
        if (stored === 0) continue;
        const before = known.get(source.digest)?.rows ?? 0;
        const { digest, bytes, file_name } = source;
        known.set(digest, { file_name, digest, bytes, rows: Math.max(before, stored) });
      }
      const names_of_rows = [...names.keys()];
      expect(Math.max(0, ...names_of_rows)).toBe(names_of_rows.length);
    }),
    propertyCases(100),
  );
});
