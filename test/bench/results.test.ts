import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compare, differs } from "../../bench/compare.ts";
import { type Finding, finding } from "../../bench/finding.ts";
import { readResults, type Results, ResultsFile } from "../../bench/results.ts";

/** Calls `work` with the path of a file in a folder that is deleted afterwards. */
function withFile<T>(work: (file: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "meterhouse-test-"));
  try {
    return work(join(folder, "results.json"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A line with one latency, one value each round, and its peer's. */
const line = (what: string, values: number[], peer: number[] = [10]): Finding =>
  finding(what, 1_000, {
    measured: "as text",
    figures: [{ name: "p50", unit: "ms", values }],
    peers: [{ name: "SQL", unit: "ms", values: peer }],
  });

/** What a run with these lines leaves in a new file. */
const resultsOf = (findings: Finding[], bench = "usage"): Results =>
  withFile((file) => {
    new ResultsFile(file, bench, 1_000).save(findings);
    return readResults(file);
  });

describe("a file of results", () => {
  test("keeps what other runs of the same bench and size found, unless it is measured again", () =>
    withFile((file) => {
      new ResultsFile(file, "usage", 1_000).save([line("pages", [5]), line("sums", [7])]);
      const again = new ResultsFile(file, "usage", 1_000);
      again.save([line("sums", [6])]);
      const values = readResults(file).findings.map(({ what, figures }) => [what, figures[0]?.values]);
      expect(values).toEqual([
        ["pages", [5]],
        ["sums", [6]],
      ]);
      expect(again.results.findings.map(({ what }) => what)).toEqual(["sums"]);
    }));

  test("keeps an earlier figure when a later run could not measure it", () =>
    withFile((file) => {
      new ResultsFile(file, "usage", 1_000).save([line("pages", [5])]);
      new ResultsFile(file, "usage", 1_000).save([line("pages", [])]);
      expect(readResults(file).findings.map(({ figures }) => figures[0]?.values)).toEqual([[5]]);
    }));

  test("starts anew for another size", () =>
    withFile((file) => {
      new ResultsFile(file, "usage", 1_000).save([line("pages", [5])]);
      new ResultsFile(file, "usage", 2_000).save([line("sums", [7])]);
      expect(readResults(file)).toMatchObject({ size: 2_000, findings: [{ what: "sums" }] });
    }));

  test("is formatted as the repository's JSON is", () =>
    withFile((file) => {
      new ResultsFile(file, "usage", 1_000).save([line("pages", [5.5, 6, 1e-9])]);
      expect(readFileSync(file, "utf8")).toContain('          "values": [5.5, 6, 1e-9]\n');
    }));

  test.each([
    ["{", "it is no JSON"],
    ["[1]", "/: Expected object"],
    ['{"bench":"usage","size":1,"hardware":"","machine":"","findings":[{"what":1}]}', "/findings/0/"],
  ])("is refused when it holds something else: %s", (text, reason) =>
    withFile((file) => {
      writeFileSync(file, text);
      expect(() => readResults(file)).toThrow("it holds no results of a run of the bench");
      expect(() => new ResultsFile(file, "usage", 1_000)).toThrow(reason);
      expect(readFileSync(file, "utf8")).toBe(text);
    }),
  );

  test("is refused when it is missing", () => {
    expect(() => readResults("/nowhere/results.json")).toThrow("there is no such file");
  });
});

describe("a comparison", () => {
  const cellsOf = (before: Finding[], after: Finding[]) =>
    compare(resultsOf(before), resultsOf(after))
      .split("\n")
      .filter((text) => text.startsWith("|"))
      .slice(2)
      .map((text) =>
        text
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );

  test("has before, after, the ratio, how the peer moved, and whether they differ", () => {
    const before = [line("pages", [8, 9, 8.5], [10, 11, 12]), line("gone", [1])];
    const after = [line("pages", [4, 4.5, 4.25], [22, 22, 22]), line("sums", [7])];
    expect(cellsOf(before, after)).toEqual([
      ["pages", "8.5 ms (8 to 9)", "4.25 ms (4 to 4.5)", "0.50 ×", "2.00 ×", "yes, better"],
      ["sums", "–", "7 ms", "–", "–", "new"],
    ]);
    expect(compare(resultsOf(before), resultsOf(after))).toContain("Lines measured only before: 1.");
  });

  test.each([
    ["req/s", [100, 110], [200, 210], "yes, better"],
    ["req/s", [200, 210], [100, 110], "yes, worse"],
    ["ms", [5, 6], [10, 11], "yes, worse"],
    ["ms", [5, 10], [9, 9.5], "no"],
    ["ms", [9, 9.5], [5, 10], "no"],
    ["ms", [5], [10, 11], "unknown: one round"],
  ])("of %s from %p to %p says: %s", (unit, before, after, expected) => {
    const figure = (values: number[]) => ({ name: "p50", unit, values });
    expect(differs(figure(before), figure(after))).toBe(expected);
  });

  test("is refused for another bench, and says when hardware or size are others", () => {
    const before = resultsOf([line("pages", [8])]);
    expect(() => compare(before, resultsOf([], "billing"))).toThrow("one of usage, this is one of billing");
    const elsewhere = { ...resultsOf([line("pages", [8])]), size: 2_000, hardware: "a larger machine" };
    const text = compare(before, elsewhere);
    expect(text).toContain("Now other hardware:** a larger machine");
    expect(text).toContain("Now another size:** 2,000");
  });
});
