// What the model of charges is asked about: plans as they are sold. Decimals are text, as they are sent.

import type { MeterTerms } from "../../../src/usage_store/meter.ts";

export interface Tier {
  up_to: string | null;
  unit_price: string;
  flat_fee: string;
}

/** What units cost, by a type. */
export interface UnitTerms {
  price: string;
  free_units: string;
  tiers: readonly Tier[];
  flat_on_zero: boolean;
  package_size: string;
}

export type UnitType = "per_unit" | "graduated" | "volume" | "package";

export interface SoldCharge extends UnitTerms {
  code: string;
  type: UnitType | "fixed";
  meter: SoldMeter | null;
  per: string;
  prices: readonly (UnitTerms & { match: Record<string, string> })[];
  unmatched_is_free: boolean;
  quantity: string;
}

export interface SoldMeter extends MeterTerms {
  id: number;
  group_keys: readonly string[];
}

export interface SoldPlan extends UnitTerms {
  id: number;
  type: UnitType | "flat" | "credit";
  /** A month's fee. */
  fee: string;
  minimum: string | null;
  maximum: string | null;
  credits: number;
  /** Whether events take credits, not units. */
  by_call: boolean;
  overage_rate: string | null;
  /** What the own type counts; null for all usage. */
  meter: SoldMeter | null;
  charges: readonly SoldCharge[];
  /** Credits that units of meters take, whole ones, in place of one for each unit of usage. */
  rates: readonly { meter: SoldMeter; credits: string }[];
  commitment: { minimum: string | null; maximum: string | null; interval: "month" | "year" } | null;
}

export const NO_TERMS: UnitTerms = {
  price: "0",
  free_units: "0",
  tiers: [],
  flat_on_zero: false,
  package_size: "1",
};

/** The charges of a plan, and at a price of 0 what the rates of its credits count. */
export function chargesOf({ charges, rates }: SoldPlan): SoldCharge[] {
  const of_rates = rates.map(({ meter }): SoldCharge => {
    const none = { per: "1", prices: [], unmatched_is_free: false, quantity: "1" };
    return { ...NO_TERMS, ...none, code: `credits:${meter.id}`, type: "per_unit", meter };
  });
  return [...charges, ...of_rates];
}

const TYPES = { flat: 1, per_unit: 2, graduated: 3, volume: 4, package: 5, credit: 6 } as const;

/** A plan as POST /billing-models takes it. */
export function planOnTheWire(plan: SoldPlan, name: string, currency: string) {
  const { type, fee, minimum, maximum, meter, charges, commitment } = plan;
  const is_tiered = type === "graduated" || type === "volume";
  const has_unit_price = type === "per_unit" || type === "package";
  return {
    name,
    description: "",
    currency,
    billing_type_id: TYPES[type],
    price: has_unit_price ? plan.price : fee,
    ...(has_unit_price ? { recurring_fee: fee, free_units: plan.free_units } : {}),
    ...(type === "package" ? { package_size: plan.package_size } : {}),
    ...(is_tiered ? { usage_tiers: [...plan.tiers], charge_flat_on_zero: plan.flat_on_zero } : {}),
    ...(minimum === null ? {} : { minimum_charge: minimum }),
    ...(maximum === null ? {} : { maximum_charge: maximum }),
    ...(type === "credit" ? { credit_plan: creditPlan(plan) } : {}),
    ...(meter === null ? {} : { meter_id: meter.id }),
    ...(charges.length === 0 ? {} : { charges: charges.map(chargeOnTheWire) }),
    ...(commitment === null ? {} : { commitment }),
  };
}

function creditPlan({ credits, by_call, overage_rate, rates }: SoldPlan) {
  const credit_consumption = by_call ? ("per_api_call" as const) : ("per_unit" as const);
  const plan = { monthly_credits: credits, credit_consumption, overage_rate };
  const of_meters = rates.map((rate) => ({ meter_id: rate.meter.id, credits: rate.credits }));
  return { ...plan, ...(of_meters.length === 0 ? {} : { rates: of_meters }) };
}

function chargeOnTheWire(charge: SoldCharge) {
  const { code, type, meter, per, prices, unmatched_is_free, flat_on_zero, quantity } = charge;
  const name = `Charge ${code}`;
  if (type === "fixed") return { code, name, type, price: charge.price, quantity };
  const terms = (own: UnitTerms) => termsOnTheWire(type, own);
  return {
    code,
    name,
    type,
    meter_id: meter?.id ?? 0,
    ...(type === "package" ? {} : { per }),
    ...terms(charge),
    ...(flat_on_zero ? { charge_flat_on_zero: true } : {}),
    ...(prices.length === 0 ? {} : { prices: prices.map(({ match, ...own }) => ({ match, ...terms(own) })) }),
    ...(unmatched_is_free ? { unmatched: "free" as const } : {}),
  };
}

function termsOnTheWire(type: UnitType, { price, free_units, tiers, package_size }: UnitTerms) {
  if (type === "graduated" || type === "volume") return { usage_tiers: [...tiers] };
  return { price, free_units, ...(type === "package" ? { package_size } : {}) };
}
