import type { Charge } from "./charge_model.ts";
import type { CreditPlan } from "./model.ts";

// Credits for what meters count. Decision 0251.

const PREFIX = "credits:";

/** The code of the lines of a rate; no charge can have it. */
export function rateCode(meter_id: number): string {
  return `${PREFIX}${meter_id}`;
}

/** Whether a charge is what a rate counts. */
export function isOfRate({ code }: Pick<Charge, "code">): boolean {
  return code.startsWith(PREFIX);
}

/** What the rates of a plan count, as charges at 0: so it is measured, shown and proved as theirs is. */
export function rateCharges(plan: CreditPlan | null): Charge[] {
  return (plan?.rates ?? []).map(({ meter_id, credits }) => ({
    code: rateCode(meter_id),
    name: `usage of meter ${meter_id} at ${credits} credits`,
    type: "per_unit",
    meter_id,
    per: "1",
    price: "0",
    free_units: "0",
    usage_tiers: [],
    package_size: null,
    charge_flat_on_zero: false,
    prices: [],
    unmatched: "price",
    quantity: null,
  }));
}
