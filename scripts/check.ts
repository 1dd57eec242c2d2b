// Everything that CI checks. Prints what failed as it comes, and again by name at its end, which is
// `N passed, N failed`: each check counts as one, each test as one.
//
//   bun run check            everything
//   bun run check --all      the same at full size (TEST_ALL=1), and with every test on PostgreSQL too
//   bun run check --changed  what differs from main, and the tests beside it; from HEAD with --changed=HEAD

import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { availableParallelism, freemem, tmpdir } from "node:os";
import { join } from "node:path";
import { type PostgresServer, startPostgres } from "../test/support/postgres_server.ts";
import { whyNoPostgres } from "../test/support/why_no_postgres.ts";
import { changedFiles, testsBeside } from "./changes.ts";
import { testFiles, testsOfOtherTurns } from "./by_turns.ts";
import { outputOf } from "./output_of.ts";
import { testsOnPostgres } from "./postgres_tests.ts";
import { type ReportedTest, readReport } from "./test_report.ts";

interface Step {
  name: string;
  command: string[];
  env?: Record<string, string>;
  /** The file that tests report to. */
  report?: string;
}

const format = (...files: string[]): Step => ({
  name: "format",
  command: ["bun", "x", "biome", "format", ...files],
});
const lint = (...files: string[]): Step => ({ name: "lint", command: ["bun", "x", "oxlint", ...files] });
/** What it found is kept, so that the next run looks at what changed since; threads would do some of it twice. */
const TYPES_FOUND = "node_modules/.cache/types.json";
const TYPES: Step = {
  name: "types",
  command: [..."bun x tsc --noEmit --singleThreaded --incremental --tsBuildInfoFile".split(" "), TYPES_FOUND],
};
const CHECKS: Step[] = [
  format("."),
  lint(),
  TYPES,
  { name: "types of the console", command: "bun x tsc --noEmit -p src/console".split(" ") },
  { name: "unused code", command: ["bun", "--bun", "x", "knip"] },
  { name: "migrations", command: ["bun", "scripts/migrations.ts", "--check"] },
];

/** More processes than this would run out of connections to one PostgreSQL server. */
const PROCESSES = Math.min(availableParallelism(), 4);

/** `bun test` on some files, or on all; threads as the service itself is started. */
function suite(name: string, store: "sqlite" | "postgres", files: string[]): Step {
  // Tests of files, child processes and other instances wait for them much of the time.
  const processes = store === "sqlite" ? PROCESSES + 2 : PROCESSES + 1;
  const workers = ["--no-isolate", `--parallel=${processes}`];
  const report = join(folder, `${store}.xml`);
  const printed = ["--only-failures", "--reporter=junit", `--reporter-outfile=${report}`];
  return {
    name,
    command: [
      "bun",
      "test",
      "--timeout",
      "600000",
      ...workers,
      ...printed,
      ...files.map((file) => `./${file}`),
    ],
    env: { UV_THREADPOOL_SIZE: "16", TEST_STORE: store },
    report,
  };
}

interface Counts {
  passed: number;
  failed: number;
}

const total: Counts = { passed: 0, failed: 0 };
/** What failed, after the names of the steps; of a test also why. */
const failures: string[] = [];

/** What a test run counted; a check without tests counts as one. */
function count(ok: boolean, printed: string): Counts {
  const tests = /^ *(\d+) pass\n(?: *\d+ skip\n)?(?: *\d+ todo\n)? *(\d+) fail/m.exec(printed);
  if (!tests) return { passed: ok ? 1 : 0, failed: ok ? 0 : 1 };
  const failed = Number(tests[2]);
  return { passed: Number(tests[1]), failed: ok ? failed : Math.max(failed, 1) };
}

/** Runs a step, prints what came of it and adds it up. */
async function run({ name, command, env, report }: Step): Promise<void> {
  const started = performance.now();
  const child = Bun.spawn(command, { env: { ...process.env, ...env }, stdout: "pipe", stderr: "pipe" });
  const texts = await Promise.all([child.stdout.text(), child.stderr.text()]);
  const ok = (await child.exited) === 0;
  const printed = texts.join("").trim();
  const { passed, failed } = count(ok, printed);
  total.passed += passed;
  total.failed += failed;
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  const tests = passed + failed > 1 ? `, ${passed} tests` : "";
  console.log(`${ok ? "ok  " : "FAIL"}  ${name} (${seconds} s${tests})`);
  const reported = report !== undefined && existsSync(report) ? readReport(readFileSync(report, "utf8")) : [];
  if (reported.length > 0) console.log(`      slowest: ${slowestOf(reported).join(", ")}`);
  for (const test of namesOf(reported, "skipped")) console.log(`skip  ${test}`);
  if (ok) {
    for (const reason of new Set(printed.match(/^skipped: .*$/gm))) console.log(reason);
    return;
  }
  console.log(printed);
  for (const test of reported)
    if (test.outcome === "failed") failures.push(`${name}: ${nameOf(test)}${beginning(test.reason)}`);
  if (report === undefined) failures.push(name);
  // A file that cannot be loaded, a process that ended.
  else if (namesOf(reported, "failed").length === 0 || /^ *\d+ errors?$/m.test(printed))
    failures.push(`${name}: outside of any test${beginning(OUTSIDE.exec(printed)?.[1])}`);
}

