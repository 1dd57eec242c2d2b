import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { MANIFEST_FORMAT, type Manifest, manifestName, objectsOf } from "../../src/backup/manifest.ts";
import { recordName } from "../../src/backup/log/record.ts";
import { listPoints, newestPoint, readPoint } from "../../src/backup/points.ts";
import { applyRetention, pointsToKeep } from "../../src/backup/retention.ts";
import { piecesOf, type Target } from "../../src/backup/target.ts";
import { propertyCases } from "../support/properties.ts";

const KEEP = { days: 2, weeks: 2, months: 2 };
const NOW = Temporal.Instant.from("2026-11-23T12:00:00Z");
const KEY = "0".repeat(64);
const object = (name: string) => ({ name, sha256: KEY, size: 1, recipient: null });

/** A target in memory that breaks off at an operation that changes it. */
function memoryTarget(): Target & { objects: Map<string, string>; changes_left: number } {
  const objects = new Map<string, string>();
  const target = {
    url: "memory:",
    objects,
    changes_left: Number.POSITIVE_INFINITY,
    async write(name: string, content: AsyncIterable<Uint8Array>) {
      for await (const piece of content) objects.set(name, Buffer.from(piece).toString());
    },
    async *read(name: string) {
      yield* piecesOf(objects.get(name) ?? "nothing");
    },
    list: async (folder: string) =>
      [...objects.keys()]
        .filter((name) => name.startsWith(folder))
        .map((name) => ({ name, size: 1, modified_ms: name.includes("young") ? NOW.epochMilliseconds : 0 })),
    async remove(name: string) {
      if (target.changes_left-- <= 0) throw new Error("killed");
      objects.delete(name);
    },
  };
  return target;
}

function pointOf(instant: string, segments: readonly number[]): Manifest {
  return {
    format: MANIFEST_FORMAT,
    instant,
    program: "1",
    dialect: "sqlite",
    database_id: "d",
    last_seq: 0,
    events: 0,
    digests: [],
    counts: {},
    rows: object(`rows/${instant}`),
    segments: segments.map((n) => ({ ...object(`usage/0/${n}`), lane: 0, from: n, to: n + 1, events: 1 })),
    documents: segments.map((n) => ({ ...object(`documents/1/${n}`), company_id: 1 })),
  };
}

test("of each day, week and month the newest point is kept, and the newest of all", () => {
  const points = [
    "09-30T01",
    "10-31T01",
    "11-01T01",
    "11-14T01",
    "11-15T01",
    "11-22T01",
    "11-22T02",
    "11-23T02",
  ].map((text) => `2026-${text}:00:00.000Z`);
  const kept = (keep: typeof KEEP) =>
    [...pointsToKeep(points, keep)].map((point) => point.slice(5, 13)).toSorted();
  expect(kept({ days: 2, weeks: 0, months: 0 })).toEqual(["11-22T02", "11-23T02"]);
  expect(kept({ days: 0, weeks: 3, months: 0 })).toEqual(["11-15T01", "11-22T02", "11-23T02"]);
  expect(kept({ days: 0, weeks: 0, months: 2 })).toEqual(["10-31T01", "11-23T02"]);
  expect(kept({ days: 0, weeks: 0, months: 0 })).toEqual(["11-23T02"]);
});

test("nothing that a manifest names is removed, however often retention is cut off; the rest goes in the end", async () => {
  const days = fc.integer({ min: 0, max: 80 });
  const point = fc.tuple(days, fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 5 }));
  await fc.assert(
    fc.asyncProperty(fc.array(point, { minLength: 1, maxLength: 12 }), fc.nat(10), async (drawn, cut) => {
      const target = memoryTarget();
      for (const [day, segments] of drawn) {
        const manifest = pointOf(
          `${NOW.subtract({ hours: 24 * day })
            .toString()
            .slice(0, 19)}.000Z`,
          segments,
        );
        for (const { name } of objectsOf(manifest)) target.objects.set(name, "x");
        target.objects.set(manifestName(manifest.instant), JSON.stringify(manifest));
      }
      target.objects.set("usage/0/young", "x").set("rows/orphan", "x").set("notes.txt", "x");
      const newest = (await newestPoint(target))?.instant;
      for (target.changes_left = cut; ; target.changes_left = Number.POSITIVE_INFINITY) {
        const ended = await applyRetention(target, KEEP, NOW).catch(() => null);
        const named = new Set<string>();
        for (const instant of await listPoints(target))
          for (const { name } of objectsOf(await readPoint(target, instant))) named.add(name);
        expect([...named].filter((name) => !target.objects.has(name))).toEqual([]);
        expect((await newestPoint(target))?.instant).toBe(newest);
        if (ended === null) continue;
        const left = [...target.objects.keys()].filter((name) => !name.startsWith("points/"));
        expect(left.filter((name) => !named.has(name)).toSorted()).toEqual(["notes.txt", "usage/0/young"]);
        return;
      }
    }),
    propertyCases(50),
  );
});

test("a manifest that can't be read lets no object be removed", async () => {
  const target = memoryTarget();
  target.objects.set("points/2026-11-01T00:00:00.000Z.json", '{"format":2}').set("usage/0/1", "x");
  const failure = await applyRetention(target, KEEP, NOW).catch(String);
  expect(failure).toContain("its format is 2, this program reads 1");
  expect(target.objects.has("usage/0/1")).toBe(true);
});

test("with a log any instant of the last days stays, and what is older keeps points alone", async () => {
  const target = memoryTarget();
  const instants = ["20T02", "21T02", "21T10", "22T02", "23T02"].map((text) => `2026-11-${text}:00:00.000Z`);
  const logOf = (point: string) => {
    const record = recordName(point, { n: 1, kind: "base", instant: point });
    return [record, `log/${point}/wal/1-00000000`, `log/${point}/bases/1-00000000`];
  };
  for (const point of instants) {
    target.objects.set(manifestName(point), JSON.stringify(pointOf(point, [])));
    for (const name of logOf(point)) target.objects.set(name, "x");
  }
  const newer = "2026-11-23T12:00:01.000Z";
  for (const name of logOf(newer)) target.objects.set(name, "x");
  await applyRetention(target, { days: 2, weeks: 4, months: 0 }, NOW);
  // That of the 21st at 10:00 reaches to the 22nd at 02:00, less than two days ago.
  const kept = [...instants.slice(2), newer].flatMap(logOf);
  const left = [...target.objects.keys()].filter((name) => name.startsWith("log/"));
  expect(left.toSorted()).toEqual(kept.toSorted());
  expect(await listPoints(target)).toEqual(instants.slice(2));
  await applyRetention(target, { days: 1, weeks: 4, months: 0 }, NOW);
  expect(await listPoints(target)).toEqual(instants.slice(3));
});
