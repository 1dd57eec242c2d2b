import { sql } from "drizzle-orm";
import { AppError } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { COLLECTION_STATUSES, type CollectionCounts } from "./model.ts";
import { CONNECTORS } from "../scheme/connector.ts";

export const collectionRunTable = (k: ColumnKit) =>
  k.table(
    "collection_runs",
    {
      id: k.id(),
      ...companyColumn(k),
      status: k.enumeration("status", COLLECTION_STATUSES).notNull(),
      /** The connector of the debits in its file; a sandbox run collects no others. */
      connector: k.enumeration("connector", CONNECTORS).notNull(),
      /** The day in Kuala Lumpur, YYYY-MM-DD, up to whose end it collects. */
      date: k.text("date").notNull(),
      /** A user's id, which outlives the user; null where the service started the run. */
      requested_by: k.integer("requested_by"),
      counts: k.json<CollectionCounts>("counts").notNull(),
      /** What interrupted it, or which connector could not be opened. */
      error: k.text("error"),
      finished_at: k.at("finished_at"),
      ...stamps(k),
    },
    (t) => [
      k.index("collection_runs_company").on(t.company_id, t.id),
      k.uniqueIndex("collection_runs_running").on(t.company_id).where(sql`status = 'running'`),
    ],
  );

export const runningError = () => new AppError("conflict", "Cannot start a collection run: one is running");

export const COLLECTION_CONSTRAINTS = { collection_runs_running: runningError };
