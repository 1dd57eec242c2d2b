import { type Static, Type } from "@sinclair/typebox";
import { InstantText } from "../../core/instants.ts";
import { At, Id, nullable, oneOf, pageFields, strict } from "../../core/schema.ts";

export const CHANGE_KINDS = ["change", "upgrade", "downgrade"] as const;
export const CHANGE_STATUSES = ["scheduled", "applied", "cancelled"] as const;

/** A plan change: from `effective_at` on the subscription is billed by `new_billing_model_id`. */
export const BillingModelChange = Type.Object(
  {
    id: Id,
    subscription_id: Id,
    old_billing_model_id: Type.Integer({
      minimum: 1,
      description: "the model that it replaces; of a scheduled change by what is known now",
    }),
    new_billing_model_id: Id,
    kind: oneOf(CHANGE_KINDS),
    status: oneOf(CHANGE_STATUSES),
    effective_at: At,
    applied_at: nullable(At),
    cancelled_at: nullable(At),
    voided_at: nullable({
      ...At,
      description: "when a change that was applied was voided",
    }),
    requested_by: nullable(Id),
    credits_added: nullable(Type.Integer({ description: "credits that an upgrade added to its month" })),
    adjustment_billing_record_ids: Type.Array(Id, {
      description: "adjustments of closed periods, from when it was applied and when it was voided",
    }),
    last_error: nullable(Type.String({ description: "why the last attempt to apply it failed" })),
    attempts: Type.Integer({ minimum: 0, description: "failed attempts to apply it" }),
    created_at: At,
    updated_at: At,
  },
  { title: "BillingModelChange" },
);
export type BillingModelChange = Static<typeof BillingModelChange>;

/** The end of the running billing period; it follows the time zone. */
export const NEXT_PERIOD = "next_period";

export const CreateBillingModelChange = strict(
  {
    id: Id,
    new_billing_model_id: Id,
    effective_at: Type.Union([Type.Literal(NEXT_PERIOD), InstantText], {
      description:
        "next_period: the end of the running billing period; or an instant, local, with an offset or in Unix ms",
    }),
  },
  { title: "CreateBillingModelChange" },
);

export const ListBillingModelChanges = strict({ id: Id, ...pageFields });

/** The ids of a subscription and of one of its changes. */
export const ChangePath = strict({ id: Id, changeId: Id });

/** How many due changes were applied, and how many failed. */
export const AppliedChanges = Type.Object({ applied: Type.Integer(), failed: Type.Integer() });
