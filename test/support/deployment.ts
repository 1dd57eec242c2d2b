import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free_port.ts";
import { apiOf, PASSWORD } from "./harness.ts";
import { testPostgres } from "./postgres.ts";
import { type ServerProcess, startServer } from "./process.ts";
import { makeSharedStores } from "./shared_stores.ts";

/** Instances in processes of their own, on one PostgreSQL, one ClickHouse and one bucket. */
export interface Deployment {
  /** Starts one more; its address is its INSTANCE_URL. */
  start(settings?: Record<string, string>): Promise<ServerProcess>;
  /** The settings that all have in common. */
  settings: Record<string, string>;
  /** How many lanes an instance owns. */
  lanesOf(instance: ServerProcess): Promise<number>;
  /** Resolves when the lanes are owned by these instances, each of which has its share. */
  shared(...instances: ServerProcess[]): Promise<void>;
  /** Ends all instances. */
  stop(): Promise<void>;
}

const METRICS_TOKEN = "m".repeat(32);

export async function makeDeployment(lanes: number, given: Record<string, string> = {}): Promise<Deployment> {
  const folder = mkdtempSync(join(tmpdir(), "meterhouse-"));
  const { PATH = "", HOME = tmpdir() } = process.env;
  const settings = {
    PATH,
    HOME,
    HOST: "127.0.0.1",
    NODE_ENV: "development",
    LOG_LEVEL: "error",
    ADMIN_PASSWORD: PASSWORD,
    UV_THREADPOOL_SIZE: "16",
    DISK_RESERVE: "0",
    RATE_LIMIT_ENABLED: "false",
    METRICS_TOKEN,
    PUBLIC_URL: "http://billing.localhost:8080",
    DATABASE_URL: await (await testPostgres()).createMigrated(),
    ...(await makeSharedStores()),
    USAGE_LANES: String(lanes),
    ...given,
  };
  const running = new Set<ServerProcess>();
  const lanesOf = async ({ url }: ServerProcess): Promise<number> => {
    const authorization = `Bearer ${METRICS_TOKEN}`;
    const { body } = await apiOf(url, { authorization })("GET", "origin:/metrics");
    return Number(/^meterhouse_usage_lanes (\d+)$/m.exec(String(body))?.[1]);
  };
  return {
    settings,
    lanesOf,
    async start(own = {}) {
      const port = await freePort();
      const instance = await startServer({
        ...settings,
        DATA_DIR: mkdtempSync(join(folder, "data-")),
        PORT: String(port),
        INSTANCE_URL: `http://127.0.0.1:${port}`,
        ...own,
      });
      running.add(instance);
      return instance;
    },
    async shared(...instances) {
      for (;;) {
        const owned = await Promise.all(instances.map(lanesOf));
        const least = Math.floor(lanes / instances.length);
        const all = owned.reduce((sum, count) => sum + count, 0);
        if (all === lanes && owned.every((count) => count >= least)) return;
        await Bun.sleep(50);
      }
    },
    async stop() {
      for (const instance of running) instance.kill("SIGKILL");
      await Promise.all([...running].map(({ exited }) => exited));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
