import { type Static, Type } from "@sinclair/typebox";
import { At, Id, nullable, oneOf, strict } from "../../core/schema.ts";
import { CHANGE_KINDS, CreateBillingModelChange } from "../billing_model_changes/model.ts";
import { BillLine } from "../rating/bill_line.ts";
import { BillingRecord } from "../records/model.ts";

export const PreviewBillingModelChange = strict(CreateBillingModelChange.properties, {
  title: "PreviewBillingModelChange",
  examples: [{ new_billing_model_id: 2, effective_at: "2026-04-16T00:00:00Z" }],
});

const PREVIEWED_KINDS = [...CHANGE_KINDS, "cancel"] as const;

const Total = Type.String({ description: "a decimal with exactly the currency's digits" });

const PreviewedBill = Type.Object({ lines: Type.Array(BillLine), total: Total }, { title: "PreviewedBill" });

const PreviewedPeriod = Type.Object(
  {
    from: At,
    to: At,
    before: { ...PreviewedBill, description: "as it would be billed without it" },
    after: { ...PreviewedBill, description: "as it would be billed with it" },
    difference: { ...Total, description: "after less before" },
  },
  { title: "PreviewedPeriod" },
);

/** A record that a change would write at once: it has no id yet. */
const PreviewedRecord = Type.Object(
  {
    ...Type.Pick(BillingRecord, [
      "billing_model_id",
      "kind",
      "sequence",
      "adjusts_billing_record_id",
      "currency",
      "billedUnits",
      "totalCharges",
      "billingStartAt",
      "billingEndAt",
      "unmetered",
    ]).properties,
    lines: Type.Array(BillLine),
  },
  { title: "PreviewedRecord" },
);
export type PreviewedRecord = Static<typeof PreviewedRecord>;

/** What a change, upgrade, downgrade or cancellation would do. Nothing is written. Decision 0270. */
export const ChangePreview = Type.Object(
  {
    subscription_id: Id,
    kind: oneOf(PREVIEWED_KINDS),
    at_once: Type.Boolean({ description: "false where it would be scheduled" }),
    old_billing_model_id: Id,
    new_billing_model_id: nullable({ ...Id, description: "null of a cancellation" }),
    effective_at: At,
    currency: Type.String(),
    days: Type.Object(
      { before: Type.Integer(), after: Type.Integer(), of: Type.Integer() },
      {
        title: "PreviewedDays",
        description:
          "of the billing period in which it takes effect: the days that are charged before and from effective_at on, of how many",
      },
    ),
    credits_added: nullable(Type.Integer({ description: "credits that an upgrade would add to its month" })),
    cancelled_change_ids: Type.Array(Id, { description: "scheduled changes that would be cancelled" }),
    bills: Type.Array(PreviewedPeriod, {
      description:
        "the running period, whole fees and the usage so far, with what is scheduled in it; then, where it takes effect later, the period in which it does",
    }),
    records: Type.Array(PreviewedRecord, {
      description: "what it would write at once: adjustments of closed periods, and of fees in advance",
    }),
    records_total: { ...Total, description: "the sum of the records" },
  },
  { title: "ChangePreview" },
);
export type ChangePreview = Static<typeof ChangePreview>;
