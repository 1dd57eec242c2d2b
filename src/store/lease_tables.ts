import type { ColumnKit } from "./columns.ts";

/** Who holds which lease, until when. */
export function leaseTables(k: ColumnKit) {
  return {
    leases: k.table("leases", {
      name: k.text("name").primaryKey(),
      holder: k.text("holder").notNull(),
      expires_at: k.at("expires_at").notNull(),
    }),
  };
}
