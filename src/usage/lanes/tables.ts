import type { ColumnKit } from "../../store/columns.ts";

/** Who stores usage in which lane of ClickHouse: a row for each lane. Decision 0340. */
export const usageLaneTable = (k: ColumnKit) =>
  k.table("usage_lanes", {
    lane: k.integer("lane").primaryKey(),
    epoch: k.integer("epoch").notNull(),
    /** It and all before are closed. */
    closed_epoch: k.integer("closed_epoch").notNull(),
    owner_id: k.text("owner_id"),
    owner_url: k.text("owner_url"),
    /** By the database's clock. */
    expires_at: k.at("expires_at").notNull(),
    wanted_by: k.text("wanted_by"),
    least_epoch: k.integer("least_epoch").notNull(),
  });
