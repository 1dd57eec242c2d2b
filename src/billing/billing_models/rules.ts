import { isDeepStrictEqual } from "node:util";
import { AppError, type ErrorDetail, placeOf } from "../../core/errors.ts";
import { type Decimal, readDecimal } from "../../core/money.ts";
import { BILLING_TYPES, billingTypeOf } from "./billing_types.ts";
import { modelFacts, validateModel } from "./price_terms.ts";
import type { BillingModel, CreditPlan, PricingInput, UsageTier } from "./model.ts";

/** The part of a billing model that decides what is charged. It is frozen once a subscription uses it. */
export type Pricing = Pick<
  BillingModel,
  | "billing_type_id"
  | "price"
  | "currency"
  | "recurring_fee"
  | "free_units"
  | "usage_tiers"
  | "package_size"
  | "minimum_charge"
  | "maximum_charge"
  | "charge_flat_on_zero"
  | "credit_plan"
>;

/** What holds where a new model's input is silent. */
export const UNPRICED: Omit<Pricing, "billing_type_id" | "currency"> = {
  price: 0,
  recurring_fee: "0",
  free_units: "0",
  usage_tiers: [],
  package_size: null,
  minimum_charge: null,
  maximum_charge: null,
  charge_flat_on_zero: false,
  credit_plan: null,
};

/**
 * The pricing that an input makes of the one before: fields left out stay, decimals become canonical text
 * and `price` a number. This is the only way from the wire to a row. Errors: invalid, naming every broken
 * rule. Decisions 0010, 0011.
 */
export function mergePricing(before: Pricing, input: PricingInput): Pricing {
  const refused: ErrorDetail[] = [];
  const merged = readPricing(before, input, (value, path, kind) => readOrNote(refused, value, path, kind));
  if (billingTypeOf(merged.billing_type_id) === undefined) {
    const known = BILLING_TYPES.map(({ id, billing_type }) => `${id} (${billing_type})`).join(", ");
    refused.push({ path: "/billing_type_id", message: `must be one of ${known}` });
  }
  // The rules across fields need readable ones.
  if (refused.length === 0) refused.push(...validateModel(modelFacts({ ...merged, id: 0, name: "" })));
  if (refused.length > 0) throw invalidModel(refused);
  return merged;
}

/** Whether a model with this pricing charges as it did before, in every case. */
export function hasPricing(model: Pricing, pricing: Pricing): boolean {
  return isDeepStrictEqual({ ...model, ...pricing }, model);
}

type Told = string | number;
type Read = (value: Told, path: string, kind?: "price") => Decimal;

function readPricing(before: Pricing, input: PricingInput, read: Read): Pricing {
  const kept = (told: Told | undefined, path: string, old: Decimal) =>
    told === undefined ? old : read(told, path);
  const keptOrNull = (told: Told | null | undefined, path: string, old: Decimal | null) =>
    told === undefined ? old : readOrNull(told, path, read);
  return {
    billing_type_id: input.billing_type_id ?? before.billing_type_id,
    price: input.price === undefined ? before.price : Number(read(input.price, "/price", "price")),
    currency: input.currency ?? before.currency,
    recurring_fee: kept(input.recurring_fee, "/recurring_fee", before.recurring_fee),
    free_units: kept(input.free_units, "/free_units", before.free_units),
    usage_tiers:
      input.usage_tiers?.map((tier, i) => readTier(tier, `/usage_tiers/${i}`, read)) ?? before.usage_tiers,
    package_size: keptOrNull(input.package_size, "/package_size", before.package_size),
    minimum_charge: keptOrNull(input.minimum_charge, "/minimum_charge", before.minimum_charge),
    maximum_charge: keptOrNull(input.maximum_charge, "/maximum_charge", before.maximum_charge),
    charge_flat_on_zero: input.charge_flat_on_zero ?? before.charge_flat_on_zero,
    credit_plan: input.credit_plan === undefined ? before.credit_plan : readPlan(input.credit_plan, read),
  };
}

function readTier(
  { up_to, unit_price, flat_fee = "0" }: { up_to: Told | null; unit_price: Told; flat_fee?: Told },
  path: string,
  read: Read,
): UsageTier {
  return {
    up_to: readOrNull(up_to, `${path}/up_to`, read),
    unit_price: read(unit_price, `${path}/unit_price`),
    flat_fee: read(flat_fee, `${path}/flat_fee`),
  };
}

function readPlan(plan: PricingInput["credit_plan"], read: Read): CreditPlan | null {
  if (!plan) return null;
  return { ...plan, overage_rate: readOrNull(plan.overage_rate ?? null, "/credit_plan/overage_rate", read) };
}

function readOrNull(told: Told | null, path: string, read: Read): Decimal | null {
  return told === null ? null : read(told, path);
}

/** Reads a decimal, or notes why it can't be read and goes on, so that one answer names them all. */
function readOrNote(refused: ErrorDetail[], value: Told, path: string, kind?: "price"): Decimal {
  try {
    return readDecimal(value, path, kind);
  } catch (error) {
    if (!(error instanceof AppError) || !error.details) throw error;
    refused.push(...error.details);
    return "0";
  }
}

function invalidModel(details: ErrorDetail[]): AppError {
  const [first, ...more] = details.map(({ path, message }) => `${placeOf(path)} ${message}`);
  const message = more.length === 0 ? `${first}` : `${first}; and ${more.length} more`;
  return new AppError("invalid", message, { details });
}
