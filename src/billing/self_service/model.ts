import { type Static, Type } from "@sinclair/typebox";
import { At, Id, nullable } from "../../core/schema.ts";
import { SelfService } from "../../tenancy/companies/model.ts";
import { CreditBalance } from "../credits/model.ts";
import { LIMITS } from "../limits.ts";
import { BillingRecord } from "../records/model.ts";

const Total = Type.String({ description: "a decimal with exactly the currency's digits" });

const RunningSubscription = Type.Object(
  {
    id: Id,
    name: Type.String(),
    external_subscription_id: Type.String(),
    plan: Type.Object({ id: Id, name: Type.String() }, { title: "RunningPlan" }),
    from: { ...At, description: "of its running period" },
    to: At,
    currency: Type.String(),
    total: { ...Total, description: "what its bill would come to now: whole fees, the usage so far" },
    credits: nullable({ ...CreditBalance, description: "null of a plan without credits" }),
  },
  { title: "RunningSubscription" },
);
export type RunningSubscription = Static<typeof RunningSubscription>;

/** What a client sees first: what its running periods come to, its last bill, and what it may do itself. */
export const ClientOverview = Type.Object(
  {
    as_of: At,
    totals: Type.Array(Type.Object({ currency: Type.String(), total: Total }, { title: "RunningTotal" }), {
      description: "the sums of the subscriptions below, by currency",
    }),
    subscriptions: Type.Array(RunningSubscription, {
      description: `the first ${LIMITS.overview_subscriptions} that run or are to come`,
    }),
    subscriptions_total: Type.Integer({ description: "how many there are" }),
    last_bill: nullable(BillingRecord),
    self_service: Type.Object(Type.Omit(SelfService, ["plans"]).properties, {
      title: "AllowedSelfService",
      description: "what the company allows its clients; what is left out it does not",
    }),
  },
  { title: "ClientOverview" },
);
export type ClientOverview = Static<typeof ClientOverview>;
