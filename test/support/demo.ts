import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Deps } from "../../src/app/deps.ts";
import type { Clock } from "../../src/core/time.ts";
import { type Config, readConfig } from "../../src/core/config.ts";
import { type Demo, prepareDemo } from "../../src/demo/demo.ts";
import { listen } from "../../src/server/listen.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { type Api, apiOf, CHEAP } from "./harness.ts";
import { afterEverything } from "./preload.ts";

/** When the demo of tests was made, and its size: every story has somebody in it. */
export const MADE_AT = Temporal.Instant.from("2026-09-17T04:00:00Z");
export const SMALL = { clients: 11, events: 20_000 };

export const REPORT = { progress: () => undefined, line: () => undefined };

/** The configuration by which a folder beside `folder`/var is the demo's. */
export const configIn = (folder: string): Config =>
  readConfig({ DATA_DIR: join(folder, "var"), PORT: "0", LOG_LEVEL: "fatal", DISK_RESERVE: "0" });

/** Makes a small demo in a new folder. */
export async function makeSmallDemo(): Promise<{ folder: string; demo: Demo }> {
  const folder = mkdtempSync(join(tmpdir(), "meterhouse-demo-"));
  const options = { now: MADE_AT, size: SMALL, password_cost: CHEAP, report: REPORT };
  return { folder, demo: await prepareDemo(configIn(folder), options) };
}

let made: Promise<string> | undefined;

/** A copy of a small demo, which is made once for all files of a process. */
export async function copyOfSmallDemo(): Promise<string> {
  made ??= makeSmallDemo().then(({ folder }) => {
    afterEverything(async () => {
      made = undefined;
      rmSync(folder, { recursive: true, force: true });
    });
    return folder;
  });
  const folder = mkdtempSync(join(tmpdir(), "meterhouse-demo-"));
  cpSync(await made, folder, { recursive: true });
  return folder;
}

/** A small demo at work. */
export interface ServedDemo {
  demo: Demo;
  deps: Deps;
  url: string;
  /** Calls as whom a button signs in. */
  signIn(role: string): Promise<Api>;
  stop(): Promise<void>;
}

/** Serves the demo of a folder; its life goes on if `begins`. */
export async function serveDemo(folder: string, clock: Clock, begins = false): Promise<ServedDemo> {
  const demo = await prepareDemo(configIn(folder), { report: REPORT });
  const deps = await openDeps(demo.config, { clock, password_cost: CHEAP, metrics_age_ms: 0 });
  const life = await demo.open(deps);
  const server = await listen(deps, {}, demo.accounts);
  await server.prepareConsole();
  if (begins) life.begin();
  return {
    demo,
    deps,
    url: server.url,
    async signIn(role) {
      const account = demo.accounts.find((one) => one.role === role);
      if (account === undefined) throw new Error(`No button of the demo is for ${role}`);
      const { email, password } = account;
      const { status, body } = await apiOf(server.url, {})("POST", "/login", { email, password });
      if (status !== 200) throw new Error(`Cannot sign in as ${role}: ${status} ${JSON.stringify(body)}`);
      return apiOf(server.url, { authorization: `Bearer ${body.token}` });
    },
    async stop() {
      await server.stop();
      await deps.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
