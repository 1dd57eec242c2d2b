import type { ErrorDetail } from "../../core/errors.ts";
import { compare, type Decimal, toBig, isCurrency, isZero } from "../../core/money.ts";
import { BILLING_TYPES, type BillingType, billingTypeOf, type TypedField } from "./billing_types.ts";
import type { Charge, Commitment, UsageTier } from "./charge_model.ts";
import { type FeeInterval, feeRules, type FeeTiming } from "./fee_terms.ts";
import { rateCharges } from "./credit_rates.ts";
import type { CreditPlan } from "./model.ts";
import { aboveZero, notNegative, tierRules } from "./price_rules.ts";

/** The price terms that rating needs. Fields that the billing type does not take are unset. */
export interface PriceTerms {
  readonly id: number;
  readonly name: string;
  readonly billing_type: BillingType;
  readonly price: Decimal;
  readonly currency: string;
  readonly recurring_fee: Decimal;
  readonly free_units: Decimal;
  readonly usage_tiers: readonly UsageTier[];
  readonly package_size: Decimal | null;
  readonly minimum_charge: Decimal | null;
  readonly maximum_charge: Decimal | null;
  readonly charge_flat_on_zero: boolean;
  readonly credit_plan: CreditPlan | null;
  /** What the own type counts; null for all usage. */
  readonly meter_id: number | null;
  /** Those of a credit plan's rates, too. */
  readonly charges: readonly Charge[];
  readonly commitment: Commitment | null;
  /** Once, at a subscription's start. */
  readonly setup_fee: Decimal;
  /** How many days from a subscription's start cost nothing, unless it has its own. */
  readonly trial_days: number;
  /** How long the fee is for. */
  readonly fee_interval: FeeInterval;
  /** Whether the fee is billed when its interval begins. */
  readonly fee_timing: FeeTiming;
}

/** What is not there on the wire where it is not set. */
type Charging = Pick<
  PriceTerms,
  "meter_id" | "charges" | "commitment" | "setup_fee" | "trial_days" | "fee_interval" | "fee_timing"
>;

/**
 * The price terms of a billing model: the type by name, the price as an exact decimal. Errors: throws on a
 * billing_type_id that is not in `BILLING_TYPES`.
 */
export function priceTermsOf(
  row: Omit<PriceTerms, "billing_type" | "price" | keyof Charging> &
    Partial<Charging> & {
      readonly billing_type_id: number;
      readonly price: number;
    },
): PriceTerms {
  const billing_type = billingTypeOf(row.billing_type_id);
  if (billing_type === undefined) {
    throw new Error(`Cannot read billing model ${row.id}: there is no billing type ${row.billing_type_id}`);
  }
  const { meter_id = null, charges = [], commitment = null, setup_fee = "0", trial_days = 0 } = row;
  const { fee_interval = "month", fee_timing = "in_arrears" } = row;
  const optional = { meter_id, charges, commitment, setup_fee, trial_days, fee_interval, fee_timing };
  const all_charges = [...charges, ...rateCharges(row.credit_plan)];
  return { ...row, ...optional, charges: all_charges, billing_type, price: toBig(row.price).toFixed() };
}

/** The terms for usage so far: without minimums, and what is charged by the month. Decision 0244. */
export function withoutMinimums(model: PriceTerms): PriceTerms {
  const { commitment } = model;
  return {
    ...model,
    minimum_charge: null,
    commitment: commitment && { ...commitment, minimum: null },
    charges: model.charges.filter(({ type }) => type !== "fixed"),
  };
}

const freeTiers = (tiers: readonly UsageTier[]) =>
  tiers.map(({ up_to }) => ({ up_to, unit_price: "0", flat_fee: "0" }));

/** The terms with every price at 0: those of a trial. */
export function withoutPrices(model: PriceTerms): PriceTerms {
  const free = { price: "0", free_units: "0" };
  const { credit_plan } = model;
  return {
    ...model,
    ...free,
    recurring_fee: "0",
    usage_tiers: freeTiers(model.usage_tiers),
    minimum_charge: null,
    maximum_charge: null,
    commitment: null,
    credit_plan: credit_plan && {
      ...credit_plan,
      overage_rate: credit_plan.overage_rate === null ? null : "0",
    },
    charges: model.charges.map((charge) => ({
      ...charge,
      ...free,
      usage_tiers: freeTiers(charge.usage_tiers),
      prices: charge.prices.map((price) => ({
        ...price,
        ...free,
        usage_tiers: freeTiers(price.usage_tiers),
      })),
    })),
  };
}

