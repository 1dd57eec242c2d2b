import type { ColumnKit } from "../../store/columns.ts";

/** When each job last ended well for every company. */
export const jobRunTable = (k: ColumnKit) =>
  k.table("job_runs", {
    name: k.text("name").primaryKey(),
    succeeded_at: k.at("succeeded_at").notNull(),
    /** When that run began; null where an earlier version wrote it. */
    began_at: k.at("began_at"),
  });
