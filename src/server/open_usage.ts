import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { damagedAtStart } from "../core/damage.ts";
import type { Config } from "../core/config.ts";
import type { Log } from "../core/log.ts";
import { defaultUsageMemory } from "../core/memory.ts";
import { isDamageAtOpening } from "../usage_store/duckdb/engine/engine.ts";
import type { Store } from "../store/store.ts";
import type { ClickHouseUsageOptions } from "./open_clickhouse_usage.ts";
import type { UsageStoreHandle } from "./usage_store_handle.ts";
import { LIMITS } from "../usage/limits.ts";
import { LinkedUsage } from "../usage/store_link/link.ts";
import { openDuckDb } from "../usage_store/duckdb/duckdb_store.ts";
import type { DuckDbOptions } from "../usage_store/duckdb/options.ts";
import { observedUsage } from "../usage_store/observed_usage.ts";
import type { UsageStore } from "../usage_store/port.ts";

/** Native threads that usage needs beside its readers: for commits, compaction, readiness and exports. */
const RESERVED_THREADS = 4;

/**
 * How many usage queries run at once. Each holds a thread of the native pool while it runs; the pool's default of
 * four leaves one.
 */
export function usageReaders(): number {
  const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
  return Math.max(1, Math.min(LIMITS.usage_readers, threads - RESERVED_THREADS));
}

interface UsageOptions extends ClickHouseUsageOptions {
  /** Throws while nothing may be stored. */
  checkRoom: () => void;
}

/** Errors: unavailable while another process has it; throws what is wrong with it and what to do. */
export async function openUsage(
  config: Config,
  store: Store,
  { checkRoom, ...options }: UsageOptions,
): Promise<UsageStoreHandle> {
  const { usage_url } = config;
  if (usage_url !== null) {
    const { openClickHouseUsage } = await import("./open_clickhouse_usage.ts");
    return openClickHouseUsage({ ...config, usage_url }, store, options);
  }
  const { clock, log, accept_usage } = options;
  const path = join(config.data_dir, "usage.duckdb");
  const linked = await LinkedUsage.open({
    store,
    clock,
    log,
    place: `${hostname()}:${resolve(config.data_dir)}`,
    is_there: existsSync(path),
    accepts: accept_usage,
    open: (admit) => openDuckDb({ ...usageOptions(config, log), path, admit, check_room: checkRoom }),
  }).catch((error: unknown) => {
    throw isDamageAtOpening(error) ? damagedAtStart(`The usage store ${path}`, error) : error;
  });
  return { usage: observedUsage(linked.usage), accepted: linked.accepted, close: () => linked.close() };
}

function usageOptions(config: Config, log: Log): Omit<DuckDbOptions, "path"> {
  const readers = usageReaders();
  return {
    memory_limit: config.usage_memory_limit ?? defaultUsageMemory(),
    readers,
    readers_waiting: LIMITS.usage_readers_waiting,
    // Also with few threads: one whose receiver takes its time holds none, and must not hold up another company.
    exports: LIMITS.usage_exports,
    exports_waiting: LIMITS.usage_exports_waiting,
    exports_waiting_company: LIMITS.usage_exports_waiting_company,
    pending_events: LIMITS.usage_pending_events,
    on_failure: (error, message) => log.warn(error === undefined ? {} : { err: error }, message),
  };
}

const unopened = () => new Error("The usage store was not opened");
const failUnopened = () => Promise.reject(unopened());

/** A null object: using a usage store that was not opened is a programming error. */
export async function unopenedUsage(): Promise<UsageStoreHandle> {
  const usage: UsageStore = {
    running_totals: {
      lastSeqOf: () => 0,
      counts: { watches: 0, uncertain: 0 },
      watch: () => {
        throw unopened();
      },
      counted: failUnopened,
      listen: () => () => undefined,
      forgetBefore: () => undefined,
    },
    append: failUnopened,
    load: failUnopened,
    stage: failUnopened,
    search: failUnopened,
    aggregate: failUnopened,
    series: failUnopened,
    seriesFrames: failUnopened,
    metadataKeys: failUnopened,
    totals: failUnopened,
    measure: failUnopened,
    lastSeq: failUnopened,
    haveLateEvents: failUnopened,
    sums: failUnopened,
    export: failUnopened,
    exportSegment: failUnopened,
    monthDigests: failUnopened,
    check: failUnopened,
    rebuildSums: failUnopened,
    findStored: failUnopened,
    findUnerased: failUnopened,
    erase: failUnopened,
    sinceOf: () => 0,
    closeBefore: failUnopened,
    removeClosed: failUnopened,
    holdRemovals: failUnopened,
    exportKept: failUnopened,
    stats: () => ({
      index_entries: 0,
      index_bytes: 0,
      is_open: false,
      engine_losses: 0,
      pending_events: 0,
      waiting_queries: 0,
    }),
    ping: failUnopened,
    close: async () => undefined,
  };
  return { usage: observedUsage(usage), accepted: null, close: () => usage.close() };
}
