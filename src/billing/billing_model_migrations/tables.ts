import { sql } from "drizzle-orm";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { billingModelTable } from "../billing_models/tables.ts";
import { MIGRATION_STATUSES, type MigrationCounts, type MigrationError } from "./model.ts";

export const billingModelMigrationTable = (k: ColumnKit) =>
  k.table(
    "billing_model_migrations",
    {
      id: k.id(),
      ...companyColumn(k),
      from_billing_model_id: k.ref("from_billing_model_id", billingModelTable).notNull(),
      to_billing_model_id: k.ref("to_billing_model_id", billingModelTable).notNull(),
      at: k.text("at").notNull(),
      /** Null: all that are on the model. */
      subscription_ids: k.json<number[]>("subscription_ids"),
      status: k.enumeration("status", MIGRATION_STATUSES).notNull(),
      /** Subscriptions are moved by id: the last one that was, and the last one that there was at the beginning. */
      after_id: k.integer("after_id").notNull(),
      last_id: k.integer("last_id").notNull(),
      counts: k.json<MigrationCounts>("counts").notNull(),
      errors: k.json<MigrationError[]>("errors").notNull(),
      /** A user's id, which outlives the user. */
      requested_by: k.integer("requested_by"),
      finished_at: k.at("finished_at"),
      ...stamps(k),
    },
    (t) => [
      k.index("billing_model_migrations_company").on(t.company_id, t.id),
      k.index("billing_model_migrations_running").on(t.company_id).where(sql`status = 'running'`),
    ],
  );
