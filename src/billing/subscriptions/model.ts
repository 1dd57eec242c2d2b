import { FormatRegistry, type Static, Type } from "@sinclair/typebox";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { InstantText } from "../../core/instants.ts";
import {
  At,
  Id,
  idsField,
  Name,
  nullable,
  oneOf,
  pageFields,
  Search,
  sortedBy,
  strict,
} from "../../core/schema.ts";

import { TrialDays } from "../billing_models/fee_terms.ts";

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
    trial_days: Type.Optional({ ...TrialDays, description: "its own, in place of its billing model's" }),
    created_at: At,
    updated_at: At,
  },
  { title: "Subscription" },
);
export type Subscription = Static<typeof Subscription>;

/** A subscription as it is stored: its status follows from its life. */
export const StoredSubscription = Type.Object({
  ...Type.Omit(Subscription, ["status"]).properties,
  trial_days: nullable(TrialDays),
});
export type StoredSubscription = Static<typeof StoredSubscription>;

// No text that the eye can't distinguish, or that a database would change.
FormatRegistry.Set("external-id", (text) => text.isWellFormed() && !/^\s|\s$|\p{Cc}/u.test(text));

/** The id of a subscription in the caller's own system, stored exactly as sent. Decision 0013. */
export const ExternalId = Type.String({
  minLength: 1,
  maxLength: SHARED_LIMITS.external_id_length,
  format: "external-id",
  description: `1 to ${SHARED_LIMITS.external_id_length} characters, without control characters and without white space at either end`,
  "x-schema": { type: "string", minLength: 1, maxLength: SHARED_LIMITS.external_id_length },
});

export const ListSubscriptions = strict({
  ids: idsField,
  client_id: Type.Optional(Id),
  product_id: Type.Optional(Id),
  status: Type.Optional(oneOf(SUBSCRIPTION_STATUSES)),
  search: Type.Optional(Search),
  sort: sortedBy(["id", "name", "external_subscription_id", "started_at", "created_at"]),
  ...pageFields,
});

export const CreateSubscription = strict(
  {
    name: Name,
    external_subscription_id: ExternalId,
    product_id: Id,
    client_id: Id,
    billing_model_id: Id,
    started_at: Type.Optional(InstantText),
    billing_anchor_day: Type.Optional(Type.Integer({ minimum: 1, maximum: 31 })),
    trial_days: Type.Optional(TrialDays),
  },
  {
    title: "CreateSubscription",
    examples: [
      {
        name: "Acme, production",
        external_subscription_id: "acme-api",
        client_id: 1,
        product_id: 1,
        billing_model_id: 1,
        started_at: "2026-01-01T00:00:00Z",
      },
    ],
  },
);

export const UpdateSubscription = strict({ id: Id, name: Name }, { title: "UpdateSubscription" });

/** `next_period` and `period_end` are one instant. */
export const CANCEL_TIMES = ["now", "period_end", "next_period"] as const;

export const CancelSubscription = strict(
  { id: Id, at: oneOf(CANCEL_TIMES) },
  { title: "CancelSubscription" },
);