const MAX_MONTHLY_CREDITS = 1_000_000_000_000;

/**
 * Validates a billing model across its fields; decimals come from `readDecimal`. Returns every broken rule with its
 * JSON pointer.
 */
export function validateModel(model: PriceTerms): ErrorDetail[] {
  const { usage_tiers, credit_plan } = model;
  return [
    ...(isCurrency(model.currency)
      ? []
      : [{ path: "/currency", message: "must be an ISO 4217 code such as EUR" }]),
    ...fieldsOfType(model),
    ...feeRules(model),
    ...notNegative("/price", model.price),
    ...notNegative("/recurring_fee", model.recurring_fee),
    ...notNegative("/setup_fee", model.setup_fee),
    ...notNegative("/free_units", model.free_units),
    ...aboveZero("/package_size", model.package_size),
    ...tierRules(usage_tiers, "/usage_tiers"),
    ...chargeLimits(model),
    ...(credit_plan === null ? [] : creditPlanRules(credit_plan)),
  ];
}

/** Whether a model sets a field, by field. */
const IS_SET: Readonly<Record<TypedField, (model: PriceTerms) => boolean>> = {
  recurring_fee: (model) => !isZero(model.recurring_fee),
  free_units: (model) => !isZero(model.free_units),
  usage_tiers: (model) => model.usage_tiers.length > 0,
  package_size: (model) => model.package_size !== null,
  minimum_charge: (model) => model.minimum_charge !== null,
  maximum_charge: (model) => model.maximum_charge !== null,
  charge_flat_on_zero: (model) => model.charge_flat_on_zero,
  credit_plan: (model) => model.credit_plan !== null,
};

function fieldsOfType(model: PriceTerms): ErrorDetail[] {
  const { billing_type } = model;
  const rule = BILLING_TYPES.find((candidate) => candidate.billing_type === billing_type);
  const { needs, optional } = rule ?? { needs: [], optional: [] };
  const missing = needs
    .filter((field) => !IS_SET[field](model))
    .map((field) => ({ path: `/${field}`, message: `is required by billing type ${billing_type}` }));
  const allowed: readonly string[] = [...needs, ...optional];
  const takes = allowed.length === 0 ? "none of the optional price fields" : allowed.join(", ");
  const refused = Object.entries(IS_SET)
    .filter(([field, isSet]) => !allowed.includes(field) && isSet(model))
    .map(([field]) => ({
      path: `/${field}`,
      message: `must be left out: billing type ${billing_type} takes ${takes}`,
    }));
  return [...missing, ...refused];
}

function chargeLimits({ minimum_charge, maximum_charge }: PriceTerms): ErrorDetail[] {
  const crossed =
    minimum_charge !== null && maximum_charge !== null && compare(minimum_charge, maximum_charge) > 0
      ? [{ path: "/minimum_charge", message: `must be at most the maximum_charge, ${maximum_charge}` }]
      : [];
  return [
    ...notNegative("/minimum_charge", minimum_charge),
    ...notNegative("/maximum_charge", maximum_charge),
    ...crossed,
  ];
}

function creditPlanRules({ monthly_credits, overage_rate }: CreditPlan): ErrorDetail[] {
  const whole =
    Number.isSafeInteger(monthly_credits) && monthly_credits >= 0 && monthly_credits <= MAX_MONTHLY_CREDITS;
  const message = `must be a whole number from 0 to ${MAX_MONTHLY_CREDITS}`;
  return [
    ...(whole ? [] : [{ path: "/credit_plan/monthly_credits", message }]),
    ...notNegative("/credit_plan/overage_rate", overage_rate),
  ];
}

/** The ids of the meters that models name. */
export function namedMeters(
  models: Iterable<Pick<PriceTerms, "meter_id" | "charges" | "credit_plan">>,
): number[] {
  const named = [...models].flatMap(({ meter_id, charges, credit_plan }) => [
    meter_id,
    ...charges.map((charge) => charge.meter_id),
    ...(credit_plan?.rates ?? []).map((rate) => rate.meter_id),
  ]);
  return [...new Set(named.filter((id) => id !== null))];
}
