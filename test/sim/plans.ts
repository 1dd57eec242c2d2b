import type { Plan } from "./bill_model.ts";

const NONE: Plan = {
  type: "flat",
  fee: "0",
  unit_price: "0",
  free_units: "0",
  tiers: [],
  flat_on_zero: false,
  package_size: "1",
  minimum: null,
  maximum: null,
  credits: 0,
  by_call: false,
  overage_rate: null,
};
const TIERS = [
  { up_to: "10", unit_price: "0.07", flat_fee: "2" },
  { up_to: "200", unit_price: "0.051", flat_fee: "3" },
  { up_to: null, unit_price: "0.0333", flat_fee: "1.25" },
];
const credit = (credits: number, fee: string, overage_rate: string | null, by_call = false): Plan => ({
  ...NONE,
  type: "credit",
  credits,
  fee,
  overage_rate,
  by_call,
});

/** What companies of the simulation sell. */
export const PLANS: readonly Plan[] = [
  { ...NONE, fee: "31" },
  { ...NONE, fee: "62.5" },
  {
    ...NONE,
    type: "per_unit",
    fee: "9.99",
    unit_price: "0.35",
    free_units: "20",
    minimum: "15",
    maximum: "80",
  },
  { ...NONE, type: "per_unit", unit_price: "0.0049" },
  { ...NONE, type: "graduated", fee: "1", tiers: TIERS, flat_on_zero: true },
  { ...NONE, type: "volume", fee: "3", tiers: TIERS, minimum: "7.77" },
  { ...NONE, type: "package", fee: "4", unit_price: "7.3", package_size: "50", free_units: "7" },
  credit(100, "31", "0.02"),
  credit(333, "62", "0.015"),
  credit(1000, "124", "0.02"),
  credit(40, "20", "0.5", true),
  credit(200, "50", null),
];

const TYPES: Record<Plan["type"], number> = {
  flat: 1,
  per_unit: 2,
  graduated: 3,
  volume: 4,
  package: 5,
  credit: 6,
};

/** A plan as POST /billing-models takes it. */
export function modelOf(plan: Plan, name: string): Record<string, unknown> {
  const { type, fee, unit_price, free_units, tiers, flat_on_zero, package_size, minimum, maximum } = plan;
  const has_unit_price = type === "per_unit" || type === "package";
  return {
    name,
    description: "",
    currency: "EUR",
    billing_type_id: TYPES[type],
    price: Number(has_unit_price ? unit_price : fee),
    ...(has_unit_price ? { recurring_fee: fee, free_units } : {}),
    ...(type === "package" ? { package_size } : {}),
    ...(tiers.length > 0 ? { usage_tiers: tiers, charge_flat_on_zero: flat_on_zero } : {}),
    ...(minimum === null ? {} : { minimum_charge: minimum }),
    ...(maximum === null ? {} : { maximum_charge: maximum }),
    ...(type === "credit"
      ? {
          credit_plan: {
            monthly_credits: plan.credits,
            credit_consumption: plan.by_call ? "per_api_call" : "per_unit",
            overage_rate: plan.overage_rate,
          },
        }
      : {}),
  };
}
