import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { interleave, sortInterleaved } from "../../src/core/chunk.ts";
import { turnsDuring } from "../support/turns.ts";

test("sorting in turns is sorting, and leaves equals in their order", async () => {
  const items = fc.array(fc.record({ rank: fc.nat(5), name: fc.nat() }));
  await fc.assert(
    fc.asyncProperty(items, fc.integer({ min: 1, max: 7 }), async (given, size) => {
      const byRank = (a: { rank: number }, b: { rank: number }) => a.rank - b.rank;
      expect(await sortInterleaved(given, byRank, size)).toEqual(given.toSorted(byRank));
    }),
    { numRuns: 300 },
  );
});

test("one turn has one step of long work, however much of it is under way", async () => {
  const [works, steps] = [20, 10];
  const seen: number[] = [];
  const work = async (name: number) => {
    for await (const _ of interleave(Array.from({ length: steps }), 1)) seen.push(name);
  };
  const { turns } = await turnsDuring(() => Promise.all(Array.from({ length: works }, (_, i) => work(i))));
  expect(turns).toBeGreaterThanOrEqual(works * (steps - 1) - 2);
  // They take turns.
  const round = Array.from({ length: works }, (_, i) => i);
  expect(seen).toEqual(Array.from({ length: steps }, () => round).flat());
});

test("sorting takes a turn for each part", async () => {
  const items = Array.from({ length: 4_000 }, (_, i) => ({ i: (i * 7) % 4_000 }));
  const { turns, result } = await turnsDuring(() => sortInterleaved(items, (a, b) => a.i - b.i, 500));
  expect(result).toEqual(items.toSorted((a, b) => a.i - b.i));
  // Between eight parts, and in the middle of four, two and one merged from two.
  expect(turns).toBeGreaterThanOrEqual(7 + 4 + 2 * 3 + 7 - 2);
});
