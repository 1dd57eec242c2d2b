import type { Json } from "../../support/harness.ts";

export const JANUARY = { started_at: "2024-01-01T00:00:00Z" };
export const NOW = "2024-03-15T10:00:00.000Z";

/** A credit plan as it is sent: 31 EUR a month, 0.02 for each credit more. */
export function plan(monthly_credits: number, given: Json = {}, plan_given: Json = {}): Json {
  const credit_plan = {
    monthly_credits,
    credit_consumption: "per_unit",
    overage_rate: "0.02",
    ...plan_given,
  };
  return { billing_type_id: 6, price: 31, name: `Plan ${monthly_credits}`, credit_plan, ...given };
}
