import { type Static, Type } from "@sinclair/typebox";
import { At, Id, InstantText, nullable, oneOf, pageFields, strict } from "../../core/schema.ts";

export const CHANGE_KINDS = ["change", "upgrade", "downgrade"] as const;
export const CHANGE_STATUSES = ["scheduled", "applied", "cancelled"] as const;

/**
 * From `effective_at` on the subscription is billed by `new_billing_model_id`, once the change is applied.
 */
export const BillingModelChange = Type.Object(
  {
    id: Id,
    subscription_id: Id,
    old_billing_model_id: Type.Integer({
      minimum: 1,
      description: "the model that it takes over from; of a scheduled one as things stand now",
    }),
    new_billing_model_id: Id,
    kind: oneOf(CHANGE_KINDS),
    status: oneOf(CHANGE_STATUSES),
    effective_at: At,
    applied_at: nullable(At),
    cancelled_at: nullable(At),
    voided_at: nullable({
      ...At,
      description: "of a change that was applied: when it was taken out of the timeline again",
    }),
    requested_by: nullable(Id),
    credits_added: nullable(
      Type.Integer({ description: "what an upgrade added to its month when it was made" }),
    ),
    adjustment_billing_record_ids: Type.Array(Id, {
      description:
        "the adjustments of periods that were closed when it was applied, and then when it was voided",
    }),
    last_error: nullable(Type.String({ description: "why the last attempt to apply it failed" })),
    attempts: Type.Integer({ minimum: 0, description: "failed ones" }),
    created_at: At,
    updated_at: At,
  },
  { title: "BillingModelChange" },
);
export type BillingModelChange = Static<typeof BillingModelChange>;

export const CreateBillingModelChange = strict(
  { id: Id, new_billing_model_id: Id, effective_at: InstantText },
  { title: "CreateBillingModelChange" },
);

export const ListBillingModelChanges = strict({ id: Id, ...pageFields });

/** A change of a subscription, by the ids of both. */
export const ChangePath = strict({ id: Id, changeId: Id });

/** What a run over the changes that are due came to. */
export const AppliedChanges = Type.Object({ applied: Type.Integer(), failed: Type.Integer() });
