import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { drawPlots, logScale, plotLines, plotRows } from "../../bench/plot.ts";
import { readResults } from "../../bench/results.ts";

const FOLDER = join(import.meta.dir, "../../docs/benchmarks");

/** The numbers of an attribute, in the order of the picture. */
const numbers = (svg: string, attribute: string) =>
  [...svg.matchAll(new RegExp(` ${attribute}="([-\\d.]+)"`, "g"))].map(([, value]) => Number(value));

describe("plots", () => {
  test("those in docs/benchmarks are drawn from the results beside them", () => {
    const files = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
    const drawn = drawPlots(files.map((name) => readResults(join(FOLDER, name))));
    expect([...drawn.keys()]).toEqual(["growth.svg", "engines.svg"]);
    for (const [name, svg] of drawn) expect(readFileSync(join(FOLDER, name), "utf8")).toBe(svg);
  });

  test("a scale goes from one power of ten to another, in equal steps", () => {
    const scale = logScale([3, 420], 0, 300);
    expect(scale.ticks).toEqual([1, 10, 100, 1_000]);
    expect(scale.ticks.map(scale.at).map(Math.round)).toEqual([0, 100, 200, 300]);
    expect(logScale([10], 0, 100).ticks).toEqual([10, 100]);
  });

  test("lines that end at the same height have labels that don't cover each other", () => {
    const points = [
      [1e6, 5],
      [1e7, 6],
    ] as const;
    const svg = plotLines("Growth", [
      { label: "one", points },
      { label: "two", points },
      { label: "never measured", points: [] },
    ]);
    const heights = ["one", "two"].map((label) =>
      Number(new RegExp(`y="([\\d.]+)"[^>]*>${label}<`).exec(svg)?.[1]),
    );
    expect(Math.abs((heights[0] ?? 0) - (heights[1] ?? 0))).toBeGreaterThanOrEqual(16);
    expect(svg).not.toContain("never measured");
  });

  test("a row has a mark for each engine that was measured, the slower further right", () => {
    const values = new Map([
      ["Meterhouse", 5],
      ["A & B", 50],
    ]);
    const svg = plotRows("Engines", [
      { label: "sums <all>", values },
      { label: "pages", values: new Map([["Meterhouse", 500]]) },
    ]);
    expect(svg).toContain("sums &lt;all>");
    expect(svg).toContain("<title>A &amp; B: 50.0 ms</title>");
    const marks = numbers(svg, "cx");
    // The legend's, then one in each row; the other engine's marks are squares.
    expect(marks).toHaveLength(3);
    expect(marks[2] ?? 0).toBeGreaterThan(marks[1] ?? 0);
  });
});
