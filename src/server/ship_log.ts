import type { Deps } from "../app/deps.ts";
import { BACKUP, backUp } from "./backups.ts";
import { listSuccesses } from "./job_runs/queries.ts";

/** Ships SQLite's log as BACKUP_LOG says. Returns the switch that ships the last of it. */
export async function startShipping(deps: Deps): Promise<() => Promise<void>> {
  const shipping = await openShipping(deps);
  shipping?.start();
  return async () => shipping?.stop();
}

/** What ships the log; undefined where BACKUP_LOG is not set. */
export async function openShipping(deps: Deps) {
  const { store, usage, documents, clock, config } = deps;
  const { backup_log: interval_ms, backup_url, backup_recipient: recipient, data_dir } = config;
  const { log } = store;
  if (interval_ms === null || backup_url === null || !log) return undefined;
  const [{ LogShipping }, { openTarget }] = await Promise.all([
    import("../backup/log/ship_log.ts"),
    import("../backup/open_target.ts"),
  ]);
  return new LogShipping({
    log,
    usage,
    documents,
    clock,
    recipient,
    data_dir,
    interval_ms,
    target: openTarget(backup_url),
    read: store.read,
    messages: deps.log,
    takePoint: () => backUp(deps),
    lastPoint: async () => (await listSuccesses(store.read)).get(BACKUP)?.toString() ?? "",
  });
}
