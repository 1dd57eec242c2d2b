import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Deps } from "../../src/app/deps.ts";
import type { Clock } from "../../src/core/time.ts";
import { type Demo, prepareDemo } from "../../src/demo/demo.ts";
import { listen } from "../../src/server/listen.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { type Api, apiOf } from "./harness.ts";
import { CHEAP } from "./password_cost.ts";
import { afterEverything } from "./preload.ts";
import { configIn, makeTestDemo, REPORT } from "./small_demo.ts";

/** A small demo that is made already: `bun run check` makes one for all files. */
const MADE = process.env.TEST_DEMO;

let made: Promise<string> | undefined;

/** A copy of a small demo, which is made once for all files of a check, or of a process. */
export async function copyOfSmallDemo(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "meterhouse-demo-"));
  cpSync(MADE ?? (await madeHere()), folder, { recursive: true });
  return folder;
}

function madeHere(): Promise<string> {
  made ??= makeTestDemo().then(({ folder }) => {
    afterEverything(async () => {
      made = undefined;
      rmSync(folder, { recursive: true, force: true });
    });
    return folder;
  });
  return made;
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
