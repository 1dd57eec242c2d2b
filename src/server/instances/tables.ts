import type { ColumnKit } from "../../store/columns.ts";

/** The processes that work on a database, each from its start until it is long dead. */
export const instanceTable = (k: ColumnKit) =>
  k.table("instances", {
    id: k.text("id").primaryKey(),
    url: k.text("url").notNull(),
    version: k.text("version").notNull(),
    started_at: k.at("started_at").notNull(),
    /** By the database's clock. */
    seen_at: k.at("seen_at").notNull(),
  });
