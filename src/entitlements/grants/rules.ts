import type { Entitlement } from "../../billing/features/entitlement_model.ts";
import { compare, type Decimal, multiply, sum } from "../../core/money.ts";
import type { SOURCES } from "./model.ts";

/** An entitlement that counts, and where it comes from. */
export type Granted = Entitlement & { readonly source: (typeof SOURCES)[number] };

/** What an add-on grants, and how many of it are booked. */
export interface BookedGrants {
  readonly quantity: Decimal;
  readonly entitlements: readonly Entitlement[];
}

/**
 * The entitlements that count: the billing model's, but for features of which the subscription has its own; and what the
 * booked add-ons add. Decision 0234.
 */
export function grantedOf(
  model: readonly Entitlement[],
  own: readonly (readonly Entitlement[])[],
  booked: readonly BookedGrants[],
): Granted[] {
  const own_features = new Set(own.flat().map(({ feature }) => feature));
  const granted: Granted[] = [
    ...model
      .filter(({ feature }) => !own_features.has(feature))
      .map((entitlement) => ({ ...entitlement, source: "billing_model" as const })),
    ...own.flat().map((entitlement) => ({ ...entitlement, source: "subscription" as const })),
  ];
  for (const { quantity, entitlements } of booked)
    for (const entitlement of entitlements) if (entitlement.enabled) add(granted, entitlement, quantity);
  return granted;
}

/** Orders quantities, the largest first, quickly: a window may have 10,000 groups, and others wait meanwhile. */
export function largestFirst(a: Decimal, b: Decimal): number {
  // The nearest doubles are in the same order, or equal.
  return Number(b) - Number(a) || (a === b ? 0 : compare(b, a));
}

/**
 * Adds to the limit of the same window and group key. What is granted otherwise with other limits has none of that window:
 * an add-on never takes away. A feature that is not granted otherwise is granted by the add-on, unless the subscription's
 * own entitlement switches it off.
 */
function add(granted: Granted[], entitlement: Entitlement, quantity: Decimal): void {
  const { feature, window, per } = entitlement;
  const is_off = granted.some(
    (one) => one.feature === feature && one.source === "subscription" && !one.enabled,
  );
  if (is_off) return;
  const limit = entitlement.limit === null ? null : multiply(entitlement.limit, quantity);
  const enabled = granted.filter((one) => one.enabled && one.feature === feature);
  const same = enabled.find((one) => one.window === window && one.per === per);
  if (same) {
    const both = same.limit === null || limit === null ? null : sum([same.limit, limit]);
    granted[granted.indexOf(same)] = { ...same, limit: both };
  } else if (enabled.every(({ source }) => source === "add_on")) {
    granted.push({ ...entitlement, limit, source: "add_on" });
  }
}
