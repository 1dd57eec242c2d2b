import { type Static, Type } from "@sinclair/typebox";
import { nullable, oneOf } from "../../core/schema.ts";

/** A decimal on the wire, as text: exact at any size. */
const DecimalText = Type.String({ description: "a decimal such as 12.5" });

/** One step of a graduated or volume price: units up to and with `up_to`, the last one open. */
export const UsageTier = Type.Object(
  { up_to: nullable(DecimalText), unit_price: DecimalText, flat_fee: DecimalText },
  { title: "UsageTier" },
);
export type UsageTier = Static<typeof UsageTier>;

export const CreditPlan = Type.Object(
  {
    monthly_credits: Type.Integer({ minimum: 0 }),
    credit_consumption: oneOf(["per_api_call", "per_unit"]),
    overage_rate: nullable(DecimalText),
  },
  { title: "CreditPlan" },
);
export type CreditPlan = Static<typeof CreditPlan>;
