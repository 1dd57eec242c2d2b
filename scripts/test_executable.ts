// `bun run test:executable` compiles the program, and runs each test file that starts processes against the executable.
// `--store postgres` for PostgreSQL. Tests of a service in their own process stay out.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { store: { type: "string", default: "sqlite" } } });
const started = /\b(startServer|run|runHere)\(/;
const files = [...new Bun.Glob("test/**/*.test.ts").scanSync()].toSorted();
const texts = await Promise.all(files.map((file) => Bun.file(file).text()));
const chosen = files.filter((_, i) => {
  const text = texts[i] ?? "";
  return text.includes("support/process.ts") && started.test(text) && !text.includes("useService(");
});

const folder = mkdtempSync(join(tmpdir(), "meterhouse-executable-"));
const TEST_PROGRAM = join(folder, "meterhouse");
const env = { ...process.env, TEST_PROGRAM, TEST_COMMANDS: "apart", TEST_STORE: values.store };
const run = (...command: string[]) =>
  Bun.spawn(command, { env, stdout: "inherit", stderr: "inherit" }).exited;
let code = await run("bun", "scripts/compile.ts", "--outfile", TEST_PROGRAM);
if (code === 0) code = await run("bun", "test", "--timeout", "120000", ...chosen.map((file) => `./${file}`));
rmSync(folder, { recursive: true, force: true });
process.exit(code);
