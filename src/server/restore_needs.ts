import type { RestoreOptions } from "../backup/restore/restore.ts";
import type { Config } from "../core/config.ts";
import { defaultUsageMemory } from "../core/memory.ts";
import type { AnyTable } from "../store/copy_rows.ts";
import { CONSTRAINTS, TABLES } from "./schema.ts";

/** What restoring needs to know of all families and of this machine. */
export function restoreNeeds(
  { usage_memory_limit, usage_lanes }: Pick<Config, "usage_memory_limit" | "usage_lanes">,
  now: Temporal.Instant,
): Pick<RestoreOptions, "tables" | "constraints" | "engine" | "lanes" | "now"> {
  const tables: AnyTable[] = Object.values(TABLES);
  const engine = { threads: 2, memory_limit: usage_memory_limit ?? defaultUsageMemory() };
  return { tables, constraints: CONSTRAINTS, engine, lanes: usage_lanes, now };
}
