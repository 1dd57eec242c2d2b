import { type Static, Type } from "@sinclair/typebox";
import { BillingModel } from "../billing_models/model.ts";
import { Client } from "../../tenancy/clients/model.ts";
import { Product } from "../products/model.ts";
import { Subscription } from "./model.ts";

// Apart from model.ts, which a client's shape refers to.

/** A subscription with its relations, deleted ones too: ended subscriptions still show them. */
export const SubscriptionDetail = Type.Object(
  { ...Subscription.properties, client: Client, product: Product, billing_model: BillingModel },
  { title: "SubscriptionDetail" },
);
export type SubscriptionDetail = Static<typeof SubscriptionDetail>;

/** A new subscription, and how many periods will be billed for its past. */
export const CreatedSubscription = Type.Object(
  {
    ...SubscriptionDetail.properties,
    past_periods: Type.Integer({
      minimum: 0,
      description: "how many billing periods since started_at have ended: billing runs bill each of them",
    }),
  },
  { title: "CreatedSubscription" },
);
