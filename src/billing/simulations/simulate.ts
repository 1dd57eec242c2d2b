import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { scopeOf } from "../../core/access.ts";
import { interleave, ROWS_A_TURN } from "../../core/chunk.ts";
import { instant, iso } from "../../core/time.ts";
import { readsBefore } from "../../usage_store/meter.ts";
import type { StoredBillingModel } from "../billing_models/model.ts";
import { namedMeters, priceTermsOf } from "../billing_models/price_terms.ts";
import { findMeters } from "../meters/queries.ts";
import { rateAsRecorded } from "../proof/rate_as_recorded.ts";
import type { BillLine } from "../rating/bill_line.ts";
import { total } from "../rating/charges.ts";
import { UsageCount } from "../records/count_usage.ts";
import { type BillableSubscription, type DuePeriod, duePeriod, metersOf } from "../runs/billable.ts";
import { CommitmentYears } from "../runs/commitment_years.ts";
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
export interface Simulated {
  /** Periods that are not simulated: events that their meters read were removed. */
  without_events: number;
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
  const { company_id } = scopeOf(ctx.actor);
  const result: Simulated = { without_events: 0, periods: [], failures: [] };
  const tried = new Map<number, BillableSubscription>();
  for (const { subscription } of batch.periods) {
    if (!tried.has(subscription.id))
      tried.set(subscription.id, withModel(subscription, trial.model, trial.in_place_of));
  }
  const billed_by = [...new Set(batch.periods.map(({ subscription }) => subscription))].flatMap(metersOf);
  const named = [...namedMeters([priceTermsOf(trial.model)]), ...billed_by];
  const meters = await findMeters(readTx(ctx), [...new Set(named)]);
  const levels = new Set([...meters.values()].filter(readsBefore).map(({ id }) => id));
  const removed_before = ctx.usage.sinceOf(company_id);
  const provable: BilledPeriod[] = [];
  const due: DuePeriod[] = [];
  for await (const part of interleave(batch.periods, ROWS_A_TURN)) {
    for (const billed of part) {
      if (readFrom(billed, tried, levels).epochMilliseconds < removed_before) continue;
      const { subscription, period } = billed;
      provable.push(billed);
      due.push(duePeriod(tried.get(subscription.id) ?? subscription, period, batch.zones));
    }
  }
  result.without_events = batch.periods.length - provable.length;
  const months = Map.groupBy(provable, ({ month }) => month);
  const tried_years = CommitmentYears.ofPeriods(due);
  const years = { recorded: batch.years, tried: tried_years, tried_id: trial.model.id };
  // In their order: what a year came to is known month by month.
  for (const month of [...months.keys()].toSorted()) {
    const periods = months.get(month) ?? [];
    if (ctx.background.is_stopping) return null;
    const count = new UsageCount(meters, { without_digests: true });
    const pending: Pending[] = [];
    for await (const part of interleave(periods, LIMITS.simulation_turn)) {
      for (const billed of part) pending.push(prepare(billed, tried, batch, count));
    }
    await count.ask(ctx.usage, company_id, ctx.config.usage_query_timeout_ms);
    for await (const part of interleave(pending, LIMITS.simulation_turn)) {
      for (const one of part) rateBoth(one, years, result);
    }
  }
  return result;
}

/** From where on events are read of a period, by either rating: a level begins with its subscription. */
function readFrom(
  { subscription, period }: BilledPeriod,
  tried: ReadonlyMap<number, BillableSubscription>,
  levels: ReadonlySet<number>,
): Temporal.Instant {
  if (levels.size === 0) return period.from;
  const both = [subscription, tried.get(subscription.id) ?? subscription];
  const has_level = both.flatMap(metersOf).some((id) => levels.has(id));
  return has_level ? instant(subscription.started_at) : period.from;
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

function rateBoth({ of, inForce, tried }: Pending, years: Years, { periods, failures }: Simulated): void {
  const { subscription, period, month, billed, lines } = of;
  const { currency } = subscription.billing_model;
  const place = { subscription_id: subscription.id, billingStartAt: iso(period.from) };
  const in_force = attempt(() => years.recorded.withLines(inForce()));
  const simulated = attempt(() => withYears(tried(), years));
  if ("message" in simulated) {
    failures.push({ ...place, billed, rated: null, message: simulated.message });
    return;
  }
  years.tried.add({ ...place, kind: "period", lines: simulated.lines });
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

/** What a year's commitments look at. */
interface Years {
  readonly recorded: CommitmentYears;
  /** What is simulated of the years. */
  readonly tried: CommitmentYears;
  readonly tried_id: number;
}

/** A period that was tried, with its year's lines: the model that is tried settles what is simulated, others what is on record. */
function withYears(rated: RatedPeriod, { recorded, tried, tried_id }: Years): RatedPeriod {
  const isTried = ({ billing_model_id }: BillLine) => billing_model_id === tried_id;
  const others = recorded.linesOf(rated).filter((line) => !isTried(line));
  return { ...rated, lines: [...rated.lines, ...others, ...tried.linesOf(rated).filter(isTried)] };
}

function attempt(rate: () => RatedPeriod): RatedPeriod | { readonly message: string } {
  try {
    return rate();
  } catch (error) {
    return { message: error instanceof Error ? error.message : String(error) };
  }
}
