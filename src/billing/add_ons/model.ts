import { type Static, Type } from "@sinclair/typebox";
import { At, Id, Name, oneOf, pageFields, Search, strict, sortedBy } from "../../core/schema.ts";
import { Currency } from "../../tenancy/companies/model.ts";
import { Charge, ChargeInput } from "../billing_models/charge_model.ts";
import { Entitlement, EntitlementInput } from "../features/entitlement_model.ts";
import { LIMITS } from "../limits.ts";
import { Code } from "../meters/model.ts";

// What an add-on's charge has of its own is its terms: code and name are the add-on's, the quantity the booking's.
const OF_BOOKING = ["code", "name", "quantity"] as const;

const AddOnCharge = Type.Omit(Charge, [...OF_BOOKING], { title: "AddOnCharge" });
export type AddOnCharge = Static<typeof AddOnCharge>;

const AddOnChargeInput = strict(Type.Omit(ChargeInput, [...OF_BOOKING]).properties, {
  title: "AddOnChargeInput",
});
export type AddOnChargeInput = Static<typeof AddOnChargeInput>;

/** What subscriptions may book beside their plan. Decision 0247. */
export const AddOn = Type.Object(
  {
    id: Id,
    code: Type.String(),
    name: Type.String(),
    currency: Type.String(),
    charge: AddOnCharge,
    entitlements: Type.Optional(
      Type.Array(Entitlement, { description: "what each one that is booked adds to the plan's" }),
    ),
    company_id: Id,
    status: oneOf(["active", "archived"]),
    created_at: At,
    updated_at: At,
  },
  { title: "AddOn" },
);
export type AddOn = Static<typeof AddOn>;

export const ListAddOns = strict({
  search: Type.Optional(Search),
  code: Type.Optional(Code),
  currency: Type.Optional(Currency),
  sort: sortedBy(["id", "name", "code", "created_at"]),
  ...pageFields,
});
export type ListAddOns = Static<typeof ListAddOns>;

export const CreateAddOn = strict(
  {
    code: Code,
    name: Name,
    currency: Currency,
    charge: AddOnChargeInput,
    entitlements: Type.Optional(Type.Array(EntitlementInput, { maxItems: LIMITS.entitlements })),
  },
  {
    title: "CreateAddOn",
    examples: [
      {
        code: "seats",
        name: "More seats",
        currency: "USD",
        charge: { type: "fixed", price: "12" },
        entitlements: [{ feature: "output_tokens", limit: "1000000", window: "month" }],
      },
    ],
  },
);

export const UpdateAddOn = strict(
  {
    id: Id,
    name: Name,
    code: Type.Optional(Code),
    currency: Type.Optional(Currency),
    charge: Type.Optional(AddOnChargeInput),
    entitlements: Type.Optional(Type.Array(EntitlementInput, { maxItems: LIMITS.entitlements })),
  },
  { title: "UpdateAddOn", examples: [{ name: "Seats" }] },
);
