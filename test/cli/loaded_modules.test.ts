import { expect, test } from "bun:test";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..", "..");

/** What only some requests, commands or databases need. Decision 0170. */
const LOADED_LATER = [
  "/node_modules/@elysiajs/openapi/",
  "/node_modules/@modelcontextprotocol/server/",
  "/node_modules/@opentelemetry/",
  "/node_modules/postgres/",
  "/node_modules/prom-client/",
  "/node_modules/zod/",
  "/src/cli/import.ts",
  "/src/server/tools.ts",
];

/** The files that a process has loaded once it imported `paths`, below src/. */
async function loadedBy(...paths: string[]): Promise<string[]> {
  const imports = paths.map((path) => `await import(${JSON.stringify(join(ROOT, "src", path))});`);
  const code = `${imports.join("\n")} console.log(JSON.stringify(Object.keys(require.cache))); process.exit(0);`;
  const child = Bun.spawn([process.execPath, "-e", code], { cwd: ROOT, stderr: "inherit" });
  return JSON.parse(await child.stdout.text());
}

const loadedLater = (files: string[]) =>
  LOADED_LATER.filter((part) => files.some((file) => file.includes(part)));

test("a start on SQLite loads nothing that it can do without", async () => {
  const files = await loadedBy("cli/run.ts", "cli/serve.ts", "cli/start_serving.ts", "store/sqlite.ts");
  expect(files.some((file) => file.endsWith("/src/server/http_app.ts"))).toBe(true);
  expect(loadedLater(files)).toEqual([]);
});

test("what it leaves out is loaded where it is used", async () => {
  const files = await loadedBy(
    "app/process_metrics.ts",
    "http/openapi.ts",
    "mcp/handler.ts",
    "store/postgres.ts",
    "cli/import.ts",
    "server/tools.ts",
    "server/tracing.ts",
  );
  expect(loadedLater(files)).toEqual(LOADED_LATER);
});
