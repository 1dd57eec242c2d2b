import type { ErrorDetail } from "../../core/errors.ts";
import type { FieldErrors } from "../../core/field_errors.ts";
import { compare, type Decimal, isZero } from "../../core/money.ts";
import type { Meter } from "../meters/model.ts";
import type {
  Charge,
  ChargeInput,
  ChargeType,
  Commitment,
  MatchedPrice,
  PriceInput,
  UsageTier,
} from "./charge_model.ts";
import type { CreditPlan } from "./model.ts";
import { aboveZero, notNegative, tierRules } from "./price_rules.ts";

/** The meters that a model names, by id. */
export type MetersById = ReadonlyMap<number, Pick<Meter, "group_keys" | "aggregation">>;

type UnitPrice = Omit<MatchedPrice, "match">;

/** Reads the charges of a request; what can't be read goes into `errors`. */
export function readCharges(inputs: readonly ChargeInput[], errors: FieldErrors): Charge[] {
  return inputs.map((input, i) => readCharge(input, `/charges/${i}`, errors));
}

/** Reads a charge; what can't be read goes into `errors`. */
export function readCharge(input: ChargeInput, path: string, errors: FieldErrors): Charge {
  const { code, name, type, meter_id = null, per, charge_flat_on_zero = false } = input;
  const { prices = [], unmatched = "price", quantity } = input;
  return {
    code,
    name,
    type,
    meter_id,
    per: per === undefined ? "1" : errors.decimal(per, `${path}/per`),
    ...readPrice(input, path, errors),
    charge_flat_on_zero,
    prices: prices.map(({ match, ...price }, position) => ({
      match,
      ...readPrice(price, `${path}/prices/${position}`, errors),
    })),
    unmatched,
    quantity: readQuantity(type, quantity, path, errors),
  };
}

function readQuantity(
  type: ChargeType,
  given: ChargeInput["quantity"],
  path: string,
  errors: FieldErrors,
): Decimal | null {
  if (given === undefined || given === null) return type === "fixed" ? "1" : null;
  return errors.decimal(given, `${path}/quantity`);
}

function readPrice(
  { price = "0", free_units = "0", usage_tiers = [], package_size = null }: PriceInput,
  path: string,
  errors: FieldErrors,
): UnitPrice {
  return {
    price: errors.decimal(price, `${path}/price`),
    free_units: errors.decimal(free_units, `${path}/free_units`),
    usage_tiers: readTiers(usage_tiers, `${path}/usage_tiers`, errors),
    package_size: package_size === null ? null : errors.decimal(package_size, `${path}/package_size`),
  };
}

/** Reads tiers; a flat fee that is left out is 0. */
export function readTiers(
  tiers: NonNullable<PriceInput["usage_tiers"]>,
  path: string,
  errors: FieldErrors,
): UsageTier[] {
  return tiers.map(({ up_to, unit_price, flat_fee = "0" }, i) => ({
    up_to: up_to === null ? null : errors.decimal(up_to, `${path}/${i}/up_to`),
    unit_price: errors.decimal(unit_price, `${path}/${i}/unit_price`),
    flat_fee: errors.decimal(flat_fee, `${path}/${i}/flat_fee`),
  }));
}

/** The broken rules of charges and what they share. */
export function chargeRules(charges: readonly Charge[], meters: MetersById): ErrorDetail[] {
  const codes = new Set<string>();
  return charges.flatMap((charge, i) => {
    const path = `/charges/${i}`;
    const is_repeated = codes.has(charge.code);
    codes.add(charge.code);
    return [
      ...(is_repeated
        ? [{ path: `${path}/code`, message: "must be another: an earlier charge has it" }]
        : []),
      ...rulesOfCharge(charge, path, meters),
    ];
  });
}

/** The broken rules of one charge. */
export function rulesOfCharge(charge: Charge, path: string, meters: MetersById): ErrorDetail[] {
  return [
    ...meterRules(charge, path, meters),
    ...typeRules(charge, path),
    ...priceRules(charge, charge.type, path),
    ...charge.prices.flatMap((price, position) =>
      priceRules(price, charge.type, `${path}/prices/${position}`),
    ),
    ...matchRules(charge, path, meters),
  ];
}

/** The broken rules of a commitment. */
export function commitmentRules(commitment: Commitment | null): ErrorDetail[] {
  if (commitment === null) return [];
  const { minimum, maximum } = commitment;
  const path = "/commitment";
  if (minimum === null && maximum === null)
    return [{ path, message: "must have a minimum or a maximum, or be null" }];
  const is_crossed = minimum !== null && maximum !== null && compare(minimum, maximum) > 0;
  return [
    ...notNegative(`${path}/minimum`, minimum),
    ...notNegative(`${path}/maximum`, maximum),
    ...(is_crossed ? [{ path: `${path}/minimum`, message: `must be at most the maximum, ${maximum}` }] : []),
  ];
}

function meterRules({ type, meter_id }: Charge, path: string, meters: MetersById): ErrorDetail[] {
  const at = `${path}/meter_id`;
  if (type === "fixed")
    return meter_id === null
      ? []
      : [{ path: at, message: "must be left out: a fixed charge counts nothing" }];
  if (meter_id === null) return [{ path: at, message: `is required by type ${type}` }];
  return meters.has(meter_id) ? [] : [unknownMeter(at)];
}

