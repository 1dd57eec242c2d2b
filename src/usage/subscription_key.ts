import { Type } from "@sinclair/typebox";

/** The subscription of an event on the wire: `<company_id>:<external_subscription_id>`. */
export const SubscriptionKey = Type.String({ examples: ["1:acme-api"] });

/** The subscription's key on the wire. */
export function compositeKey(company_id: number, external_subscription_id: string): string {
  return `${company_id}:${external_subscription_id}`;
}

/** The external id in a composite key, or undefined when it is no key of this company. */
export function externalIdOf(company_id: number, composite_key: string): string | undefined {
  const prefix = compositeKey(company_id, "");
  return composite_key.startsWith(prefix) ? composite_key.slice(prefix.length) : undefined;
}
