import { type Static, Type } from "@sinclair/typebox";
import { NEXT_PERIOD } from "../billing_model_changes/model.ts";
import { At, Id, nullable, oneOf, pageFields, paged, strict } from "../../core/schema.ts";
import { WholeNumber } from "../../core/whole_number.ts";

/** The credits of a subscription in its running billing month. */
export const CreditBalance = Type.Object(
  {
    allocated: WholeNumber("credits allocated this month"),
    used: WholeNumber("base credits consumed"),
    remaining: WholeNumber("base credits remaining"),
    overageUsed: WholeNumber("overage credits consumed"),
    overageRate: nullable(Type.Number({ description: "per-credit overage rate; null: not billed" })),
    creditConsumption: oneOf(["per_api_call", "per_unit"]),
    planName: Type.String(),
    currency: Type.String(),
  },
  { title: "CreditBalance" },
);
export type CreditBalance = Static<typeof CreditBalance>;

export const ListCredits = strict({
  client_id: Type.Optional(Id),
  reached: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      description: "only those that have reached 80 or 100 percent: give 80 or 100",
    }),
  ),
  sort: Type.Optional(
    oneOf(
      ["-used_percent", "used_percent", "runs_out_on", "subscription_id"],
      "one of -used_percent (the default), used_percent, runs_out_on, subscription_id",
    ),
  ),
  ...pageFields,
});

/** The credits of one subscription among those of all. */
export const CreditRow = Type.Object(
  {
    subscription_id: Id,
    subscription_name: Type.String(),
    external_subscription_id: Type.String(),
    client_id: Id,
    client_name: Type.String(),
    ...CreditBalance.properties,
    month_start: At,
    month_end: At,
    used_percent: Type.Number({ description: "base credits consumed, rounded down to one decimal" }),
    reached: Type.Integer({ description: "the highest threshold that was reached: 0, 80 or 100" }),
    runs_out_on: nullable(
      Type.String({
        description:
          "the day on which the credits run out if they are used as they were; null: they last, nothing was used yet, or they are used up",
      }),
    ),
  },
  { title: "CreditRow" },
);
export type CreditRow = Static<typeof CreditRow>;

export const CreditRows = paged(CreditRow);

export const ChangePlan = strict({ id: Id, new_billing_model_id: Id }, { title: "ChangePlan" });

export const Downgrade = strict(
  {
    ...ChangePlan.properties,
    effective_at: Type.Optional(
      Type.Literal(NEXT_PERIOD, { description: "when every downgrade takes effect; may be left out" }),
    ),
  },
  { title: "Downgrade" },
);

/** The shares of a month's credits, in percent, whose use is announced by an event. */
export const THRESHOLDS = [80, 100] as const;

/** How many thresholds were newly recorded. */
export const RecordedThresholds = Type.Object({ told: Type.Integer() });
