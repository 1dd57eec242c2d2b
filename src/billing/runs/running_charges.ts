import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { interleave } from "../../core/chunk.ts";
import type { Decimal } from "../../core/money.ts";
import { total } from "../rating/charges.ts";
import { projectCharges, projectSegment } from "../rating/projection.ts";
import { listRecordedBounds } from "../records/queries.ts";
import { runningPeriod } from "../subscriptions/due_periods.ts";
import { listZones } from "../subscriptions/queries.ts";
import { LIMITS } from "../limits.ts";
import { type DuePeriod, duePeriod } from "./billable.ts";
import { listBillable } from "./billable_queries.ts";
import { CommitmentYears } from "./commitment_years.ts";
import { type FailedPeriod, rate, rateDue, type RatedPeriod } from "./pipeline.ts";

/**
 * Rates the running periods of subscriptions that the caller may see: the whole fee, the usage so far. Of a cancelled one
 * its last period, of one that has not started its first. `at`: the periods that ran then, with the usage stored by now.
 * Errors: those of the usage store.
 */
export async function rateRunning(
  ctx: Context,
  ids: readonly number[],
  at = ctx.now,
): Promise<{ done: RatedPeriod[]; failed: FailedPeriod[]; years: CommitmentYears }> {
  const tx = readTx(ctx);
  const zones = await listZones(tx);
  const periods: DuePeriod[] = [];
  for await (const part of interleave(ids, LIMITS.running_read)) {
    const subscriptions = await listBillable(tx, { ids: part, limit: part.length });
    const recorded = await listRecordedBounds(tx, part);
    for (const subscription of subscriptions) {
      const period = runningPeriod(subscription, zones, at, recorded.get(subscription.id));
      periods.push(duePeriod(subscription, period, zones));
    }
  }
  const { done, failed } = await rateDue(ctx, periods);
  const years = await new CommitmentYears().read(tx, done);
  return { done: done.map((rated) => years.withLines(rated)), failed, years };
}

/** What a subscription has come to in its running period. */
export interface RunningCharges {
  readonly subscription_id: number;
  readonly amount: Decimal;
  /** What it comes to if usage goes on as it did; null where that was not asked for. */
  readonly projected: Decimal | null;
  /** The period, Unix ms; its end is not in it. */
  readonly from_ms: number;
  readonly until_ms: number;
}

/** The running charges of subscriptions; those that can't be rated are logged and left out. */
export async function runningCharges(
  ctx: Context,
  ids: readonly number[],
  { projected = false } = {},
): Promise<RunningCharges[]> {
  const running: RunningCharges[] = [];
  const { done, years } = await rateOrLog(ctx, ids, ctx.now);
  for await (const part of interleave(done, LIMITS.running_read)) {
    for (const rated of part) {
      const to_come = projected ? projectedTotal(rated, ctx.now, years) : null;
      running.push({ ...comeTo(rated), projected: to_come });
    }
  }
  return running;
}

/** What subscriptions came to in the periods that ran at an instant, as `runningCharges`. */
export async function chargesAt(
  ctx: Context,
  ids: readonly number[],
  at: Temporal.Instant,
): Promise<Omit<RunningCharges, "projected">[]> {
  const { done } = await rateOrLog(ctx, ids, at);
  return done.map(comeTo);
}

function comeTo({ subscription, lines, period }: RatedPeriod): Omit<RunningCharges, "projected"> {
  return {
    subscription_id: subscription.id,
    amount: total(lines, subscription.billing_model.currency),
    from_ms: period.from.epochMilliseconds,
    until_ms: period.to.epochMilliseconds,
  };
}

/** Rates running periods as `rateRunning`; those that can't be rated are logged and left out. */
export async function rateOrLog(ctx: Context, ids: readonly number[], at: Temporal.Instant) {
  const { failed, ...rated } = await rateRunning(ctx, ids, at);
  for (const { subscription, message } of failed)
    ctx.log.error({ subscription_id: subscription.id, message }, "running charges could not be rated");
  return rated;
}

/** What a running period comes to if usage goes on as it did. Errors: throws where it can't be rated. */
export function projectedTotal(rated: RatedPeriod, at: Temporal.Instant, years: CommitmentYears): Decimal {
  const { currency } = rated.subscription.billing_model;
  const { done, failed } = rate([
    {
      ...rated,
      used: rated.used.map((part) => projectSegment(part, at)),
      used_add_ons: rated.used_add_ons.map(({ charges = new Map(), ...stretch }) => ({
        ...stretch,
        charges: projectCharges(charges, stretch.segment, at),
      })),
    },
  ]);
  const [projected] = done;
  if (!projected) throw new Error(failed[0]?.message ?? "Cannot rate a period");
  return total(years.withLines(projected).lines, currency);
}
