import { chunks, nextTurn } from "../../core/chunk.ts";
import {
  aroundMonth,
  type Bounds,
  type Period,
  recordedPeriod,
  type ZoneTimeline,
} from "../../core/periods.ts";
import { type Decimal, roundMoney, sum } from "../../core/money.ts";
import { instant } from "../../core/time.ts";
import type { Context } from "../../app/context.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import type { ReadTx } from "../../store/store.ts";
import { LIMITS } from "../limits.ts";
import { isClosed } from "../rating/billed_parts.ts";
import type { RecordedPart } from "../records/queries.ts";
import { type BillableSubscription, duePeriod, segmentsOf } from "../runs/billable.ts";
import { listBillable } from "../runs/billable_queries.ts";
import { CommitmentYears } from "../runs/commitment_years.ts";
import { listZones } from "../subscriptions/queries.ts";
import { periodKey } from "../proof/rules.ts";
import type { Counts } from "./model.ts";
import { type BilledRecord, listBilled } from "./billed_queries.ts";
import { listCandidates, type RunningSimulation } from "./queries.ts";
import { monthsBetween, type SummedLine, sumLines } from "./rules.ts";

/** A closed period with what was billed of it. */
export interface BilledPeriod {
  readonly subscription: BillableSubscription;
  readonly period: Period;
  readonly month: string;
  readonly last: RecordedPart;
  readonly billed: Decimal;
  readonly lines: readonly SummedLine[];
}

/** The periods of the subscriptions after the last step's, as many as a step takes. */
export interface Batch {
  readonly periods: readonly BilledPeriod[];
  readonly zones: ZoneTimeline;
  /** What is on record of the years of commitments. */
  readonly years: CommitmentYears;
  readonly left_out: Pick<Counts, "other_currency">;
  /** How many subscriptions were looked at, and the last of them; null after the end. */
  readonly looked_at: number;
  readonly last_id: number | null;
}

/**
 * Reads the next periods to simulate. Each part is read in one transaction: a plan change between two reads would look
 * like a bill that is wrong. Only sums are kept of a record.
 */
export async function readBatch(ctx: Context, simulation: RunningSimulation): Promise<Batch> {
  const { from, to, of, after_id, halvings } = simulation;
  const zones = await listZones(readTx(ctx));
  const bounds = { from: aroundMonth(from).from, to: aroundMonth(to).to };
  // What was too large for one step is too large for the next one, too.
  const limit = Math.max(1, LIMITS.simulation_subscriptions >> halvings);
  const ids = await listCandidates(readTx(ctx), of, { after_id, limit });
  const last_id = ids.at(-1) ?? null;
  const periods: BilledPeriod[] = [];
  const left_out = { other_currency: 0 };
  const years = new CommitmentYears();
  for (const part of chunks(ids, readAtOnce(from, to))) {
    const read = await transaction(ctx, async (tx) => {
      const found = await readPart(tx, part, bounds, zones);
      await years.read(
        tx,
        found.map(({ subscription, period }) => duePeriod(subscription, period, zones)),
      );
      return found;
    });
    for (const billed of read.filter((period) => isMeant(period, simulation))) {
      if (billed.subscription.billing_model.currency !== simulation.currency) left_out.other_currency++;
      else periods.push(billed);
    }
    await nextTurn();
  }
  return { periods, zones, years, left_out, looked_at: ids.length, last_id };
}

/** Subscriptions whose records are read in one transaction: the more months, the fewer. */
function readAtOnce(from: string, to: string): number {
  const by_periods = Math.floor(LIMITS.simulation_read_periods / monthsBetween(from, to).length);
  return Math.min(LIMITS.simulation_read, Math.max(1, by_periods));
}

async function readPart(
  tx: ReadTx,
  ids: readonly number[],
  bounds: Bounds,
  zones: ZoneTimeline,
): Promise<BilledPeriod[]> {
  const records = Map.groupBy(await listBilled(tx, ids, bounds), periodKey);
  const billable = await listBillable(tx, { ids, limit: ids.length });
  const subscriptions = new Map(billable.map((subscription) => [subscription.id, subscription]));
  return [...records.values()].flatMap((parts) => {
    const [first, last] = [parts[0], parts.at(-1)];
    const subscription = first && subscriptions.get(first.subscription_id);
    // A running period may have records in advance.
    if (!subscription || !first || !last || !isClosed(parts)) return [];
    return [billedPeriod(subscription, parts, { first, last }, zones)];
  });
}

function billedPeriod(
  subscription: BillableSubscription,
  parts: readonly BilledRecord[],
  { first, last }: { first: BilledRecord; last: BilledRecord },
  zones: ZoneTimeline,
): BilledPeriod {
  const { billingStartAt, billingEndAt, currency } = first;
  const bounds = { from: instant(billingStartAt), to: instant(billingEndAt) };
  const period = recordedPeriod(bounds, subscription.billing_anchor_day, zones);
  const lines = parts.flatMap((part) => part.lines);
  return {
    subscription,
    period,
    month: period.start_date.toPlainYearMonth().toString(),
    last: { ...last, lines: [] },
    billed: roundMoney(sum(parts.map(({ totalCharges }) => totalCharges)), currency),
    lines: sumLines(lines, currency),
  };
}

/** Whether a period starts in the months that are asked for and, where one model is to be replaced, has it. */
function isMeant(
  { subscription, period, month }: BilledPeriod,
  { from, to, of }: RunningSimulation,
): boolean {
  if (month < from || month > to) return false;
  const replaced = of?.billing_model_id;
  if (replaced === undefined) return true;
  if (subscription.timeline.every(({ billing_model }) => billing_model.id !== replaced)) return false;
  return segmentsOf({ subscription, period }).some(({ model }) => model.id === replaced);
}
