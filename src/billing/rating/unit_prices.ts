import {
  atLeastZero,
  ceilQuotient,
  compare,
  type Decimal,
  isZero,
  min,
  multiply,
  subtract,
  sum,
} from "../../core/money.ts";
import type { PriceTerms } from "../billing_models/price_terms.ts";

// The formulas, exact: nothing is rounded here. Units are never negative.

/** What units cost: `price` of a unit or package, or tiers. */
export type UnitPrice = Pick<
  PriceTerms,
  "price" | "free_units" | "usage_tiers" | "package_size" | "charge_flat_on_zero"
>;

/** A field that the type of a price needs: validation accepts none without it. `of`: `billing model 7: package`. */
export function requireField<T>(value: T | null | undefined, field: string, of: string): T {
  if (value !== null && value !== undefined) return value;
  throw new Error(`Cannot rate ${of} without ${field}`);
}

/** max(0, units − free_units) × price. */
function perUnitCharge(terms: UnitPrice, units: Decimal): Decimal {
  return multiply(atLeastZero(subtract(units, terms.free_units)), terms.price);
}

/** ceil(max(0, units − free_units) / package_size) × price. */
function packageCharge(terms: UnitPrice, units: Decimal, of: string): Decimal {
  const size = requireField(terms.package_size, "package_size", of);
  return multiply(ceilQuotient(atLeastZero(subtract(units, terms.free_units)), size), terms.price);
}

/** Each tier's units × its unit_price, plus its flat_fee when any unit falls in it. */
function graduatedCharge(terms: UnitPrice, units: Decimal, of: string): Decimal {
  if (isZero(units)) return zeroCharge(terms, of);
  const reached = terms.usage_tiers
    .map((tier, index) => ({ ...tier, above: terms.usage_tiers[index - 1]?.up_to ?? "0" }))
    .filter(({ above }) => compare(units, above) > 0);
  return sum(
    reached.flatMap(({ above, up_to, unit_price, flat_fee }) => {
      const units_in_tier = subtract(up_to === null ? units : min(units, up_to), above);
      return [multiply(units_in_tier, unit_price), flat_fee];
    }),
  );
}

/** All units at the tier that the total falls in, plus its flat_fee. */
function volumeCharge(terms: UnitPrice, units: Decimal, of: string): Decimal {
  if (isZero(units)) return zeroCharge(terms, of);
  const tier = terms.usage_tiers.find(({ up_to }) => up_to === null || compare(units, up_to) <= 0);
  const { unit_price, flat_fee } = requireField(tier, "an open tier", of);
  return sum([multiply(units, unit_price), flat_fee]);
}

/** Zero units charge nothing, or the first tier's flat_fee with charge_flat_on_zero. */
function zeroCharge(terms: UnitPrice, of: string): Decimal {
  return terms.charge_flat_on_zero ? requireField(terms.usage_tiers[0], "tiers", of).flat_fee : "0";
}

/** What units cost, by how they are priced; `of` is what an error names. */
export const UNIT_CHARGES = {
  per_unit: perUnitCharge,
  graduated: graduatedCharge,
  volume: volumeCharge,
  package: packageCharge,
} as const;

/** A price that charges no flat fee: where nothing owns a day there is none. */
export function withoutFlatFees<T extends Pick<UnitPrice, "usage_tiers">>(terms: T): T {
  return { ...terms, usage_tiers: terms.usage_tiers.map((tier) => ({ ...tier, flat_fee: "0" })) };
}
