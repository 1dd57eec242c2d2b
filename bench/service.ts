import { copyFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Cleanup } from "./cleanup.ts";
import { type ServerProcess, startProcess } from "./processes.ts";

/** The first admin's email and everyone's password. */
export const FIRST_EMAIL = "admin@example.com";
export const PASSWORD = "correct horse battery";

/** The token that reads its metrics. */
const METRICS_TOKEN = "metrics-are-for-the-benchmark-only";

/** The usage store's file; other files of the store have longer names. */
const USAGE_FILE = "usage.duckdb";

const READY_LOOK_MS = 5;
const READY_LIMIT_MS = 120_000;
const REST_MS = 3_000;
const REST_LOOK_MS = 250;
const REST_LIMIT_MS = 1_800_000;

/** The service under test, as a process of its own on a data directory. */
export class Service {
  readonly data_dir: string;
  readonly #cleanup: Cleanup;
  readonly #settings: Record<string, string>;
  #server: ServerProcess | undefined;
  #ready_ms = 0;

  /** `settings` are given to it beside those that every service here has. */
  constructor(cleanup: Cleanup, data_dir: string, settings: Record<string, string> = {}) {
    this.#cleanup = cleanup;
    this.data_dir = data_dir;
    this.#settings = settings;
  }

  get origin(): string {
    if (this.#server === undefined) throw new Error("Cannot send requests: the service does not run");
    return this.#server.origin;
  }

  /** How long the last start took, from the command until `/ready` answered that it is. */
  get ready_ms(): number {
    return this.#ready_ms;
  }

  /** Starts it, unless it runs. */
  async start(): Promise<void> {
    if (this.#server !== undefined) return;
    const before = performance.now();
    this.#server = await startProcess(this.#cleanup, ["src/main.ts", "serve"], {
      DATA_DIR: this.data_dir,
      HOST: "127.0.0.1",
      PORT: "0",
      ADMIN_EMAIL: FIRST_EMAIL,
      ADMIN_PASSWORD: PASSWORD,
      RATE_LIMIT_ENABLED: "false",
      LOG_LEVEL: "warn",
      METRICS_TOKEN,
      ...this.#settings,
    });
    while (!(await fetch(`${this.origin}/ready`)).ok) {
      if (performance.now() - before > READY_LIMIT_MS)
        throw new Error("Cannot start the service: it does not become ready");
      await Bun.sleep(READY_LOOK_MS);
    }
    this.#ready_ms = performance.now() - before;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  /** Ends it as a crash does. */
  async kill(): Promise<void> {
    await this.#server?.kill();
    this.#server = undefined;
  }

  /** Waits until it has put its usage store in order: until nothing was written to it for a while. */
  async rest(): Promise<void> {
    const limit = performance.now() + REST_LIMIT_MS;
    let [seen, since] = ["", performance.now()];
    while (performance.now() - since < REST_MS) {
      if (performance.now() > limit) throw new Error("Cannot go on: the usage store does not come to rest");
      await Bun.sleep(REST_LOOK_MS);
      const now = this.#usageFiles();
      if (now !== seen) [seen, since] = [now, performance.now()];
    }
  }

  /** Stops it, copies its usage store while nobody writes it, and starts it again. */
  async copyUsage(): Promise<string> {
    await this.stop();
    const copy = join(this.#cleanup.folder(), USAGE_FILE);
    copyFileSync(join(this.data_dir, USAGE_FILE), copy);
    await this.start();
    return copy;
  }

  /** The value of one of its own numbers, or undefined when `/metrics` has no such name. */
  async metric(name: string): Promise<number | undefined> {
    return (await this.metrics([name]))[0];
  }

  /** The values of several of its numbers at one moment. */
  async metrics(names: readonly string[]): Promise<(number | undefined)[]> {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    const text = await (await fetch(`${this.origin}/metrics`, { headers })).text();
    return names.map((name) => {
      const value = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, "m").exec(text)?.[1];
      return value === undefined ? undefined : Number(value);
    });
  }

  #usageFiles(): string {
    return readdirSync(this.data_dir)
      .filter((name) => name.startsWith(USAGE_FILE))
      .map((name) => {
        const state = statSync(join(this.data_dir, name), { throwIfNoEntry: false });
        return `${name} ${state?.size} ${state?.mtimeMs}`;
      })
      .join("; ");
  }
}
