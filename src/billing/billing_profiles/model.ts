import { type Static, Type } from "@sinclair/typebox";
import { Id, nullable, strict } from "../../core/schema.ts";
import { Currency } from "../../tenancy/companies/model.ts";
import { DecimalText, nullableDecimal } from "../decimals.ts";

/** How a client is billed. */
export const BillingProfile = Type.Object(
  {
    client_id: Id,
    interim_at: nullable({
      ...DecimalText,
      description:
        "usage of running periods is billed when what it costs reaches this amount; null: after they end",
    }),
    currency: Type.String({ description: "of interim_at" }),
  },
  { title: "BillingProfile" },
);
export type BillingProfile = Static<typeof BillingProfile>;

export const SaveBillingProfile = strict(
  {
    id: Id,
    interim_at: Type.Optional(nullableDecimal()),
    currency: Type.Optional(Currency),
  },
  { title: "SaveBillingProfile" },
);
