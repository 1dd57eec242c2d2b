import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../core/config.ts";
import type { Log } from "../core/log.ts";
import type { Clock } from "../core/time.ts";
import type { Store } from "../store/store.ts";
import { LIMITS } from "../usage/limits.ts";
import { LaneLink } from "../usage/store_link/lane_link.ts";
import { clickHousePlace } from "../usage/store_link/link_rules.ts";
import { type ClickHouseUsage, openClickHouse } from "../usage_store/clickhouse/clickhouse_store.ts";
import type { LaneWatcher } from "../usage_store/clickhouse/options.ts";
import type { PassOn } from "../usage_store/clickhouse/owner_calls.ts";
import { observedUsage } from "../usage_store/observed_usage.ts";
import type { OwnPlace } from "./instances/registry.ts";
import type { UsageStoreHandle } from "./usage_store_handle.ts";

/** What the store on ClickHouse is opened with. */
export interface ClickHouseUsageOptions {
  clock: Clock;
  log: Log;
  accept_usage: boolean;
  /** This process among the instances. */
  own: OwnPlace;
  /** Whether others may reach it there: it serves. */
  serves: boolean;
  passOn: PassOn | undefined;
  watcher: LaneWatcher;
}

/**
 * Opens the usage store on ClickHouse. Errors: throws one that names the server, without its password; UsageInUseError while
 * another process has the database's usage to itself; what is wrong with the store and what to do.
 */
export async function openClickHouseUsage(
  config: Pick<Config, "data_dir" | "usage_lanes"> & { usage_url: string },
  store: Store,
  { clock, log, accept_usage, own, serves, passOn, watcher }: ClickHouseUsageOptions,
): Promise<UsageStoreHandle> {
  const { usage_url, usage_lanes, data_dir } = config;
  const place = clickHousePlace(usage_url);
  // Files of exports that a killed process left.
  const folder = join(data_dir, "usage_exports");
  await rm(folder, { recursive: true, force: true });
  let link: LaneLink | undefined;
  let usage: ClickHouseUsage | undefined;
  const giveUp = async () => usage?.close();
  try {
    usage = await openClickHouse({
      url: usage_url,
      lanes: usage_lanes,
      holder: { id: own.id, url: serves ? own.url : null },
      takes_share: serves,
      ...(passOn && { passOn, lockRemovals: () => lockRemovals(store) }),
      watcher,
      folder,
      pending_events: LIMITS.usage_pending_events,
      questions_waiting: LIMITS.usage_readers_waiting,
      exports: LIMITS.usage_exports,
      exports_waiting: LIMITS.usage_exports_waiting,
      exports_waiting_company: LIMITS.usage_exports_waiting_company,
      on_failure: (error, message) => log.warn(error === undefined ? {} : { err: error }, message),
      async openRows(facts) {
        const is_shared = own.url !== null;
        link = await LaneLink.open(
          { store, clock, log, place, accepts: accept_usage, is_shared, giveUp },
          facts,
        );
        return link.rows;
      },
    });
  } catch (error) {
    await link?.release();
    throw error;
  }
  const opened = { usage, link };
  return {
    usage: observedUsage(usage),
    accepted: link?.accepted ?? null,
    lanes: usage.lanes,
    async close() {
      await opened.link?.saveProgress();
      await opened.usage.close();
      await opened.link?.release();
    },
  };
}

/** Held by the process that removes events, or keeps them for a backup. */
const REMOVALS = "usage removals";
const LOCK_PAUSE_MS = 200;

/** Waits for a removal, or a backup, of whatever process. */
async function lockRemovals(store: Store): Promise<() => Promise<void>> {
  for (;;) {
    const lock = await store.lock(REMOVALS);
    if (lock !== null) return () => lock.release();
    await Bun.sleep(LOCK_PAUSE_MS);
  }
}
