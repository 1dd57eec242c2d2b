// Runs the protocol's own conformance suites and its Inspector against a service of its own. They are fetched when
// this runs, at fixed versions: they are large, and nothing else needs them. Ends with 0 when all that is not in
// the baseline passes, and nothing in the baseline passes either.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { allow, authorize, register } from "../bench/oauth_client.ts";
import { Cleanup } from "../bench/cleanup.ts";
import { FIRST_EMAIL, PASSWORD, Service } from "../bench/service.ts";

const NEWEST = "0.2.0-alpha.12";
/** Where the authorization suite waits for the browser. */
const CALLBACK_PORT = 33_500;

const SUITES = [
  { name: "suite 0.1", version: "0.1.16", baseline: "conformance_0.1.yml", options: [] },
  {
    name: "suite 0.2, up to 2025-11-25",
    version: NEWEST,
    baseline: "conformance_0.2_2025.yml",
    options: ["--suite", "all", "--spec-version", "2025-11-25"],
  },
  {
    name: "suite 0.2, 2026-07-28",
    version: NEWEST,
    baseline: "conformance_0.2_2026.yml",
    options: ["--suite", "all", "--spec-version", "2026-07-28"],
  },
];
const INSPECTOR = "@modelcontextprotocol/inspector@2.12.0";
const BASELINES = join(import.meta.dir, "../test/mcp");

/** A reverse proxy that adds the token to each request, since the suites can't authorize. */
function startProxy(target: string, token: string): { url: string; stop: () => Promise<void> } {
  const server = Bun.serve({
    port: 0,
    hostname: "localhost",
    idleTimeout: 60,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const headers = new Headers(request.headers);
      headers.set("authorization", `Bearer ${token}`);
      // The proxy's own origin stands for the service's; any other is forged by the suite on purpose.
      if (headers.get("origin") === `http://localhost:${server.port}`) headers.set("origin", target);
      headers.delete("host");
      const body = request.method === "GET" ? null : await request.arrayBuffer();
      return fetch(`${target}${pathname}${search}`, { method: request.method, headers, body });
    },
  });
  return { url: `http://localhost:${server.port}/api/v1/mcp`, stop: () => server.stop(true) };
}

/** One line for each scenario. */
function summaryOf(printed: string): string {
  return printed
    .split("\n")
    .filter((line) => /^(✓|✗|Total:)/.test(line))
    .join("\n");
}

async function run(name: string, command: string[], cwd: string): Promise<boolean> {
  const child = Bun.spawn(command, { cwd, stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  console.log(`${code === 0 ? "ok  " : "FAIL"}  ${name}`);
  console.log((code === 0 ? summaryOf(out) : `${out}${err}`).trim());
  return code === 0;
}

/** The suite of the authorization server; the user's consent is submitted here. */
async function runAuthorization(origin: string, cwd: string): Promise<boolean> {
  const redirect = `http://127.0.0.1:${CALLBACK_PORT}/callback`;
  const client_id = await register(origin, redirect);
  const suite = ["bun", "x", "--bun", `@modelcontextprotocol/conformance@${NEWEST}`, "authorization"];
  const options = ["--url", origin, "--client-id", client_id, "--resource", `${origin}/api/v1/mcp`];
  const child = Bun.spawn([...suite, ...options, "-p", String(CALLBACK_PORT)], { cwd, stdout: "pipe" });
  let printed = "";
  const allowed = new Set<string>();
  for await (const piece of child.stdout) {
    printed += new TextDecoder().decode(piece);
    for (const [url] of printed.matchAll(/^https?:\S+\/oauth\/authorize\?\S+$/gm)) {
      if (allowed.has(url)) continue;
      allowed.add(url);
      await fetch(await allow(url, { email: FIRST_EMAIL, password: PASSWORD }));
    }
  }
  const is_ok = (await child.exited) === 0;
  console.log(`${is_ok ? "ok  " : "FAIL"}  authorization server`);
  console.log(is_ok ? summaryOf(printed) : printed);
  return is_ok;
}

const cleanup = new Cleanup();
cleanup.onSignals();
let failed = 0;
try {
  const service = new Service(cleanup, cleanup.folder());
  await service.start();
  const token = await authorize(service.origin, { email: FIRST_EMAIL, password: PASSWORD });
  const proxy = startProxy(service.origin, token);
  cleanup.add(() => proxy.stop());
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
      proxy.url,
    ];
    if (!(await run(name, [...command, ...options, ...expected], folder))) failed++;
  }
  if (!(await runAuthorization(service.origin, folder))) failed++;
  for (const era of ["legacy", "modern"]) {
    const command = ["bun", "x", "--bun", INSPECTOR, "--cli", proxy.url, "--transport", "http"];
    const options = ["--protocol-era", era, "--method", "tools/list", "--strict"];
    if (!(await run(`Inspector, ${era} era`, [...command, ...options], folder))) failed++;
  }
} finally {
  await cleanup.run();
}
console.log(failed === 0 ? "all passed" : `${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
