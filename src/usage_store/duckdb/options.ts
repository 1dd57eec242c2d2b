import type { Admission, StoreFacts } from "../identity.ts";
import type { ReadersLimits } from "./engine/readers.ts";
import type { CompactionLimits } from "./maintain/compaction.ts";
import type { PartsLimits } from "./maintain/components.ts";
import type { Report } from "./maintain/recovery.ts";

/** The store's file and limits. Every limit has a default for a machine of two cores. */
export interface DuckDbOptions {
  /** The file, created when missing; its folder must exist. */
  path: string;
  /** In DuckDB's spelling. Default `1GB`; the index of stored ids, about 18 bytes an event, comes on top. */
  memory_limit?: string;
  /** Threads for queries and checkpoints. Default 2. */
  threads?: number;
  /** Queries that run at once, of one company one fewer. Default 4: fewer than UV_THREADPOOL_SIZE, or they block the writer. */
  readers?: number;
  /** Queries that may wait. Default 256. */
  readers_waiting?: number;
  /** Queries of one company that may wait. Default a quarter of all. */
  readers_waiting_company?: number;
  /** Exports that run at once, of one company one fewer. Default 2. */
  exports?: number;
  /** Exports that may wait, and of one company. Default 8 and 2. */
  exports_waiting?: number;
  exports_waiting_company?: number;
  /** Events that may wait for their commit. Default 100,000. */
  pending_events?: number;
  /** How long a commit waits for more appends. Default 2. */
  group_ms?: number;
  /** Requests at which it stops waiting. Default 56. */
  ready_requests?: number;
  /** Events at which it stops waiting, and no more are added to it. Default 4,096. */
  group_events?: number;
  /** Events of a company within a query's bounds of time, below which it reads these instead of sums. Default 50,000. */
  few_events?: number;
  /** Decides whether a store of these facts may be used, refusing by an error. Default: any store may. */
  admit?: (facts: StoreFacts) => Promise<Admission>;
  /** When stored events are sorted. Default: 500,000 at a time, and again 8,000,000. */
  compaction?: CompactionLimits;
  /** Called when background work failed, with what happens next. */
  on_failure?: Report;
  /** Throws while nothing may be stored. */
  check_room?: () => void;
}

const COMPACTION: CompactionLimits = {
  hot_rows: 500_000,
  segment_rows: 8_000_000,
  move_rows: 500_000,
  snapshot_rows: 1_000_000,
  min_events: 200_000,
  max_share: 0.1,
  retry_ms: 10_000,
};

/** The limits of the store's components, with their defaults. */
export function limitsOf(options: Omit<DuckDbOptions, "path">): PartsLimits {
  const { readers = 4, readers_waiting = 256 } = options;
  const { readers_waiting_company = Math.ceil(readers_waiting / 4) } = options;
  const { exports = 2, exports_waiting = 8, exports_waiting_company = 2 } = options;
  const { pending_events = 100_000, group_ms = 2, ready_requests = 56, group_events = 4_096 } = options;
  const { compaction = COMPACTION, few_events = 50_000 } = options;
  return {
    readers: poolLimits(readers, readers_waiting, readers_waiting_company),
    exports: poolLimits(exports, exports_waiting, exports_waiting_company),
    writer: { pending_events, group_ms, ready_requests, group_events },
    compaction,
    few_events,
  };
}

/** One company may have all of a pool but one, so that another finds one free. */
function poolLimits(readers: number, waiting: number, waiting_company: number): ReadersLimits {
  return { readers, waiting, waiting_company, running_company: Math.max(1, readers - 1) };
}
