import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Context } from "./context.ts";
import type { Actor } from "./core/access.ts";
import { Background } from "./core/background.ts";
import type { Config } from "./core/config.ts";
import { MinuteLimiter } from "./core/limiter.ts";
import { type Log, openLog } from "./core/log.ts";
import { type Metrics, openMetrics } from "./core/metrics.ts";
import type { Origin } from "./core/operation.ts";
import { type Clock, systemClock } from "./core/time.ts";
import { openLoginGuard } from "./features/sessions/login_guard.ts";
import { openPasswords } from "./features/sessions/passwords.ts";
import { authenticate } from "./features/sessions/service.ts";
import { openTokens } from "./features/sessions/tokens.ts";
import { openDuckDb } from "./features/usage/store/duckdb.ts";
import type { UsageStore } from "./features/usage/store/usage_store.ts";
import { openStore } from "./store/open.ts";
import type { Store } from "./store/store.ts";

/** Who calls, by which door. */
export interface Caller {
  actor: Actor;
  origin: Origin;
  request_id: string;
  address: string | null;
}

/** Everything that is opened once and shared by all calls. */
export interface Deps {
  config: Config;
  log: Log;
  clock: Clock;
  metrics: Metrics;
  store: Store;
  usage: UsageStore;
  request_limiter: MinuteLimiter;
  /** Work that outlives its call; told to stop before the stores close. */
  background: Background;
  /** The actor behind a REST token. Errors: unauthorized. */
  authenticate(token: string): Promise<Actor>;
  /** The context of one call, with its `now`. */
  openContext(caller: Caller): Context;
  /** Closes what was opened, last first. */
  close(): Promise<void>;
}

/** How to open: tests set the clock; commands that need no usage leave its store to a running server. */
export interface OpenOptions {
  clock?: Clock;
  without_usage?: boolean;
}

/** Opens the stores and everything beside them. Errors: throws when a store can't be opened. */
export async function openDeps(config: Config, options: OpenOptions = {}): Promise<Deps> {
  const { clock = systemClock, without_usage = false } = options;
  mkdirSync(config.data_dir, { recursive: true });
  const log = openLog(config.log_level);
  const metrics = openMetrics();
  const store = await openStore(config);
  const usage = await (without_usage ? unopenedUsage() : openUsage(config)).catch(async (error) => {
    await store.close();
    throw error;
  });
  const tokens = openTokens(config.jwt_secret ?? keepSecret(config.data_dir), clock);
  const background = new Background();
  const services = {
    log,
    store,
    usage,
    config,
    tokens,
    passwords: openPasswords(),
    login_guard: openLoginGuard(config),
    background,
    observe: metrics.observeOperation.bind(metrics),
  };
  return {
    config,
    log,
    clock,
    metrics,
    store,
    usage,
    request_limiter: new MinuteLimiter(config.rate_limit_requests),
    background,
    authenticate: (token) => authenticate(store.read, tokens, token),
    openContext: (caller) => ({ ...services, ...caller, now: clock.now() }),
    async close() {
      await background.stop();
      await usage.close();
      await store.close();
    },
  };
}

function openUsage(config: Config): Promise<UsageStore> {
  return openDuckDb({ path: join(config.data_dir, "usage.duckdb"), memory_limit: config.usage_memory_limit });
}

const refuse = () => Promise.reject(new Error("The usage store was not opened"));

/** Stands where no usage store was opened: whoever asks it all the same has a bug. */
async function unopenedUsage(): Promise<UsageStore> {
  return {
    append: refuse,
    search: refuse,
    aggregate: refuse,
    totals: refuse,
    ping: refuse,
    close: async () => undefined,
  };
}

/** The signing secret of this data directory, made on the first start. */
function keepSecret(data_dir: string): string {
  const file = join(data_dir, "jwt_secret");
  if (!existsSync(file)) {
    const secret = Buffer.from(crypto.getRandomValues(new Uint8Array(48))).toString("base64url");
    writeFileSync(file, secret, { mode: 0o600, flag: "wx" });
  }
  chmodSync(file, 0o600);
  return readFileSync(file, "utf8").trim();
}
