// Runs the protocol's own conformance suites and its Inspector against a service of its own. They are fetched when
// this runs, at fixed versions: they are large, and nothing else needs them. Ends with 0 when all that is not in
// the baseline passes, and nothing in the baseline passes either.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { authorize } from "../bench/agent.ts";
import { Cleanup } from "../bench/cleanup.ts";
import { FIRST_EMAIL, PASSWORD, Service } from "../bench/service.ts";

const SUITES = [
  { name: "suite 0.1", version: "0.1.16", baseline: "conformance_0.1.yml", options: [] },
  {
    name: "suite 0.2, up to 2025-11-25",
    version: "0.2.0-alpha.12",
    baseline: "conformance_0.2_2025.yml",
    options: ["--suite", "all", "--spec-version", "2025-11-25"],
  },
  {
    name: "suite 0.2, 2026-07-28",
    version: "0.2.0-alpha.12",
    baseline: "conformance_0.2_2026.yml",
    options: ["--suite", "all", "--spec-version", "2026-07-28"],
  },
];
const INSPECTOR = "@modelcontextprotocol/inspector@2.12.0";
const BASELINES = join(import.meta.dir, "../test/mcp");

/** The suites can't authorize: a door beside the service sends the token with each request, as it came else. */
function openDoor(target: string, token: string): { url: string; stop: () => Promise<void> } {
  const server = Bun.serve({
    port: 0,
    hostname: "localhost",
    idleTimeout: 60,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const headers = new Headers(request.headers);
      headers.set("authorization", `Bearer ${token}`);
      // What names this door names the service behind it; anything else is the suite's own forgery.
      if (headers.get("origin") === `http://localhost:${server.port}`) headers.set("origin", target);
      headers.delete("host");
      const body = request.method === "GET" ? null : await request.arrayBuffer();
      return fetch(`${target}${pathname}${search}`, { method: request.method, headers, body });
    },
  });
  return { url: `http://localhost:${server.port}/api/v1/mcp`, stop: () => server.stop(true) };
}

async function run(name: string, command: string[], cwd: string): Promise<boolean> {
  const child = Bun.spawn(command, { cwd, stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  const summary = out
    .split("\n")
    .filter((line) => /^(✓|✗|Total:|Expected|Unexpected|Stale|Baseline)/.test(line));
  console.log(`${code === 0 ? "ok  " : "FAIL"}  ${name}`);
  console.log((code === 0 ? summary.join("\n") : `${out}${err}`).trim());
  return code === 0;
}

const cleanup = new Cleanup();
cleanup.onSignals();
let failed = 0;
try {
  const service = new Service(cleanup, cleanup.folder());
  await service.start();
  const token = await authorize(service.origin, { email: FIRST_EMAIL, password: PASSWORD });
  const door = openDoor(service.origin, token);
  cleanup.add(() => door.stop());
  const folder = join(cleanup.folder(), "run");
  mkdirSync(folder);
  await Bun.write(join(folder, "package.json"), "{}");

  for (const { name, version, baseline, options } of SUITES) {
    const expected = ["--expected-failures", join(BASELINES, baseline)];
    const command = [
      "bun",
      "x",
      "--bun",
      `@modelcontextprotocol/conformance@${version}`,
      "server",
      "--url",
      door.url,
    ];
    if (!(await run(name, [...command, ...options, ...expected], folder))) failed++;
  }
  for (const era of ["legacy", "modern"]) {
    const command = ["bun", "x", "--bun", INSPECTOR, "--cli", door.url, "--transport", "http"];
    const options = ["--protocol-era", era, "--method", "tools/list", "--strict"];
    if (!(await run(`Inspector, ${era} era`, [...command, ...options], folder))) failed++;
  }
} finally {
  await cleanup.run();
}
console.log(failed === 0 ? "all passed" : `${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