function namesOf(tests: ReportedTest[], outcome: ReportedTest["outcome"]): string[] {
  return tests.filter((test) => test.outcome === outcome).map(nameOf);
}

/** The files that took longest, so that one that grows is seen. */
function slowestOf(tests: readonly ReportedTest[]): string[] {
  const seconds = new Map<string, number>();
  for (const test of tests) seconds.set(test.file, (seconds.get(test.file) ?? 0) + test.seconds);
  return [...seconds]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 12)
    .map(([file, took]) => `${file.replace(/^test\//, "")} ${took.toFixed(0)} s`);
}

const nameOf = ({ file, name }: ReportedTest) => `${file}: ${name}`;

/** What `bun test` prints of an error that no test threw. */
const OUTSIDE =
  /# Unhandled error between tests\n-+\n(?:[\s\S]*?\n)??((?:\w*[Ee]rror: |\w*Error$)[\s\S]*?)\n-{20}/m;

/** Enough of a failure to know it by where the end of the output is all that one sees. */
function beginning(reason = ""): string {
  const lines = reason.split("\n").filter((line) => line.trim() !== "");
  return lines
    .slice(0, 12)
    .map((line) => `\n        ${line.slice(0, 200)}`)
    .join("");
}

/** What a run's databases and files take at most. */
const ROOM = 4 * 2 ** 30;

/** A folder for the run's files, in memory where there is room: on a disk tests wait for it most of the time. */
function makeFolder(): string {
  const memory = "/dev/shm";
  const fits = existsSync(memory) && roomIn(memory) > ROOM && freemem() > 2 * ROOM;
  const made = mkdtempSync(join(fits ? memory : tmpdir(), "meterhouse-check-"));
  // PostgreSQL runs as another user when this is root.
  chmodSync(made, 0o755);
  return made;
}

function roomIn(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

async function checkChanges(branch: string): Promise<void> {
  const files = changedFiles(branch);
  if (files.length === 0) return;
  const tests = testsBeside(files);
  const suites = tests.length === 0 ? [] : [suite("tests beside what changed", "sqlite", tests)];
  await Promise.all([format(...files), lint(...files), TYPES, ...suites].map(run));
}

/**
 * A commit's properties try the same cases wherever it is checked, and the next commit's others. Without this one check
 * passes and another of the same files meets the rare case that fails, which nobody can then tell from a race.
 */
function chooseCases(): void {
  if (process.env.FAST_CHECK_SEED === undefined) {
    const commit = outputOf(["git", "rev-parse", "HEAD"]);
    if (commit === null) return;
    process.env.FAST_CHECK_SEED = String(Number.parseInt(commit.slice(0, 8), 16) | 0);
  }
  console.log(`properties try the cases of FAST_CHECK_SEED=${process.env.FAST_CHECK_SEED}`);
}

async function checkEverything(): Promise<void> {
  const all = process.argv.includes("--all");
  if (all) process.env.TEST_ALL = "1";
  chooseCases();
  const program = join(folder, "meterhouse");
  const compile = { name: "compile", command: ["bun", "scripts/compile.ts", "--outfile", program] };
  const demo = join(folder, "demo");
  const making = { name: "small demo", command: ["bun", "scripts/small_demo.ts", demo] };
  await Promise.all([...CHECKS, compile, making].map(run));
  // Tests start processes a few hundred times: the compiled program takes half the processor time of the sources.
  if (existsSync(program)) process.env.TEST_PROGRAM = program;
  if (existsSync(demo)) process.env.TEST_DEMO = demo;
  const reason = whyNoPostgres();
  if (reason === null) postgres = await startPostgres();
  else console.log(`skip  tests on PostgreSQL: ${reason}`);
  // Tests on SQLite move a company to PostgreSQL, too.
  if (postgres) process.env.TEST_POSTGRES = postgres.url;
  const turn = Number(process.env.FAST_CHECK_SEED ?? 0);
  const every = testFiles();
  const left = all ? new Set<string>() : testsOfOtherTurns(every, turn);
  const inTurn = (files: readonly string[]) => files.filter((file) => !left.has(file));
  if (left.size > 0)
    console.log(`left to the checks of other commits, and to --all: ${left.size} test files`);
  const suites = [suite("tests on SQLite", "sqlite", inTurn(every))];
  if (postgres) suites.push(suite("tests on PostgreSQL", "postgres", inTurn(testsOnPostgres(every, all))));
  await Promise.all(suites.map(run));
}

const folder = makeFolder();
process.env.TMPDIR = folder;
let postgres: PostgresServer | undefined;
try {
  const changed = process.argv.find((word) => /^--changed(=|$)/.test(word));
  await (changed === undefined ? checkEverything() : checkChanges(changed.split("=")[1] ?? "main"));
} finally {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
}
for (const failure of failures) console.log(`FAIL  ${failure}`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 ? 0 : 1);
