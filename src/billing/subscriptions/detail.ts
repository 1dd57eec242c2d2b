import { type Static, Type } from "@sinclair/typebox";
import { BillingModel } from "../billing_models/model.ts";
import { Client } from "../../tenancy/clients/model.ts";
import { Product } from "../products/model.ts";
import { Subscription } from "./model.ts";

// Apart from model.ts, because a client's own shape refers to that one.

/** A subscription with its relations, deleted ones too: what an ended subscription was stays visible. */
export const SubscriptionDetail = Type.Object(
  { ...Subscription.properties, client: Client, product: Product, billing_model: BillingModel },
  { title: "SubscriptionDetail" },
);
export type SubscriptionDetail = Static<typeof SubscriptionDetail>;

/** A subscription that was just created, and what that means for its bills. */
export const CreatedSubscription = Type.Object(
  {
    ...SubscriptionDetail.properties,
    past_periods: Type.Integer({
      minimum: 0,
      description:
        "how many billing periods since started_at have ended already: billing runs bill each of them",
    }),
  },
  { title: "CreatedSubscription" },
);
