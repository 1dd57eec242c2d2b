import type { ColumnKit } from "../../store/columns.ts";

/** What the last verification of a backup found, whichever instance made it: one row, or none. */
export const backupVerificationTable = (k: ColumnKit) =>
  k.table("backup_verifications", {
    id: k.id(),
    verified_at: k.at("verified_at").notNull(),
    /** When one last found no difference; null: never. */
    well_at: k.at("well_at"),
    bills_unproved: k.integer("bills_unproved").notNull(),
  });
