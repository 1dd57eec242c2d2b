import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readReport } from "../../scripts/test_report.ts";

const TESTS = `
  import { afterAll, describe, expect, test } from "bun:test";
  describe("a <b> & 'c'", () => {
    describe("inner", () => {
      test.each(["one\\nline", "two\\nlines"])("of %s > \\"x\\"", (text) => expect(text).toStartWith("one"));
    });
  });
  test.skip("left out", () => undefined);
  test("by itself", () => undefined);
  afterAll(() => { throw new Error("too late"); });
`;

test("a report names each test of a run with its groups, on one line, and what came of it and why", async () => {
  const folder = mkdtempSync(join(tmpdir(), "report-"));
  writeFileSync(join(folder, "some.test.ts"), TESTS);
  writeFileSync(
    join(folder, "other.test.ts"),
    'import { test } from "bun:test"; test("elsewhere", () => undefined);',
  );
  const report = join(folder, "report.xml");
  const words = ["--parallel=2", "--no-isolate", "--reporter=junit", `--reporter-outfile=${report}`];
  const child = Bun.spawn(["bun", "test", ...words], { cwd: folder, stdout: "ignore", stderr: "ignore" });
  expect(await child.exited).toBe(1);
  const tests = readReport(await Bun.file(report).text());
  rmSync(folder, { recursive: true });
  for (const { seconds } of tests) expect(seconds).toBeGreaterThanOrEqual(0);
  expect(tests.toSorted((a, b) => a.file.localeCompare(b.file))).toMatchObject([
    { file: "other.test.ts", name: "elsewhere", outcome: "passed" },
    { file: "some.test.ts", name: `a <b> & 'c' > inner > of one line > "x"`, outcome: "passed" },
    {
      file: "some.test.ts",
      name: `a <b> & 'c' > inner > of two lines > "x"`,
      outcome: "failed",
      reason: expect.stringContaining('Received: "two\\nlines"'),
    },
    { file: "some.test.ts", name: "left out", outcome: "skipped" },
    { file: "some.test.ts", name: "by itself", outcome: "passed" },
    { file: "some.test.ts", name: "(unnamed)", outcome: "failed", reason: "too late" },
  ]);
});
