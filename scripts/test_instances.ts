// `bun run test:instances` runs the tests of the interface against two instances on one PostgreSQL, one ClickHouse and
// one bucket, behind one address: each request of a test goes to the other instance than the one before. Ends with 0
// when all pass but those of DIFFERS, and each of those fails. With files it runs these alone.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DIFFERS } from "./differs_on_instances.ts";
import { type ReportedTest, readReport } from "./test_report.ts";

const FAMILIES =
  "access audit billing console contract docs emandate entitlements forms http idempotency loans mcp overview people usage webhooks";

const given = process.argv.slice(2);
const places = given.length > 0 ? given : FAMILIES.split(" ").map((family) => `test/${family}`);
const folder = mkdtempSync(join(tmpdir(), "meterhouse-instances-"));
const env = {
  ...process.env,
  UV_THREADPOOL_SIZE: "16",
  TEST_STORE: "postgres",
  TEST_INSTANCES: "2",
  TEST_PROGRAM: join(folder, "meterhouse"),
};

async function run(...command: string[]): Promise<number> {
  return await Bun.spawn(command, { env, stdout: "inherit", stderr: "inherit" }).exited;
}

/** What failed and should not, and what did not fail of that which is known to differ. */
async function testAll(): Promise<string[]> {
  const wrong: string[] = [];
  const reported: ReportedTest[] = [];
  // A process for each: ClickHouse's engine keeps what it was given in memory.
  for (const place of places) {
    const report = join(folder, "report.xml");
    const options = ["--timeout", "180000", "--no-isolate", "--only-failures"];
    await run("bun", "test", ...options, "--reporter=junit", `--reporter-outfile=${report}`, `./${place}`);
    if (await Bun.file(report).exists()) {
      reported.push(...readReport(await Bun.file(report).text()));
      rmSync(report);
    } else wrong.push(`${place}: no report`);
  }
  const keyOf = ({ file, name }: { file: string; name: string }) => `${file}: ${name}`;
  const differing = new Set(DIFFERS.map(({ file, test: name }) => keyOf({ file, name })));
  const failed = new Set(reported.filter(({ outcome }) => outcome === "failed").map(keyOf));
  const files = new Set(reported.map(({ file }) => file));
  for (const key of failed) if (!differing.has(key)) wrong.push(`${key}: failed`);
  for (const { file, test: name } of DIFFERS)
    if (files.has(file) && !failed.has(keyOf({ file, name })))
      wrong.push(`${keyOf({ file, name })}: did not fail, which DIFFERS says`);
  const passed = reported.filter(({ outcome }) => outcome === "passed").length;
  const expected = failed.intersection(differing).size;
  console.log(`${passed} passed, ${expected} differed, ${wrong.length} not as they should be`);
  return wrong;
}

let wrong: string[] = [];
try {
  if ((await run("bun", "scripts/compile.ts", "--outfile", env.TEST_PROGRAM)) !== 0)
    throw new Error("The program could not be compiled");
  wrong = await testAll();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const line of wrong) console.log(`FAIL  ${line}`);
process.exit(wrong.length === 0 ? 0 : 1);