const CREDITED: readonly Meter["aggregation"][] = ["count", "sum"];

/** Only what adds up over a month, whatever plans it is cut by, can take credits. */
export function canTakeCredits({ aggregation }: Pick<Meter, "aggregation">): boolean {
  return CREDITED.includes(aggregation);
}

/** Returns every broken rule of the rates of a credit plan. */
export function creditRateRules(plan: CreditPlan | null, meters: MetersById): ErrorDetail[] {
  const { rates = [], credit_consumption } = plan ?? {};
  if (rates.length > 0 && credit_consumption !== "per_unit")
    return [
      {
        path: "/credit_plan/rates",
        message: `must be left out: credit_consumption ${credit_consumption} takes one credit a call`,
      },
    ];
  const earlier = new Set<number>();
  return rates.flatMap(({ meter_id, credits }, i) => {
    const path = `/credit_plan/rates/${i}`;
    const meter = meters.get(meter_id);
    const is_repeated = earlier.has(meter_id);
    earlier.add(meter_id);
    return [
      ...notNegative(`${path}/credits`, credits),
      ...(meter === undefined ? [unknownMeter(`${path}/meter_id`)] : []),
      ...(meter !== undefined && !canTakeCredits(meter)
        ? [{ path: `${path}/meter_id`, message: `must name a meter of ${CREDITED.join(" or ")}` }]
        : []),
      ...(is_repeated
        ? [{ path: `${path}/meter_id`, message: "must be another meter: an earlier rate names it" }]
        : []),
    ];
  });
}

export function unknownMeter(path: string): ErrorDetail {
  return { path, message: "names no meter of this company" };
}

/** What only some types take. */
function typeRules(
  { type, per, prices, unmatched, quantity, ...charge }: Charge,
  path: string,
): ErrorDetail[] {
  const refuse = (field: string, is_set: boolean) =>
    is_set ? [{ path: `${path}/${field}`, message: `must be left out: type ${type} does not take it` }] : [];
  const has_per = compare(per, "1") !== 0;
  const is_tiered = type === "graduated" || type === "volume";
  return [
    ...aboveZero(`${path}/per`, per),
    ...refuse("per", has_per && (type === "package" || type === "fixed")),
    ...refuse("prices", type === "fixed" && prices.length > 0),
    ...refuse("unmatched", type === "fixed" && unmatched === "free"),
    ...refuse("quantity", type !== "fixed" && quantity !== null),
    ...refuse("charge_flat_on_zero", !is_tiered && charge.charge_flat_on_zero),
    ...notNegative(`${path}/quantity`, quantity),
  ];
}

/** A price for units has the fields of the charge's type, and no others. */
function priceRules(price: UnitPrice, type: ChargeType, path: string): ErrorDetail[] {
  const is_tiered = type === "graduated" || type === "volume";
  const takes_free = type === "per_unit" || type === "package";
  const rule = (field: string, is_set: boolean, is_taken: boolean, is_needed = is_taken) => {
    if (is_set && !is_taken)
      return [{ path: `${path}/${field}`, message: `must be left out: type ${type} does not take it` }];
    if (!is_set && is_needed) return [{ path: `${path}/${field}`, message: `is required by type ${type}` }];
    return [];
  };
  return [
    ...rule("price", !isZero(price.price), !is_tiered, false),
    ...rule("free_units", !isZero(price.free_units), takes_free, false),
    ...rule("usage_tiers", price.usage_tiers.length > 0, is_tiered),
    ...rule("package_size", price.package_size !== null, type === "package"),
    ...notNegative(`${path}/price`, price.price),
    ...notNegative(`${path}/free_units`, price.free_units),
    ...aboveZero(`${path}/package_size`, price.package_size),
    ...tierRules(price.usage_tiers, `${path}/usage_tiers`),
  ];
}

/** A match names group keys of the meter, and differs from the others. */
function matchRules({ meter_id, prices }: Charge, path: string, meters: MetersById): ErrorDetail[] {
  const group_keys = (meter_id === null ? undefined : meters.get(meter_id))?.group_keys ?? [];
  const seen = new Set<string>();
  return prices.flatMap(({ match }, i) => {
    const at = `${path}/prices/${i}/match`;
    const entries = Object.entries(match).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const text = JSON.stringify(entries);
    const is_repeated = seen.has(text);
    seen.add(text);
    if (entries.length === 0)
      return [{ path: at, message: "must have a key: what none fits has the charge's price" }];
    if (is_repeated) return [{ path: at, message: "must be another: an earlier price has it" }];
    const unknown = entries.find(([key]) => !group_keys.includes(key));
    if (unknown === undefined || meter_id === null || !meters.has(meter_id)) return [];
    const allowed = group_keys.length === 0 ? "none" : group_keys.join(", ");
    return [
      { path: at, message: `must name group_keys of meter ${meter_id} (${allowed}), not ${unknown[0]}` },
    ];
  });
}
