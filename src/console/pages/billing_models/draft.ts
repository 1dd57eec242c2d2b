import type { Static } from "@sinclair/typebox";
import type { BillingModel, CreateBillingModel } from "../../../billing/billing_models/model.ts";
import type { BillingType } from "../../../billing/billing_models/billing_types.ts";
import { cleaned, type Values } from "../../ui/form.tsx";

/** A billing model as it is typed: the body of a request, with empty texts for what is not typed yet. */
export type Draft = Partial<Static<typeof CreateBillingModel>> & { billing_type: BillingType };

const TYPES = ["flat", "per_unit", "graduated", "volume", "package", "credit"] as const;

export const TYPE_IDS: Record<BillingType, number> = {
  flat: 1,
  per_unit: 2,
  graduated: 3,
  volume: 4,
  package: 5,
  credit: 6,
};

/** What each type charges, for who chooses one. */
export const TYPE_TEXTS: Record<BillingType, string> = {
  flat: "Flat: a fee a month",
  per_unit: "Per unit: so much for each unit",
  graduated: "Graduated: each unit at the price of its tier",
  volume: "Volume: all units at the price of the tier that the month reaches",
  package: "Package: so much for each started package of units",
  credit: "Credit: a monthly fee with credits, and a price beyond them",
};

/** What `price` means, by type. */
export const PRICE_LABELS: Record<BillingType, string> = {
  flat: "Monthly fee",
  per_unit: "Price of a unit",
  graduated: "Monthly fee (may be 0)",
  volume: "Monthly fee (may be 0)",
  package: "Price of a package",
  credit: "Monthly fee",
};

/** Models to begin from. */
export const EXAMPLES: readonly { title: string; draft: Draft }[] = [
  {
    title: "Pay as you go: 0.002 a unit, the first 10,000 free",
    draft: { billing_type: "per_unit", name: "Pay as you go", price: "0.002", free_units: "10000" },
  },
  {
    title: "Graduated: the more, the cheaper each",
    draft: {
      billing_type: "graduated",
      name: "Growing",
      price: "0",
      usage_tiers: [
        { up_to: "10000", unit_price: "0.01", flat_fee: "0" },
        { up_to: "100000", unit_price: "0.008", flat_fee: "0" },
        { up_to: null, unit_price: "0.005", flat_fee: "0" },
      ],
    },
  },
  {
    title: "Pro: 20.00 a month with 1,000 credits",
    draft: {
      billing_type: "credit",
      name: "Pro",
      price: "20",
      credit_plan: { monthly_credits: 1000, credit_consumption: "per_unit", overage_rate: "0.03" },
    },
  },
];

/** What a draft says for its type alone, as it is sent: what was typed for another type is left out. */
export function bodyOf(values: Values, currency: string): Values {
  const {
    billing_type: _,
    usage_tiers,
    package_size,
    credit_plan,
    free_units,
    recurring_fee,
    ...rest
  } = values;
  const type = typeOf(values);
  const by_type: Record<BillingType, Values> = {
    flat: {},
    per_unit: { free_units, recurring_fee },
    graduated: { usage_tiers: withOpenEnd(usage_tiers) },
    volume: { usage_tiers: withOpenEnd(usage_tiers) },
    package: { package_size, free_units, recurring_fee },
    credit: { credit_plan },
  };
  const { minimum_charge, maximum_charge, charges, commitment, ...others } = rest;
  const has_bounds = type !== "flat" && type !== "credit";
  return {
    name: "Draft",
    price: "0",
    currency,
    description: "",
    ...typed(others),
    billing_type_id: TYPE_IDS[type],
    ...typed(by_type[type]),
    ...typed({ charges: chargesOf(charges) }),
    ...(hasAmount(commitment) && { commitment: cleaned(commitment) }),
    ...(has_bounds && typed({ minimum_charge, maximum_charge })),
  };
}

/** The type that a draft has. */
export function typeOf({ billing_type }: Values): BillingType {
  return TYPES.find((type) => type === billing_type) ?? "per_unit";
}

