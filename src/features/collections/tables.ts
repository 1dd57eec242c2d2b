import { type ColumnKit, stamps } from "../../store/columns.ts";
import type { CompanyTables } from "../companies/tables.ts";
import { COLLECTION_STATUSES, type CollectionCounts } from "./model.ts";

export function collectionTables(k: ColumnKit, { companies }: CompanyTables) {
  const collection_runs = k.table(
    "collection_runs",
    {
      id: k.id(),
      company_id: k
        .integer("company_id")
        .notNull()
        .references(() => companies.id),
      status: k.enumeration("status", COLLECTION_STATUSES).notNull(),
      /** The day in Kuala Lumpur, YYYY-MM-DD, by whose end everything due is collected. */
      date: k.text("date").notNull(),
      /** A user's id, which outlives the user; null where the house started the run. */
      requested_by: k.integer("requested_by"),
      counts: k.json<CollectionCounts>("counts").notNull(),
      finished_at: k.at("finished_at"),
      ...stamps(k),
    },
    (t) => [k.index("collection_runs_company").on(t.company_id, t.id)],
  );
  return { collection_runs };
}

export type CollectionTables = ReturnType<typeof collectionTables>;
