// Everything that CI checks, in order of speed. Prints what failed as it comes and ends with `N passed, N failed`:
// each check counts as one, each test as one.

import { whyNoPostgres } from "../test/why_no_postgres.ts";

interface Step {
  name: string;
  command: string[];
  env?: Record<string, string>;
  /** Why it can't run here, if so. */
  skip?: string | null;
}

const TESTS = ["bun", "test", "--only-failures", "--timeout", "60000"];

/** Tests of what is the same whatever holds the records: pure rules, and how usage events are kept and moved. */
const WITHOUT_RECORDS = [
  "test/{tidy,tour}.test.ts",
  "test/{usage,core}/**",
  "test/**/rules.test.ts",
  "test/features/mandates/schemes/**",
  "test/features/usage/{import,export,ndjson,open_streams,kill}.test.ts",
].map((pattern) => new Bun.Glob(pattern));

const WITH_RECORDS = [...new Bun.Glob("test/**/*.test.ts").scanSync()]
  .filter((file) => !WITHOUT_RECORDS.some((pattern) => pattern.match(file)))
  .map((file) => `./${file}`);

/** As the service itself is started. */
const THREADS = { UV_THREADPOOL_SIZE: "16" };

const CHECKS: Step[] = [
  { name: "format", command: ["bun", "x", "biome", "format", "."] },
  { name: "lint", command: ["bun", "x", "oxlint"] },
  { name: "types", command: ["bun", "x", "tsc", "--noEmit"] },
  { name: "unused code", command: ["bun", "--bun", "x", "knip"] },
  { name: "migrations", command: ["bun", "scripts/migrations.ts", "--check"] },
];

const SUITES: Step[] = [
  { name: "tests on SQLite", command: TESTS, env: { ...THREADS, TEST_STORE: "sqlite" } },
  {
    name: "tests on PostgreSQL",
    command: [...TESTS, ...WITH_RECORDS],
    env: { ...THREADS, TEST_STORE: "postgres" },
    skip: whyNoPostgres(),
  },
];

interface Counts {
  passed: number;
  failed: number;
}

async function run({ command, env }: Step): Promise<{ ok: boolean; printed: string }> {
  const child = Bun.spawn(command, { env: { ...process.env, ...env }, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { ok: (await child.exited) === 0, printed: `${out}${err}`.trim() };
}

/** What a test run counted; a check without tests counts as one. */
function count(ok: boolean, printed: string): Counts {
  const tests = /^ *(\d+) pass\n(?: *\d+ skip\n)?(?: *\d+ todo\n)? *(\d+) fail/m.exec(printed);
  if (!tests) return { passed: ok ? 1 : 0, failed: ok ? 0 : 1 };
  const failed = Number(tests[2]);
  return { passed: Number(tests[1]), failed: ok ? failed : Math.max(failed, 1) };
}

const total: Counts = { passed: 0, failed: 0 };

/** Runs a step, prints what came of it and adds it up. */
async function tell(step: Step): Promise<void> {
  if (step.skip) {
    console.log(`skip  ${step.name}: ${step.skip}`);
    return;
  }
  const started = performance.now();
  const { ok, printed } = await run(step);
  const { passed, failed } = count(ok, printed);
  total.passed += passed;
  total.failed += failed;
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  console.log(
    `${ok ? "ok  " : "FAIL"}  ${step.name} (${seconds} s${passed + failed > 1 ? `, ${passed} tests` : ""})`,
  );
  const skipped = printed
    .split("\n")
    .filter((line) => line.startsWith("(skip)") || line.startsWith("skipped:"));
  if (!ok) console.log(printed);
  else if (skipped.length > 0) console.log(skipped.join("\n"));
}

for (const step of CHECKS) await tell(step);
// At once: each waits for its database most of the time.
await Promise.all(SUITES.map(tell));
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 ? 0 : 1);
