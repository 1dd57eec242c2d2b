import { sql } from "drizzle-orm";
import { invalid } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { billingModelTable } from "../billing_models/tables.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import { CHANGE_KINDS, CHANGE_STATUSES } from "./model.ts";

export const billingModelChangeTable = (k: ColumnKit) =>
  k.table(
    "billing_model_changes",
    {
      id: k.id(),
      ...companyColumn(k),
      subscription_id: k.ref("subscription_id", subscriptionTable).notNull(),
      old_billing_model_id: k.ref("old_billing_model_id", billingModelTable).notNull(),
      new_billing_model_id: k.ref("new_billing_model_id", billingModelTable).notNull(),
      kind: k.enumeration("kind", CHANGE_KINDS).notNull(),
      status: k.enumeration("status", CHANGE_STATUSES).notNull(),
      effective_at: k.at("effective_at").notNull(),
      /** Where the end of a billing period is meant: an instant of it. effective_at then follows the time zone. */
      after_period_at: k.at("after_period_at"),
      applied_at: k.at("applied_at"),
      cancelled_at: k.at("cancelled_at"),
      /** When a change that was applied was voided; its status is then cancelled. */
      voided_at: k.at("voided_at"),
      /** A user's id, which outlives the user; null for the system. */
      requested_by: k.integer("requested_by"),
      credits_added: k.integer("credits_added"),
      adjustment_billing_record_ids: k.json<number[]>("adjustment_billing_record_ids").notNull(),
      last_error: k.text("last_error"),
      attempts: k.integer("attempts").notNull(),
      /** After a failure: when it is tried again. */
      next_attempt_at: k.at("next_attempt_at"),
      ...stamps(k),
    },
    (t) => [
      // No two changes take effect at the same instant, also of concurrent calls.
      k
        .uniqueIndex("billing_model_changes_instant")
        .on(t.subscription_id, t.effective_at)
        .where(sql`status <> 'cancelled'`),
      k.index("billing_model_changes_subscription").on(t.subscription_id, t.effective_at, t.id),
      k.index("billing_model_changes_due").on(t.effective_at).where(sql`status = 'scheduled'`),
      k.index("billing_model_changes_old").on(t.old_billing_model_id),
      k.index("billing_model_changes_new").on(t.new_billing_model_id),
    ],
  );

export const BILLING_MODEL_CHANGE_CONSTRAINTS = {
  billing_model_changes_instant: () =>
    invalid("/effective_at", "is a duplicate schedule: another change takes effect at that instant"),
};
