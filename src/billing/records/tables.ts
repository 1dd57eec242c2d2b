import { AppError } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { billingModelTable } from "../billing_models/tables.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import type { BillLine } from "../rating/bill_line.ts";
import { billingRunTable } from "../runs/tables.ts";
import type { Unmetered } from "../meters/unmetered.ts";
import { RECORD_KINDS } from "../rating/record_kinds.ts";

export const billingRecordTable = (k: ColumnKit) =>
  k.table(
    "billing_records",
    {
      id: k.id(),
      ...companyColumn(k),
      subscription_id: k.ref("subscription_id", subscriptionTable).notNull(),
      billing_model_id: k.ref("billing_model_id", billingModelTable).notNull(),
      /** Null for an adjustment that a change of the subscription made, outside a run. */
      billing_run_id: k.ref("billing_run_id", billingRunTable),
      kind: k.enumeration("kind", RECORD_KINDS).notNull(),
      sequence: k.integer("sequence").notNull(),
      adjusts_billing_record_id: k.integer("adjusts_billing_record_id"),
      currency: k.text("currency").notNull(),
      billedUnits: k.decimal("billedUnits").notNull(),
      totalCharges: k.decimal("totalCharges").notNull(),
      billingStartAt: k.at("billingStartAt").notNull(),
      billingEndAt: k.at("billingEndAt").notNull(),
      lines: k.json<BillLine[]>("lines").notNull(),
      /** Usage that nothing counted, of a model with charges; null for none. */
      unmetered: k.json<Unmetered>("unmetered"),
      /** Events stored before this instant were counted. */
      usage_until: k.at("usage_until").notNull(),
      /** And with a number up to this one, in the order of commits; null where it was not written down yet. */
      usage_seq: k.integer("usage_seq"),
      ...stamps(k),
    },
    (t) => [
      // Two runs at once write one record: the second one finds its place taken. A trigger keeps periods from
      // overlapping; a migration that makes the table anew must make it again.
      k.uniqueIndex("billing_records_period").on(t.subscription_id, t.billingStartAt, t.sequence),
      k.index("billing_records_company").on(t.company_id, t.id),
      k.index("billing_records_usage_seq").on(t.usage_seq),
      // All that a report of revenue reads, so that it meets no lines.
      k
        .index("billing_records_revenue")
        .on(
          t.company_id,
          t.billingStartAt,
          t.currency,
          t.subscription_id,
          t.billing_model_id,
          t.kind,
          t.totalCharges,
        ),
    ],
  );

export const BILLING_CONSTRAINTS = {
  billing_records_overlap: () =>
    new AppError("conflict", "Cannot bill a period: another period's record covers a part of it"),
};
