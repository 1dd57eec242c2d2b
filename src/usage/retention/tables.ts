import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";

/** A company's usage before an instant: whether its bills were proved, and its events removed. Decision 0216. */
export const usageRetentionTable = (k: ColumnKit) =>
  k.table(
    "usage_retentions",
    {
      id: k.id(),
      ...companyColumn(k),
      /** Events before it go, Unix ms. */
      since_ms: k.integer("since_ms").notNull(),
      /** `stopped`: a bill is not proved, and nothing is removed; the next run proves all again. */
      status: k.enumeration("status", ["proving", "stopped", "removing", "done"]).notNull(),
      /** The bills that are proved, and the id of the last one. */
      bills: k.integer("bills").notNull(),
      last_bill_id: k.integer("last_bill_id").notNull(),
      /** Why it is stopped. */
      problem: k.text("problem"),
      proved_at: k.at("proved_at"),
      /** As far as it was noted: a killed process may have removed some more. */
      removed_events: k.integer("removed_events").notNull(),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("usage_retentions_since").on(t.company_id, t.since_ms),
      k.index("usage_retentions_status").on(t.status),
    ],
  );
