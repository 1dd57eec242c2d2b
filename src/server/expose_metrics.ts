import { availableMemory } from "../core/memory.ts";
import type { Metrics } from "../app/metrics.ts";
import { sumUnbilledEvents } from "../billing/runs/unbilled_queries.ts";
import type { Config } from "../core/config.ts";
import { type Clock, instant } from "../core/time.ts";
import { VERSION } from "../core/version.ts";
import { exposeHolds } from "../emandate/holds/metrics.ts";
import { countUnanswered } from "../emandate/orders/queries.ts";
import type { Store } from "../store/store.ts";
import { listStopped } from "../usage/retention/queries.ts";
import type { OwnedLanes } from "../usage_store/clickhouse/lanes.ts";
import type { ObservedUsage } from "../usage_store/observed_usage.ts";
import { countPending, findLongestDue } from "../webhooks/deliveries/lease_queries.ts";
import type { Watch } from "./watch.ts";
import { BACKUP } from "./backups.ts";
import { noteVerification } from "./note_verification.ts";
import { jobIntervals, lastSuccesses } from "./job_runs/metrics.ts";
import { listSuccesses } from "./job_runs/queries.ts";

/** Rows are counted up to this: beyond it a metric tells that there are too many, not how many. */
const COUNTED = 10_000;
/** Endpoints whose longest due delivery is looked at. */
const ENDPOINTS = 1_000;
const UNANSWERED_HOURS = 24;

/** What metrics are read from. */
interface Watched {
  metrics: Metrics;
  store: Store;
  usage: ObservedUsage;
  lanes: OwnedLanes | undefined;
  clock: Clock;
  watch: Watch;
  config: Pick<Config, "data_dir" | "backup_url">;
}

/** Registers the metrics that are read on a scrape; those that are counted stand beside what they count. */
export function exposeMetrics(watched: Watched): void {
  const { metrics, store } = watched;
  const { version, commit } = VERSION;
  const labels = {
    version,
    commit: commit ?? "",
    bun: Bun.version,
    database: store.dialect,
    usage: watched.lanes ? "clickhouse" : "duckdb",
  };
  metrics.gauge("meterhouse_build_info", "1, with the versions as labels", () => [{ labels, value: 1 }]);
  metrics.gauge("meterhouse_memory_bytes", "Memory that the process may have", () => availableMemory());
  exposeUsage(watched);
  exposeLimits(watched);
  exposeStore(watched);
  exposeJobs(watched);
  exposeWaiting(watched);
  exposeUnproved(watched);
  exposeBackups(watched);
  exposeLog(watched);
  exposeHolds(metrics, store, watched.watch.guards.clock);
  watched.watch.expose(metrics);
}

function exposeUsage({ metrics, usage, lanes }: Watched): void {
  metrics.gauge(
    "meterhouse_usage_lanes",
    "Lanes of the usage store that this process owns; no value on DuckDB",
    () => lanes?.owned,
  );
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
  metrics.counter(
    "meterhouse_usage_store_failures_total",
    "How often the usage store failed and was opened again",
    () => usage.stats().engine_losses,
  );
  metrics.gauge(
    "meterhouse_usage_pending_events",
    "Usage events whose commit is under way or waited for",
    () => usage.stats().pending_events,
  );
  metrics.gauge(
    "meterhouse_usage_questions_waiting",
    "Queries of usage that wait for a connection",
    () => usage.stats().waiting_queries,
  );
  metrics.gauge(
    "meterhouse_usage_sums_different",
    "Sums of usage by hour that are not those of their events, as the last checks since the start found them",
    () => usage.different_sums,
  );
}

function exposeLimits({ metrics, usage }: Watched): void {
  const counts = onceATurn(() => usage.running_totals.counts);
  metrics.gauge("meterhouse_limit_totals", "Running totals of limits that are kept", () => counts().watches);
  metrics.gauge(
    "meterhouse_limit_totals_uncertain",
    "Of these, those that are not counted yet: checks say `certain: false`",
    () => counts().uncertain,
  );
}

/** Reads once for all that ask in one turn, as the metrics of a scrape do. */
function onceATurn<T>(read: () => T): () => T {
  let known: { value: T } | undefined;
  return () => {
    if (known !== undefined) return known.value;
    known = { value: read() };
    queueMicrotask(() => (known = undefined));
    return known.value;
  };
}