const isObject = (value: unknown): value is Values => typeof value === "object" && value !== null;

const hasAmount = (commitment: unknown) =>
  isObject(commitment) && Boolean(commitment.minimum || commitment.maximum);

/** The last tier has no end. */
function withOpenEnd(tiers: unknown): unknown {
  if (!Array.isArray(tiers)) return undefined;
  return tiers.map((tier: unknown, i) => ({
    ...(isObject(tier) && tier),
    ...(i === tiers.length - 1 && { up_to: null }),
  }));
}

/** Charges with what is of their types alone. */
export function chargesOf(charges: unknown): Values[] | undefined {
  if (!Array.isArray(charges) || charges.length === 0) return undefined;
  return charges
    .filter(isObject)
    .map(({ usage_tiers, price, per, package_size, quantity, meter_id, prices, unmatched, ...rest }) => {
      const is_tiered = rest.type === "graduated" || rest.type === "volume";
      const has_prices = Array.isArray(prices) && prices.length > 0;
      if (rest.type === "fixed") return { ...rest, price, quantity };
      if (is_tiered) return { ...rest, meter_id, usage_tiers: withOpenEnd(usage_tiers) };
      return {
        ...rest,
        meter_id,
        price,
        per,
        ...(rest.type === "package" && { package_size }),
        ...(has_prices && { prices, unmatched }),
      };
    });
}

/** Without what is empty. */
function typed(values: Values): Values {
  const given = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== "" && value !== null,
  );
  return Object.fromEntries(given.map(([name, value]) => [name, cleaned(value)]));
}

/** A draft that begins as another model is. */
export function draftOf(model: BillingModel): Draft {
  const { billing_type, name, currency, description, usage_tiers, package_size, credit_plan } = model;
  return {
    billing_type,
    name: `${name}, copy`,
    currency,
    description,
    price: model.price.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 20 }),
    recurring_fee: model.recurring_fee,
    free_units: model.free_units,
    usage_tiers,
    ...(package_size !== null && { package_size }),
    ...(credit_plan !== null && { credit_plan }),
    ...(model.minimum_charge !== null && { minimum_charge: model.minimum_charge }),
    ...(model.maximum_charge !== null && { maximum_charge: model.maximum_charge }),
    charge_flat_on_zero: model.charge_flat_on_zero,
    ...(model.charges && { charges: model.charges.map(chargeInput) }),
    ...(model.commitment && { commitment: model.commitment }),
    ...(model.setup_fee !== undefined && { setup_fee: model.setup_fee }),
    ...(model.trial_days !== undefined && { trial_days: model.trial_days }),
    ...(model.fee_interval !== undefined && { fee_interval: model.fee_interval }),
    ...(model.fee_timing !== undefined && { fee_timing: model.fee_timing }),
    ...(model.meter_id !== undefined && { meter_id: model.meter_id }),
    ...(model.entitlements && { entitlements: model.entitlements }),
  };
}

type ChargeDraft = NonNullable<Draft["charges"]>[number];

/** A charge as it may be sent: without what is not of its type. */
export function chargeInput(charge: NonNullable<BillingModel["charges"]>[number]): ChargeDraft {
  const {
    code,
    name,
    type,
    meter_id,
    per,
    price,
    free_units,
    usage_tiers,
    package_size,
    prices,
    unmatched,
    quantity,
  } = charge;
  const priced = type === "graduated" || type === "volume" ? { usage_tiers } : { price };
  return {
    code,
    name,
    type,
    ...(meter_id !== null && { meter_id }),
    ...(per !== "1" && { per }),
    ...priced,
    ...(free_units !== "0" && { free_units }),
    ...(package_size !== null && { package_size }),
    ...(prices.length > 0 && {
      unmatched,
      prices: prices.map((matched) => ({
        match: matched.match,
        ...(matched.usage_tiers.length > 0 ? { usage_tiers: matched.usage_tiers } : { price: matched.price }),
      })),
    }),
    ...(quantity !== null && { quantity }),
  };
}
