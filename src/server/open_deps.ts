import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import type { Deps } from "../app/deps.ts";
import { Background } from "../core/background.ts";
import type { Config } from "../core/config.ts";
import { openDataDir } from "../core/data_dir.ts";
import { SHARED_LIMITS } from "../core/limits.ts";
import { LIMITS as USAGE_LIMITS } from "../usage/limits.ts";
import { makePrivate } from "../core/file_permissions.ts";
import { RateLimiter } from "../core/rate_limiter.ts";
import { type Log, openLog } from "../core/log.ts";
import { defaultUsageMemory } from "../core/memory.ts";
import { type Metrics, openMetrics } from "../app/metrics.ts";
import { Refusals } from "../core/rejection_limiter.ts";
import { openSecrets } from "../core/secret_box.ts";
import { randomSecret } from "../core/random_secrets.ts";
import { type Clock, systemClock } from "../core/time.ts";
import { openRefusalLog } from "../audit/refusals.ts";
import { recordOperation } from "../audit/recorder.ts";
import { countUnbilledEvents } from "../billing/runs/unbilled_queries.ts";
import { StoredClaim } from "../idempotency/claim.ts";
import { BlobStore } from "../store/blob_store.ts";
import { openLoginGuard } from "../access/sessions/login_throttle.ts";
import { openPasswords, type PasswordCost } from "../core/passwords.ts";
import { authenticate, authenticateAccessToken } from "../access/authenticate.ts";
import { openTokens } from "../access/sessions/tokens.ts";
import { LinkedUsage } from "../usage/store_link/link.ts";
import { type DuckDbOptions, openDuckDb } from "../usage_store/duckdb/duckdb_store.ts";
import type { UsageStore } from "../usage_store/port.ts";
import { CONSTRAINTS } from "./schema.ts";
import { openStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import { UNOPENED_STORE } from "../store/unopened_store.ts";

/** How to open: tests set the clock, and what hashes take; commands that need no usage leave its store to a running server. */
export interface OpenOptions {
  clock?: Clock;
  password_cost?: PasswordCost;
  without_usage?: boolean;
  /** Opens and makes nothing on disk: for what is known without records. */
  without_stores?: boolean;
  /** Takes the usage store as this database's, whatever it lacks: an operator's word. */
  accept_usage?: boolean;
}

/** Opens the stores and everything beside them. Errors: throws when a store can't be opened. */
export async function openDeps(config: Config, options: OpenOptions = {}): Promise<Deps> {
  const { clock = systemClock, accept_usage = false, without_stores = false } = options;
  const { without_usage = without_stores } = options;
  const log = openLog(config.log_level);
  if (!without_stores) takeDataDir(config.data_dir, log);
  const metrics = openMetrics();
  const store = without_stores ? UNOPENED_STORE : await openTransactional(config);
  const opening = without_usage ? unopenedUsage() : openUsage(config, store, { clock, log, accept_usage });
  const opened = await opening.catch(async (error) => {
    await store.close();
    throw error;
  });
  const { usage } = opened;
  exposeUsageMetrics(metrics, usage, store);
  const secret = config.jwt_secret ?? (without_stores ? randomSecret() : loadJwtSecret(config.data_dir));
  const tokens = openTokens(secret, clock);
  const background = new Background();
  const secrets = openSecrets(config.secrets_keys);
  const documents = new BlobStore(join(config.data_dir, "documents"));
  const services = {
    log,
    store,
    unaudited_store: store,
    usage,
    documents,
    config,
    tokens,
    passwords: openPasswords(options.password_cost),
    login_guard: openLoginGuard(config, clock),
    secrets,
    background,
    observe: metrics.observeOperation.bind(metrics),
    annotateAudit: () => undefined,
    record: recordOperation,
    refused: openRefusalLog(store, background),
  };
  return {
    config,
    log,
    clock,
    metrics,
    store,
    usage,
    accepted_usage: opened.accepted,
    documents,
    request_limiter: new RateLimiter(config.rate_limit_requests),
    secrets,
    refusals: new Refusals(config),
    background,
    authenticate: (token, q = store.read) => authenticate(q, tokens, token, clock.now()),
    authenticateAccessToken: (token) => authenticateAccessToken(store.read, token, clock.now()),
    openClaim: (request) => new StoredClaim(store, request),
    openContext: (caller) => ({
      ...services,
      claim: caller.claim ?? null,
      actor: caller.actor,
      origin: caller.origin,
      request_id: caller.request_id,
      get address() {
        return typeof caller.address === "function" ? caller.address() : caller.address;
      },
      now: clock.now(),
    }),
    async close() {
      await background.stop();
      await opened.close();
      await store.close();
    },
  };
}

/** Errors: throws when the folder can't be used. */
function takeDataDir(data_dir: string, log: Log): void {
  openDataDir(data_dir);
  const open_to_others = makePrivate(data_dir);
  if (open_to_others.length > 0)
    log.warn({ files: open_to_others }, "others may read these files, which belong to another user");
}

/** Errors: throws one that names the database, without its password. */
async function openTransactional(config: Config): Promise<Store> {
  const { database_url, data_dir } = config;
  try {
    return await openStore(config, CONSTRAINTS);
  } catch (error) {
    const place = database_url === null ? `SQLite in ${data_dir}` : `PostgreSQL at ${hostOf(database_url)}`;
    throw new Error(`Cannot open ${place}: ${reasonOf(error)}`, { cause: error });
  }
}

function hostOf(database_url: string): string {
  const url = URL.parse(database_url);
  return url ? `${url.host}${url.pathname}` : "DATABASE_URL";
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Native threads that usage needs beside its readers: for commits, compaction, readiness and exports. */
const RESERVED_THREADS = 4;

/**
 * How many usage queries run at once. Each holds a thread of the native pool while it runs: with the pool's
 * default of four there is one.
 */
export function usageReaders(): number {
  const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
  return Math.max(1, Math.min(USAGE_LIMITS.usage_readers, threads - RESERVED_THREADS));
}

/** Errors: unavailable while another process has it; throws what is wrong with it and what to do. */
async function openUsage(
  config: Config,
  store: Store,
  { clock, log, accept_usage }: { clock: Clock; log: Log; accept_usage: boolean },
): Promise<UsageStoreHandle> {
  const path = join(config.data_dir, "usage.duckdb");
  const linked = await LinkedUsage.open({
    store,
    clock,
    log,
    place: `${hostname()}:${resolve(config.data_dir)}`,
    is_there: existsSync(path),
    accepts: accept_usage,
    open: (admit) => openDuckDb({ ...usageOptions(config, log), path, admit }),
  });
  return { usage: linked.usage, accepted: linked.accepted, close: () => linked.close() };
}

interface UsageStoreHandle {
  usage: UsageStore;
  accepted: string | null;
  close(): Promise<void>;
}

function usageOptions(config: Config, log: Log): Omit<DuckDbOptions, "path"> {
  const readers = usageReaders();
  return {
    memory_limit: config.usage_memory_limit ?? defaultUsageMemory(),
    readers,
    readers_waiting: USAGE_LIMITS.usage_readers_waiting,
    // Also with few threads: one whose receiver takes its time holds none, and must not hold up another company.
    exports: USAGE_LIMITS.usage_exports,
    exports_waiting: USAGE_LIMITS.usage_exports_waiting,
    exports_waiting_company: USAGE_LIMITS.usage_exports_waiting_company,
    pending_events: USAGE_LIMITS.usage_pending_events,
    on_failure: (error, message) => log.warn(error === undefined ? {} : { err: error }, message),
  };
}

/** Shows the numbers of the usage store. */
function exposeUsageMetrics(metrics: Metrics, usage: UsageStore, store: Store): void {
  metrics.gauge(
    "meterhouse_usage_index_entries",
    "Events that repeats are known by",
    () => usage.stats().index_entries,
  );
  metrics.gauge(
    "meterhouse_usage_index_bytes",
    "Memory of what repeats are known by",
    () => usage.stats().index_bytes,
  );
  metrics.gauge(
    "meterhouse_usage_store_open",
    "1, or 0 while the usage store is opened again after a failure",
    () => (usage.stats().is_open ? 1 : 0),
  );
  metrics.gauge(
    "meterhouse_usage_store_failures",
    "How often the usage store failed and was opened again",
    () => usage.stats().engine_losses,
  );
  metrics.gauge(
    "meterhouse_unbilled_usage_events",
    "Stored events that no bill counts, as the daily recheck found them",
    // A store that can't answer must not take the other numbers with it.
    () => countUnbilledEvents(store.read).catch(() => Number.NaN),
  );
}

const failUnopened = () => Promise.reject(new Error("The usage store was not opened"));

/** Stands where no usage store was opened: whoever asks it all the same has a bug. */
async function unopenedUsage(): Promise<UsageStoreHandle> {
  const usage: UsageStore = {
    append: failUnopened,
    load: failUnopened,
    search: failUnopened,
    aggregate: failUnopened,
    metadataKeys: failUnopened,
    totals: failUnopened,
    lastSeq: failUnopened,
    haveLateEvents: failUnopened,
    sums: failUnopened,
    export: failUnopened,
    check: failUnopened,
    rebuildSums: failUnopened,
    stats: () => ({ index_entries: 0, index_bytes: 0, is_open: false, engine_losses: 0 }),
    ping: failUnopened,
    close: async () => undefined,
  };
  return { usage, accepted: null, close: () => usage.close() };
}

/** The signing secret of this data directory, made on the first start. Errors: throws when it was damaged. */
function loadJwtSecret(data_dir: string): string {
  const file = join(data_dir, "jwt_secret");
  if (!existsSync(file)) {
    const secret = Buffer.from(crypto.getRandomValues(new Uint8Array(48))).toString("base64url");
    // Written aside and moved, so that a power cut leaves the whole file or none.
    writeFileSync(`${file}.new`, secret, { mode: 0o600, flush: true });
    renameSync(`${file}.new`, file);
  }
  chmodSync(file, 0o600);
  const stored = readFileSync(file, "utf8").trim();
  if (stored.length < SHARED_LIMITS.secret_bytes) {
    throw new Error(`Cannot sign tokens: ${file} is damaged; remove it, and everyone signs in again`);
  }
  return stored;
}
