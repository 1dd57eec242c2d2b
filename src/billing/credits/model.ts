import { type Static, Type } from "@sinclair/typebox";
import { Id, nullable, oneOf, strict } from "../../core/schema.ts";
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

export const ChangePlan = strict({ id: Id, new_billing_model_id: Id }, { title: "ChangePlan" });

/** The shares of a month's credits, in percent, whose use is announced by an event. */
export const THRESHOLDS = [80, 100] as const;

/** How many thresholds were newly recorded. */
export const RecordedThresholds = Type.Object({ told: Type.Integer() });
