import type { Entitlement } from "../../billing/features/entitlement_model.ts";
import type { SOURCES } from "./model.ts";

/** An entitlement that counts, and where it comes from. */
export type Granted = Entitlement & { readonly source: (typeof SOURCES)[number] };

/** The entitlements that count: the billing model's, but for features of which the subscription has its own. Decision 0234. */
export function grantedOf(
  model: readonly Entitlement[],
  own: readonly (readonly Entitlement[])[],
): Granted[] {
  const own_features = new Set(own.flat().map(({ feature }) => feature));
  return [
    ...model
      .filter(({ feature }) => !own_features.has(feature))
      .map((entitlement) => ({ ...entitlement, source: "billing_model" as const })),
    ...own.flat().map((entitlement) => ({ ...entitlement, source: "subscription" as const })),
  ];
}
