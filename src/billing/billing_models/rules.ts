import { isDeepStrictEqual } from "node:util";
import { invalid } from "../../core/errors.ts";
import { FieldErrors } from "../../core/field_errors.ts";
import type { Decimal } from "../../core/money.ts";
import { BILLING_TYPES, billingTypeOf } from "./billing_types.ts";
import { priceTermsOf, validateModel } from "./price_terms.ts";
import type { Commitment } from "./charge_model.ts";
import {
  chargeRules,
  commitmentRules,
  creditRateRules,
  type MetersById,
  readCharges,
  readTiers,
  unknownMeter,
} from "./charge_rules.ts";
import type { BillingModel, CreditPlan, PricingInput, StoredBillingModel } from "./model.ts";

const PRICING_FIELDS = [
  "billing_type_id",
  "price",
  "currency",
  "recurring_fee",
  "free_units",
  "usage_tiers",
  "package_size",
  "minimum_charge",
  "maximum_charge",
  "charge_flat_on_zero",
  "credit_plan",
  "meter_id",
  "charges",
  "commitment",
  "setup_fee",
  "trial_days",
  "fee_interval",
  "fee_timing",
] as const satisfies readonly (keyof StoredBillingModel)[];

/** The fields of a billing model that decide what is charged. They are frozen once a subscription uses it. */
export type Pricing = Pick<StoredBillingModel, (typeof PRICING_FIELDS)[number]>;

/** The defaults of a new model's price fields, and those of an old one that has no charges. */
export const DEFAULT_PRICING: Omit<Pricing, "billing_type_id" | "currency"> = {
  price: 0,
  recurring_fee: "0",
  free_units: "0",
  usage_tiers: [],
  package_size: null,
  minimum_charge: null,
  maximum_charge: null,
  charge_flat_on_zero: false,
  credit_plan: null,
  meter_id: null,
  charges: [],
  commitment: null,
  setup_fee: "0",
  trial_days: 0,
  fee_interval: "month",
  fee_timing: "in_arrears",
};

/**
 * Merges a request's price fields into the current pricing: fields left out stay, decimals become canonical text and
 * `price` a number. Errors: invalid, naming every broken rule. Decisions 0010, 0011.
 */
export function mergePricing(before: Pricing, input: PricingInput, meters: MetersById): Pricing {
  const errors = new FieldErrors();
  const merged = readPricing(before, input, errors);
  if (billingTypeOf(merged.billing_type_id) === undefined) {
    const type_list = BILLING_TYPES.map(({ id, billing_type }) => `${id} (${billing_type})`).join(", ");
    errors.add({ path: "/billing_type_id", message: `must be one of ${type_list}` });
  }
  // Rules across fields apply only once each field can be read.
  errors.refuse();
  errors.add(...validateModel(priceTermsOf({ ...merged, id: 0, name: "" })));
  const { meter_id } = merged;
  if (meter_id !== null && !meters.has(meter_id)) errors.add(unknownMeter("/meter_id"));
  if (meter_id !== null && billingTypeOf(merged.billing_type_id) === "flat")
    errors.add({ path: "/meter_id", message: "must be left out: billing type flat counts no usage" });
  errors.add(
    ...chargeRules(merged.charges, meters),
    ...commitmentRules(merged.commitment),
    ...creditRateRules(merged.credit_plan, meters),
  );
  errors.refuse();
  return merged;
}

/** Whether a model with this pricing always charges as before. */
export function isSamePrice(model: Pricing, pricing: Pricing): boolean {
  return PRICING_FIELDS.every((field) => isDeepStrictEqual(model[field], pricing[field]));
}

/** Errors: invalid, at the path that names the model, where it is what usage costs the company. Decision 0249. */
export function checkPurpose(path: string, purpose: BillingModel["purpose"]): void {
  if (purpose === "cost")
    throw invalid(path, "names a billing model of purpose cost, which no subscription may take");
}

/**
 * Errors: invalid, at the path that names the model, where it was made for another client, or is what usage costs the
 * company. Decisions 0245, 0249.
 */
export function checkClient(
  path: string,
  { for_client_id = null, purpose }: Pick<BillingModel, "for_client_id" | "purpose">,
  client_id: number,
): void {
  checkPurpose(path, purpose);
  if (for_client_id !== null && for_client_id !== client_id) {
    throw invalid(path, "names a billing model that was made for another client");
  }
}

type PriceInput = string | number;

function readPricing(before: Pricing, input: PricingInput, errors: FieldErrors): Pricing {
  const orOld = (given: PriceInput | undefined, path: string, old: Decimal) =>
    given === undefined ? old : errors.decimal(given, path);
  const orOldOrNull = (given: PriceInput | null | undefined, path: string, old: Decimal | null) =>
    given === undefined ? old : readOrNull(given, path, errors);
  return {
    billing_type_id: input.billing_type_id ?? before.billing_type_id,
    price: input.price === undefined ? before.price : Number(errors.decimal(input.price, "/price", "price")),
    currency: input.currency ?? before.currency,
    recurring_fee: orOld(input.recurring_fee, "/recurring_fee", before.recurring_fee),
    free_units: orOld(input.free_units, "/free_units", before.free_units),
    usage_tiers: input.usage_tiers
      ? readTiers(input.usage_tiers, "/usage_tiers", errors)
      : before.usage_tiers,
    package_size: orOldOrNull(input.package_size, "/package_size", before.package_size),
    minimum_charge: orOldOrNull(input.minimum_charge, "/minimum_charge", before.minimum_charge),
    maximum_charge: orOldOrNull(input.maximum_charge, "/maximum_charge", before.maximum_charge),
    charge_flat_on_zero: input.charge_flat_on_zero ?? before.charge_flat_on_zero,
    credit_plan: input.credit_plan === undefined ? before.credit_plan : readPlan(input.credit_plan, errors),
    meter_id: input.meter_id === undefined ? before.meter_id : input.meter_id,
    charges: input.charges ? readCharges(input.charges, errors) : before.charges,
    commitment: input.commitment === undefined ? before.commitment : readCommitment(input.commitment, errors),
    setup_fee: orOld(input.setup_fee, "/setup_fee", before.setup_fee),
    trial_days: input.trial_days ?? before.trial_days,
    fee_interval: input.fee_interval ?? before.fee_interval,
    fee_timing: input.fee_timing ?? before.fee_timing,
  };
}

function readPlan(plan: PricingInput["credit_plan"], errors: FieldErrors): CreditPlan | null {
  if (!plan) return null;
  const { rates, ...given } = plan;
  const overage_rate = readOrNull(plan.overage_rate ?? null, "/credit_plan/overage_rate", errors);
  if (rates === undefined) return { ...given, overage_rate };
  const read = rates.map(({ meter_id, credits }, i) => ({
    meter_id,
    credits: errors.decimal(credits, `/credit_plan/rates/${i}/credits`),
  }));
  return { ...given, overage_rate, rates: read };
}

function readCommitment(given: PricingInput["commitment"], errors: FieldErrors): Commitment | null {
  if (!given) return null;
  return {
    minimum: readOrNull(given.minimum ?? null, "/commitment/minimum", errors),
    maximum: readOrNull(given.maximum ?? null, "/commitment/maximum", errors),
    ...(given.interval === "year" ? { interval: given.interval } : {}),
  };
}

function readOrNull(input: PriceInput | null, path: string, errors: FieldErrors): Decimal | null {
  return input === null ? null : errors.decimal(input, path);
}
