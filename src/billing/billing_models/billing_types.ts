export type BillingType = "flat" | "per_unit" | "graduated" | "volume" | "package" | "credit";

/** A field that only some billing types take. */
export type TypedField =
  | "recurring_fee"
  | "free_units"
  | "usage_tiers"
  | "package_size"
  | "minimum_charge"
  | "maximum_charge"
  | "charge_flat_on_zero"
  | "credit_plan";

/** A billing type as GET /billing-types lists it. */
export interface BillingTypeRule {
  readonly id: number;
  readonly billing_type: BillingType;
  /** The meaning of `price`. */
  readonly price: string;
  /** Fields without which there is nothing to charge. */
  readonly needs: readonly TypedField[];
  /** Fields it also takes; every other one is refused. */
  readonly optional: readonly TypedField[];
}

/** The rate card. See docs/billing.md#the-six-billing-types. */
export const BILLING_TYPES: readonly BillingTypeRule[] = [
  { id: 1, billing_type: "flat", price: "fee per month", needs: [], optional: [] },
  {
    id: 2,
    billing_type: "per_unit",
    price: "price per unit",
    needs: [],
    optional: ["recurring_fee", "free_units", "minimum_charge", "maximum_charge"],
  },
  {
    id: 3,
    billing_type: "graduated",
    price: "fee per month (may be 0)",
    needs: ["usage_tiers"],
    optional: ["charge_flat_on_zero", "minimum_charge", "maximum_charge"],
  },
  {
    id: 4,
    billing_type: "volume",
    price: "fee per month (may be 0)",
    needs: ["usage_tiers"],
    optional: ["charge_flat_on_zero", "minimum_charge", "maximum_charge"],
  },
  {
    id: 5,
    billing_type: "package",
    price: "price per package (started packages count)",
    needs: ["package_size"],
    optional: ["recurring_fee", "free_units", "minimum_charge", "maximum_charge"],
  },
  {
    id: 6,
    billing_type: "credit",
    price: "plan fee per month",
    needs: ["credit_plan"],
    optional: [],
  },
];

/** The type behind a `billing_type_id`, or undefined. */
export function billingTypeOf(billing_type_id: number): BillingType | undefined {
  return BILLING_TYPES.find(({ id }) => id === billing_type_id)?.billing_type;
}
