import { type Static, Type } from "@sinclair/typebox";

import { At, Id, nullable, oneOf } from "../../core/schema.ts";

export const SUBSCRIPTION_STATUSES = ["active", "cancelled"] as const;

export const Subscription = Type.Object(
  {
    id: Id,
    name: Type.String(),
    external_subscription_id: Type.String(),
    client_id: Id,
    product_id: Id,
    billing_model_id: Id,
    company_id: Id,
    status: oneOf(SUBSCRIPTION_STATUSES),
    started_at: At,
    ends_at: nullable(At),
    billing_anchor_day: Type.Integer({ minimum: 1, maximum: 31 }),
    created_at: At,
    updated_at: At,
  },
  { title: "Subscription" },
);
export type Subscription = Static<typeof Subscription>;