function exposeStore({ metrics, store }: Watched): void {
  metrics.gauge(
    "meterhouse_store_writer_waiting",
    "Transactions that wait for their turn: behind SQLite's one writer, or for a connection to PostgreSQL",
    async () => (await store.stats()).waiting,
  );
  metrics.gauge(
    "meterhouse_sqlite_wal_bytes",
    "Size of SQLite's write-ahead log; no value on PostgreSQL",
    async () => (await store.stats()).wal_bytes ?? undefined,
  );
}

function exposeJobs({ metrics, store, clock }: Watched): void {
  const started_at = clock.now();
  metrics.sampled(
    "meterhouse_job_last_success_timestamp",
    "When each job last ended well for every company, in Unix seconds; or the start, where it never has",
    async () => lastSuccesses(await listSuccesses(store.read), started_at),
  );
  metrics.sampled(
    "meterhouse_job_interval_seconds",
    "The time from one run of each job to the next",
    jobIntervals,
  );
}

function exposeBackups({ metrics, store, clock, config }: Watched): void {
  const started_at = clock.now();
  metrics.sampled(
    "meterhouse_backup_last_timestamp",
    "When the last backup was taken, in Unix seconds; or the start, where none ever was",
    async () => {
      if (config.backup_url === null) return undefined;
      const taken_at = (await listSuccesses(store.read)).get(BACKUP) ?? started_at;
      return taken_at.epochMilliseconds / 1_000;
    },
  );
  metrics.sampled(
    "meterhouse_backup_verified_timestamp",
    "When a point was last verified without a difference, in Unix seconds; or the start, where none ever was",
    async () => {
      if (config.backup_url === null) return undefined;
      const { well_at } = (await noteVerification(store, config.data_dir)) ?? {};
      return (well_at ?? started_at).epochMilliseconds / 1_000;
    },
  );
}

function exposeUnproved({ metrics, store, config }: Watched): void {
  metrics.sampled(
    "meterhouse_bills_unproved",
    "Bills that do not follow from their events: those that the last verified backup had, and one for each company whose old usage is kept for one",
    async () => {
      const { bills_unproved = 0 } = (await noteVerification(store, config.data_dir)) ?? {};
      return bills_unproved + (await listStopped(store.read)).length;
    },
  );
}

/** How long ago what is shipped of the log was committed; from the start on where nothing is. */
function exposeLog({ metrics, store, clock }: Watched): void {
  const started_at = clock.now();
  metrics.gauge(
    "meterhouse_backup_log_lag_seconds",
    "How old the newest instant is that can be restored, with BACKUP_LOG",
    () => {
      if (!store.log) return undefined;
      const until_ms = store.log.shipped_until_ms ?? started_at.epochMilliseconds;
      return (clock.now().epochMilliseconds - until_ms) / 1_000;
    },
  );
}

/** What waits in the tables. */
function exposeWaiting({ metrics, store, clock }: Watched): void {
  metrics.sampled(
    "meterhouse_unbilled_usage_events",
    `Stored events that no bill counts, as the daily recheck found them, in ${COUNTED} findings at most`,
    () => sumUnbilledEvents(store.read, COUNTED),
  );
  metrics.sampled(
    "meterhouse_usage_retention_stopped",
    "Companies whose old usage is not removed, since a bill of it is not proved",
    async () => (await listStopped(store.read)).length,
  );
  metrics.sampled(
    "meterhouse_webhook_pending",
    `Webhook deliveries that have not ended, retries that wait for their time too; ${COUNTED} stands for more`,
    () => countPending(store.read, COUNTED),
  );
  metrics.sampled(
    "meterhouse_webhook_oldest_seconds",
    "How long the webhook delivery that waits longest has been due; 0 where none is",
    async () => {
      const now = clock.now();
      const due_at = await findLongestDue(store.read, now, ENDPOINTS);
      return due_at === null ? 0 : now.since(instant(due_at)).total("seconds");
    },
  );
  metrics.sampled(
    "meterhouse_mandate_orders_unknown",
    `Debits, amendments and terminations sent over ${UNANSWERED_HOURS} hours ago whose result is not known; ${COUNTED} stands for more`,
    () => countUnanswered(store.read, clock.now().subtract({ hours: UNANSWERED_HOURS }), COUNTED),
  );
}
