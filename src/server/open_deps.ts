import { join } from "node:path";
import type { Context } from "../app/context.ts";
import type { Deps } from "../app/deps.ts";
import { Background } from "../core/background.ts";
import type { Config } from "../core/config.ts";
import { damagedAtStart } from "../core/damage.ts";
import { openDataDir } from "../core/data_dir.ts";
import { makePrivate } from "../core/file_permissions.ts";
import { RateLimiter } from "../core/rate_limiter.ts";
import { type Log, openLog } from "../core/log.ts";
import { openMetrics } from "../app/metrics.ts";
import { Refusals } from "../core/rejection_limiter.ts";
import { openSecrets } from "../core/secret_box.ts";
import { randomSecret } from "../core/random_secrets.ts";
import { offerDataDir } from "../core/unpack.ts";
import type { ReadDisk } from "../core/disk_reserve.ts";
import type { ReadClocks } from "../core/guarded_clock.ts";
import type { Clock } from "../core/time.ts";
import { keepReserve } from "../store/keep_reserve.ts";
import { Watch } from "./watch.ts";
import { openRefusalLog } from "../audit/refusals.ts";
import { recordOperation } from "../audit/recorder.ts";
import { StoredClaim } from "../idempotency/claim.ts";
import { openDocuments } from "./open_documents.ts";
import { openLoginGuard } from "../access/sessions/login_throttle.ts";
import { openSignInsElsewhere } from "../access/sessions/sign_ins_elsewhere.ts";
import { shareOf } from "../app/instances.ts";
import { openPasswords, type PasswordCost } from "../core/passwords.ts";
import { authenticate, authenticateAccessToken, authenticateSession } from "../access/authenticate.ts";
import { openTokens } from "../access/sessions/tokens.ts";
import { ProcessLimits } from "../entitlements/live/live_limits.ts";
import { exposeMetrics } from "./expose_metrics.ts";
import { openInstances, ownPlace, sessionNameOf } from "./instances/registry.ts";
import { internalCalls } from "./internal/calls.ts";
import { OwnerLink } from "./internal/owner_link.ts";
import { passOnBy, successorBy } from "./internal/pass_on.ts";
import { InternalSignatures } from "./internal/signature.ts";
import { loadJwtSecret } from "./jwt_secret.ts";
import type { OwnedLanes } from "../usage_store/clickhouse/lanes.ts";
import type { LaneWatcher } from "../usage_store/clickhouse/options.ts";
import type { ClickHouseUsageOptions } from "./open_clickhouse_usage.ts";
import type { UsageStoreHandle } from "./usage_store_handle.ts";
import { openUsage, unopenedUsage } from "./open_usage.ts";
import { CONSTRAINTS } from "./schema.ts";
import { isDamage } from "../store/constraints.ts";
import { openStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import { UNOPENED_STORE } from "../store/unopened_store.ts";

/** How to open: tests set the clock, and what hashes take; commands that need no usage leave its store to a running server. */
export interface OpenOptions {
  clock?: Clock;
  /** The clocks of the machine, where `clock` is not given. */
  machine_clocks?: ReadClocks;
  /** Reads the free disk, where it is not that of DATA_DIR. */
  disk?: ReadDisk;
  password_cost?: PasswordCost;
  without_usage?: boolean;
  /** It will serve: other instances reach it at INSTANCE_URL, and it takes its share of usage. */
  serves?: boolean;
  /** Opens and makes nothing on disk: for what is known without records. */
  without_stores?: boolean;
  /** Takes the usage store as this database's, whatever it lacks: an operator's word. */
  accept_usage?: boolean;
  /** How old metrics that take a query may be. */
  metrics_age_ms?: number;
  /** Upgrades a PostgreSQL database even where there is no way back, since it is backed up: an operator's word. */
  backed_up?: boolean;
  /** SQLite may lose what it committed in a power cut, until it is closed. */
  is_scratch?: boolean;
}

/** Opens the stores and everything beside them. Errors: throws when a store can't be opened. */
export async function openDeps(config: Config, options: OpenOptions = {}): Promise<Deps> {
  const log = openLog(config.log_level);
  const stopTracing = await openTracing(config, log);
  try {
    const opened = await openServices(config, log, options);
    const close = async () => {
      await opened.close();
      await stopTracing();
    };
    return { ...opened, close };
  } catch (error) {
    await stopTracing();
    throw error;
  }
}

async function openServices(config: Config, log: Log, options: OpenOptions): Promise<Deps> {
  const { without_stores = false } = options;
  if (!without_stores) takeDataDir(config.data_dir, log);
  const metrics = openMetrics({ log, max_age_ms: options.metrics_age_ms });
  const watch = new Watch(config, log, options);
  const { clock, guards } = watch;
  const { store, opened, instances, signatures, setLimits } = await openAmongOthers(
    config,
    options,
    watch,
    log,
  );
  const { usage, lanes } = opened;
  exposeMetrics({ metrics, store, usage, lanes, clock, watch, config });
  const secret = config.jwt_secret ?? (without_stores ? randomSecret() : loadJwtSecret(config.data_dir));
  const tokens = openTokens(secret, clock);
  const background = new Background();
  const owner_link = lanes && signatures && new OwnerLink({ signatures, lanes, background, log });
  const tellOwner = owner_link?.note;
  const isOwner = lanes && lanes.confirms.bind(lanes);
  const known = { store, usage, background, log, tellOwner, isOwner, ...config };
  const limits = await openLimits(known, options, lanes);
  setLimits(limits);
  const documents = openDocuments(config, store, () => guards.disk.check());
  const services = {
    clock,
    log,
    store,
    unaudited_store: store,
    usage,
    limits,
    documents,
    guards,
    config,
    tokens,
    passwords: openPasswords(options.password_cost),
    login_guard: openLoginGuard(config, clock, openSignInsElsewhere(instances, { store, clock, tokens })),
    secrets: openSecrets(config.secrets_keys),
    background,
    observe: metrics.observeOperation.bind(metrics),
    annotateAudit: () => undefined,
    record: recordOperation,
    refused: openRefusalLog(store, background),
    pass_to_owner: owner_link?.pass ?? (async () => null),
  };
  const openContext = contextsOf(services);
  return {
    config,
    log,
    clock,
    metrics,
    store,
    usage,
    limits,
    accepted_usage: opened.accepted,
    documents,
    guards,
    instances,
    request_limiter: new RateLimiter(() => shareOf(instances, config.rate_limit_requests)),
    secrets: services.secrets,
    refusals: new Refusals(config, (limit) => shareOf(instances, limit)),
    background,
    ...credentialChecks(services),
    openClaim: (request) => new StoredClaim(store, request),
    openContext,
    internal: lanes && signatures ? internalCalls({ signatures, lanes, limits, clock, openContext }) : null,
    ...lifeOf({ watch, background, instances, signatures, opened, store }),
  };
}

/** Opens the stores, of which the usage store may have lanes among other instances. */
async function openAmongOthers(config: Config, options: OpenOptions, watch: Watch, log: Log) {
  const own = ownPlace(config);
  const signatures = signaturesOf(config, watch.clock);
  const { promise: limits, resolve: setLimits } = Promise.withResolvers<ProcessLimits>();
  const { store, opened } = await openStores(config, options, watch, log, {
    own,
    passOn: signatures && passOnBy(signatures),
    watcher: watcherOf(limits),
  });
  return { store, opened, instances: openInstances(own, { store, log }), signatures, setLimits };
}

/** What begins and ends with the process. */
function lifeOf({
  watch,
  background,
  instances,
  signatures,
  opened,
  store,
}: Pick<Deps, "background" | "instances" | "store"> & {
  watch: Watch;
  signatures: InternalSignatures | undefined;
  opened: UsageStoreHandle;
}): Pick<Deps, "watch" | "leave" | "close"> {
  return {
    async watch() {
      await watch.begin();
      await instances.begin();
    },
    async leave() {
      const { others } = instances;
      if (signatures === undefined || others.length === 0) return;
      await opened.lanes?.handOver(others.map((other) => successorBy(signatures, other)));
    },
    async close() {
      await watch.end();
      await background.stop();
      await instances.end();
      await opened.close();
      await store.close();
    },
  };
}

/** Finds out who calls, at the current time. */
function credentialChecks({
  tokens,
  ...services
}: Pick<Context, "store" | "clock" | "background" | "log"> & {
  tokens: Parameters<typeof authenticate>[1];
}): Pick<Deps, "authenticate" | "authenticateSession" | "authenticateAccessToken"> {
  const { store, clock } = services;
  return {
    authenticate: (token, q = store.read) => authenticate(q, tokens, token, clock.now()),
    authenticateSession: (token, q = store.read) =>
      authenticateSession(services, token, { q, now: clock.now() }),
    authenticateAccessToken: (token) => authenticateAccessToken(store.read, token, clock.now()),
  };
}

/** What instances sign with; none where this is the only one. */
function signaturesOf({ instance_url, jwt_secret }: Config, clock: Clock): InternalSignatures | undefined {
  return instance_url === null || jwt_secret === null ? undefined : new InternalSignatures(jwt_secret, clock);
}

/** Hears of lanes for limits that are opened after the usage store. */
function watcherOf(limits: Promise<ProcessLimits>): LaneWatcher {
  return {
    taken: async (isOf) => (await limits).take(isOf),
    lost: (isOf) => void limits.then((opened) => opened.drop(isOf)),
  };
}

/** Opens the context of a call, at the current time. */
function contextsOf(
  services: Omit<Context, "claim" | "stop" | "actor" | "origin" | "request_id" | "address" | "now">,
): Deps["openContext"] {
  return (caller) => ({
    ...services,
    claim: caller.claim ?? null,
    stop: caller.stop ?? (() => undefined),
    actor: caller.actor,
    origin: caller.origin,
    request_id: caller.request_id,
    get address() {
      return typeof caller.address === "function" ? caller.address() : caller.address;
    },
    now: services.clock.now(),
  });
}

/** The totals and holds of limits, with the holds of an earlier process where usage is open. */
async function openLimits(
  services: ConstructorParameters<typeof ProcessLimits>[0],
  { without_stores = false, without_usage = without_stores }: OpenOptions,
  lanes: OwnedLanes | undefined,
): Promise<ProcessLimits> {
  const limits = new ProcessLimits(services);
  // Of lanes they are read as these are taken.
  if (!without_usage && !lanes) await limits.load();
  return limits;
}

/** Opens both stores, and compares the clock with what they know. Errors: throws, with neither of them open. */
async function openStores(
  config: Config,
  options: OpenOptions,
  watch: Watch,
  log: Log,
  among: Pick<ClickHouseUsageOptions, "own" | "passOn" | "watcher">,
) {
  const { accept_usage = false, without_stores = false, serves = false } = options;
  const { own } = among;
  const { without_usage = without_stores } = options;
  if (without_stores) return { store: UNOPENED_STORE, opened: await unopenedUsage() };
  const { clock, guards } = watch;
  const { backed_up = false, is_scratch = false } = options;
  const session_name = own.url === null ? "meterhouse" : sessionNameOf(own);
  const store = await openTransactional(config, { backed_up, is_scratch, session_name });
  try {
    await watch.compare(store);
    const checkRoom = () => guards.disk.check();
    const opened = await (without_usage
      ? unopenedUsage()
      : openUsage(config, store, { ...among, serves, clock, log, accept_usage, checkRoom }));
    // With PostgreSQL the records are on another disk, of which we know nothing.
    return { store: config.database_url === null ? keepReserve(store, guards.disk) : store, opened };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Exports traces where that is configured; only then is what it takes loaded. Returns how to stop. */
async function openTracing({ otlp_endpoint, traces_share }: Config, log: Log): Promise<() => Promise<void>> {
  if (otlp_endpoint === null) return async () => undefined;
  const { startTracing } = await import("./tracing.ts");
  return startTracing({ endpoint: otlp_endpoint, share: traces_share, log });
}

/** Errors: throws when the folder can't be used. */
function takeDataDir(data_dir: string, log: Log): void {
  openDataDir(data_dir);
  offerDataDir(data_dir);
  const open_to_others = makePrivate(data_dir);
  if (open_to_others.length > 0)
    log.warn({ files: open_to_others }, "others may read these files, which belong to another user");
}

/** Errors: throws one that names the database, without its password. */
async function openTransactional(
  config: Config,
  session: { backed_up: boolean; is_scratch: boolean; session_name: string },
): Promise<Store> {
  const { database_url, data_dir } = config;
  try {
    return await openStore({ ...config, ...session, ships_log: config.backup_log !== null }, CONSTRAINTS);
  } catch (error) {
    if (database_url === null && isDamage(error))
      throw damagedAtStart(`The database ${join(data_dir, "meterhouse.sqlite")}`, error);
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
