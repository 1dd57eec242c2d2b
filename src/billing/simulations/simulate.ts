import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { scopeOf } from "../../core/access.ts";
import { interleave } from "../../core/chunk.ts";
import { iso } from "../../core/time.ts";
import type { StoredBillingModel } from "../billing_models/model.ts";
import { namedMeters, priceTermsOf } from "../billing_models/price_terms.ts";
import { findMeters } from "../meters/queries.ts";
import { rateAsRecorded } from "../proof/rate_as_recorded.ts";
import { total } from "../rating/charges.ts";
import { UsageCount } from "../records/count_usage.ts";
import { type BillableSubscription, duePeriod, metersOf } from "../runs/billable.ts";
import type { RatedPeriod } from "../runs/pipeline.ts";
import { LIMITS } from "../limits.ts";
import type { Mismatch } from "./model.ts";
import type { Batch, BilledPeriod } from "./read_batch.ts";
import { type SimulatedPeriod, sumLines, withModel } from "./rules.ts";

/** What is tried, and in place of which model; undefined: of all. */
export interface Trial {
  readonly model: StoredBillingModel;
  readonly in_place_of: number | undefined;
}

/** What became of a batch's periods. */
interface Simulated {
  readonly periods: SimulatedPeriod[];
  readonly failures: Mismatch[];
}

/** A period with both of its ratings, to be read once its usage was counted. */
interface Pending {
  readonly of: BilledPeriod;
  readonly inForce: () => RatedPeriod;
  readonly tried: () => RatedPeriod;
}

/**
 * Rates the periods of a batch twice, month by month: by the models that were in force and by the one that is tried, both
 * over the events that the records knew. Null when the process is about to end. Errors: those of the usage store.
 */
export async function simulateBatch(ctx: Context, batch: Batch, trial: Trial): Promise<Simulated | null> {
  const result: Simulated = { periods: [], failures: [] };
  const tried = new Map<number, BillableSubscription>();
  for (const { subscription } of batch.periods) {
    if (!tried.has(subscription.id))
      tried.set(subscription.id, withModel(subscription, trial.model, trial.in_place_of));
  }
  const billed_by = [...new Set(batch.periods.map(({ subscription }) => subscription))].flatMap(metersOf);
  const named = [...namedMeters([priceTermsOf(trial.model)]), ...billed_by];
  const meters = await findMeters(readTx(ctx), [...new Set(named)]);
  const months = Map.groupBy(batch.periods, ({ month }) => month);
  for (const periods of months.values()) {
    if (ctx.background.is_stopping) return null;
    const count = new UsageCount(meters);
    const pending: Pending[] = [];
    for await (const part of interleave(periods, LIMITS.simulation_turn)) {
      for (const billed of part) pending.push(prepare(billed, tried, batch, count));
    }
    await count.ask(ctx.usage, scopeOf(ctx.actor).company_id, ctx.config.usage_query_timeout_ms);
    for await (const part of interleave(pending, LIMITS.simulation_turn)) {
      for (const one of part) rateBoth(one, result);
    }
  }
  return result;
}

function prepare(
  billed: BilledPeriod,
  tried: ReadonlyMap<number, BillableSubscription>,
  { zones }: Batch,
  count: UsageCount,
): Pending {
  const { subscription, period, last } = billed;
  const other = tried.get(subscription.id) ?? subscription;
  return {
    of: billed,
    inForce: rateAsRecorded(duePeriod(subscription, period, zones), last, count),
    tried: rateAsRecorded(duePeriod(other, period, zones), last, count),
  };
}

function rateBoth({ of, inForce, tried }: Pending, { periods, failures }: Simulated): void {
  const { subscription, period, month, billed, lines } = of;
  const { currency } = subscription.billing_model;
  const place = { subscription_id: subscription.id, billingStartAt: iso(period.from) };
  const in_force = attempt(inForce);
  const simulated = attempt(tried);
  if ("message" in simulated) {
    failures.push({ ...place, billed, rated: null, message: simulated.message });
    return;
  }
  periods.push({
    ...place,
    month,
    billed,
    billed_lines: lines,
    rated: "message" in in_force ? null : total(in_force.lines, currency),
    simulated: total(simulated.lines, currency),
    simulated_lines: sumLines(simulated.lines, currency),
    message: "message" in in_force ? in_force.message : null,
  });
}

function attempt(rate: () => RatedPeriod): RatedPeriod | { readonly message: string } {
  try {
    return rate();
  } catch (error) {
    return { message: error instanceof Error ? error.message : String(error) };
  }
}
