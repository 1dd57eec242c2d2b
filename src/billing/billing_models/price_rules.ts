import type { ErrorDetail } from "../../core/errors.ts";
import { compare, type Decimal } from "../../core/money.ts";
import { LIMITS } from "../limits.ts";
import type { UsageTier } from "./charge_model.ts";

// Rules of prices, which billing models and their charges share.

export function notNegative(path: string, value: Decimal | null): ErrorDetail[] {
  return value !== null && compare(value, "0") < 0 ? [{ path, message: "must be 0 or more" }] : [];
}

export function aboveZero(path: string, value: Decimal | null): ErrorDetail[] {
  return value !== null && compare(value, "0") <= 0 ? [{ path, message: "must be more than 0" }] : [];
}

/** Tiers ascend strictly, the last without a bound. Only upper bounds are stored: no gaps, no overlaps. */
export function tierRules(tiers: readonly UsageTier[], at: string): ErrorDetail[] {
  if (tiers.length > LIMITS.usage_tiers) {
    return [{ path: at, message: `must be at most ${LIMITS.usage_tiers} tiers` }];
  }
  return tiers.flatMap((tier, index) => {
    const path = `${at}/${index}`;
    return [
      ...upperBound(`${path}/up_to`, tier, tiers[index - 1], index === tiers.length - 1),
      ...notNegative(`${path}/unit_price`, tier.unit_price),
      ...notNegative(`${path}/flat_fee`, tier.flat_fee),
    ];
  });
}

function upperBound(
  path: string,
  tier: UsageTier,
  below: UsageTier | undefined,
  is_last: boolean,
): ErrorDetail[] {
  if (is_last) return tier.up_to === null ? [] : [{ path, message: "must be null: the last tier is open" }];
  if (tier.up_to === null) return [{ path, message: "must be a bound: only the last tier is open" }];
  const floor = below?.up_to ?? "0";
  return compare(tier.up_to, floor) > 0
    ? []
    : [{ path, message: `must be more than ${floor}, where the tier begins` }];
}
