import type { Context } from "../../../src/app/context.ts";
import { call } from "../../../src/app/operation.ts";
import { CreateBillingModel } from "../../../src/billing/billing_models/model.ts";
import { createBillingModel } from "../../../src/billing/billing_models/service.ts";
import { CreateMeter } from "../../../src/billing/meters/model.ts";
import { createMeter } from "../../../src/billing/meters/service.ts";
import { decode } from "../../../src/core/validate.ts";
import type { Dice } from "../../support/dice.ts";
import { randomMeter, randomPlan } from "../rating/random_plans.ts";
import { planOnTheWire, type SoldMeter, type SoldPlan } from "../rating/sold_plans.ts";

/**
 * Adds random meters, and random plans that count by them, to a company. Returns the plans by id. `yearly`: their
 * commitments are to a year.
 */
export async function sellPlans(
  context: () => Context,
  roll: Dice,
  of: { currency: string; meters: number; plans: number; yearly: boolean },
): Promise<Map<number, SoldPlan>> {
  const meters: SoldMeter[] = [];
  for (let i = 0; i < of.meters; i++) {
    const meter = randomMeter(roll);
    const input = decode(CreateMeter, { code: `meter_${i}`, name: `Meter ${i}`, ...meter });
    const { id } = await call(context(), createMeter, input);
    meters.push({ ...meter, id });
  }
  const plans = new Map<number, SoldPlan>();
  for (let i = 0; i < of.plans; i++) {
    const plan = randomPlan(roll, meters, of.yearly);
    const input = planOnTheWire({ ...plan, id: 0 }, `Plan ${i}`, of.currency);
    const { id } = await call(context(), createBillingModel, decode(CreateBillingModel, input));
    plans.set(id, { ...plan, id });
  }
  return plans;
}
