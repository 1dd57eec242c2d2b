import type { OwnedLanes } from "../usage_store/clickhouse/lanes.ts";
import type { ObservedUsage } from "../usage_store/observed_usage.ts";

/** An opened usage store, and how to close it. */
export interface UsageStoreHandle {
  usage: ObservedUsage;
  /** The problem with the store that the operator accepted, if any. */
  accepted: string | null;
  /** The lanes of a store on ClickHouse. */
  lanes?: OwnedLanes;
  close(): Promise<void>;
}
