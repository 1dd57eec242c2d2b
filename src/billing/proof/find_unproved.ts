import type { Context } from "../../app/context.ts";
import { interleave } from "../../core/chunk.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { instant } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { namedMeters } from "../billing_models/price_terms.ts";
import { LIMITS } from "../limits.ts";
import type { Meter } from "../meters/model.ts";
import { findMeters } from "../meters/queries.ts";
import { comparedLines, isClosed } from "../rating/billed_parts.ts";
import type { Difference } from "../records/model.ts";
import { listRecorded, type RecordedPart } from "../records/queries.ts";
import { countAssertions, UsageCount } from "../records/count_usage.ts";
import { findTermsOf, type ModelOf } from "../records/terms_of_lines.ts";
import { differencesOf } from "../records/verify_amounts.ts";
import { assertionsOf, storedBy, verify } from "../records/verify_usage.ts";
import { type BillableSubscription, metersOf, recordedDue, stretchesIn } from "../runs/billable.ts";
import { listBillable } from "../runs/billable_queries.ts";
import { CommitmentYears } from "../runs/commitment_years.ts";
import { listZones } from "../subscriptions/queries.ts";
import type { UnprovedBill } from "./model.ts";
import { type BillKey, type BillToProve, listBills } from "./queries.ts";
import { rateAsRecorded } from "./rate_as_recorded.ts";
import { periodDifferences, periodKey, unmeteredDifferences } from "./rules.ts";

/** What proving takes: of the usage store the totals alone. */
export interface ProofContext extends Pick<Context, "store" | "now"> {
  readonly usage: Pick<Context["usage"], "totals" | "measure" | "sinceOf">;
  readonly config: Pick<Context["config"], "usage_query_timeout_ms">;
}

/**
 * Proves bills from the stored events, and returns those that are not what these come to. Each bill's own lines are
 * counted, priced and added up again; and its period is rated anew, by the models in force and the events up to the
 * last number that was counted: that is what all of the period's records must add up to. Decision 0185.
 * Errors: those of the usage store.
 */
export async function findUnproved(ctx: ProofContext, bills: readonly BillKey[]): Promise<UnprovedBill[]> {
  const unproved: UnprovedBill[] = [];
  for (const [company_id, own] of Map.groupBy(bills, (bill) => bill.company_id)) {
    for await (const batch of interleave(own, LIMITS.proof_batch)) {
      const ids = batch.map(({ id }) => id);
      // What was proved before its events were removed: that is on record (decision 0216).
      const since = ctx.usage.sinceOf(company_id);
      // In one transaction: a plan change between two reads would look like a bill that is wrong.
      const read = await ctx.store.tx((q) =>
        readBatch({ q, scope: { company_id }, now: ctx.now }, ids, since),
      );
      unproved.push(...(await proveBatch(ctx, company_id, read)));
    }
  }
  return unproved.toSorted((a, b) => a.billing_record_id - b.billing_record_id);
}

/** Bills with all that they are rated by, of one instant. */
interface Batch {
  readonly bills: readonly BillToProve[];
  /** All records of each of their periods, first to last. */
  readonly periods: ReadonlyMap<string, readonly RecordedPart[]>;
  readonly subscriptions: ReadonlyMap<number, BillableSubscription>;
  readonly zones: ZoneTimeline;
  readonly years: CommitmentYears;
  readonly modelOf: ModelOf;
  readonly meters: ReadonlyMap<number, Meter>;
}

async function readBatch(tx: ReadTx, ids: readonly number[], since: number): Promise<Batch> {
  const bills = (await listBills(tx.q, ids)).filter(
    ({ billingStartAt }) => instant(billingStartAt).epochMilliseconds >= since,
  );
  const subscription_ids = [...new Set(bills.map(({ subscription_id }) => subscription_id))];
  const starts = [...new Set(bills.map(({ billingStartAt }) => billingStartAt))];
  const periods = Map.groupBy(await listRecorded(tx, subscription_ids, starts), periodKey);
  const billable = await listBillable(tx, { ids: subscription_ids, limit: subscription_ids.length });
  const { modelOf, terms } = await findTermsOf(
    tx,
    bills.flatMap(({ lines }) => lines),
  );
  const zones = await listZones(tx);
  const subscriptions = new Map(billable.map((subscription) => [subscription.id, subscription]));
  const due = bills.flatMap((bill) => {
    const subscription = subscriptions.get(bill.subscription_id);
    return subscription ? recordedDue(subscription, bill, zones) : [];
  });
  return {
    years: await new CommitmentYears().read(tx, due),
    meters: await findMeters(tx, [...namedMeters(terms), ...billable.flatMap(metersOf)]),
    bills,
    periods,
    subscriptions,
    zones,
    modelOf,
  };
}

async function proveBatch(ctx: ProofContext, company_id: number, batch: Batch): Promise<UnprovedBill[]> {
  const count = new UsageCount(batch.meters);
  const bills = batch.bills.map((bill) => {
    const records = batch.periods.get(periodKey(bill)) ?? [];
    return {
      bill,
      own: ownLines(bill, records, batch, count),
      whole: wholePeriod(bill, records, batch, count),
    };
  });
  await count.ask(ctx.usage, company_id, ctx.config.usage_query_timeout_ms);
  return bills.flatMap(({ bill, own, whole }) => {
    const differences = attempt(() => [...own(), ...whole()]);
    if (differences.length === 0) return [];
    const { id: billing_record_id, subscription_id } = bill;
    return [{ company_id, billing_record_id, subscription_id, differences }];
  });
}

/** What can't be rated at all is not proved. */
function attempt(compare: () => Difference[]): Difference[] {
  try {
    return compare();
  } catch (error) {
    const actual = error instanceof Error ? error.message : String(error);
    return [{ path: "/", expected: null, actual }];
  }
}

/** The bill's lines against the events that they count, their prices, and its sums against its lines. */
function ownLines(
  { billedUnits, ...bill }: BillToProve,
  records: readonly RecordedPart[],
  { subscriptions, modelOf, years, zones }: Batch,
  count: UsageCount,
): () => Difference[] {
  const { id, subscription_id, sequence, currency, lines } = bill;
  const subscription = subscriptions.get(subscription_id);
  if (!subscription) return () => missing(subscription_id);
  const until = records.filter((part) => part.sequence <= sequence);
  const assertions = assertionsOf(until, currency);
  const due = recordedDue(subscription, bill, zones);
  const counted = countAssertions(count, assertions, modelOf, due);
  return () => {
    const elsewhere = years.elsewhere(due, id);
    const amounts = differencesOf({ ...bill, billedUnits: Number(billedUnits) }, until, modelOf, elsewhere);
    return verify(assertions, counted, until.at(-1)?.lines ?? lines, amounts).differences;
  };
}

/** The sum of all records of the bill's period against the period rated anew. */
function wholePeriod(
  bill: BillToProve,
  records: readonly RecordedPart[],
  { subscriptions, zones, years }: Batch,
  count: UsageCount,
): () => Difference[] {
  const { subscription_id, currency } = bill;
  const subscription = subscriptions.get(subscription_id);
  const last = records.at(-1);
  if (!subscription || !last) return () => missing(subscription_id);
  const due = recordedDue(subscription, bill, zones, isClosed(records) ? "whole" : "advance");
  const rerate = rateAsRecorded(due, last, count);
  // It is counted again where it was said.
  const says = isClosed(records) && records.some(({ unmetered }) => unmetered);
  const outside = says ? count.ofUnmetered(stretchesIn(due), due, storedBy(last)) : undefined;
  return () => {
    const { timeline } = subscription;
    const compared = comparedLines(due.part, years.withLines(rerate()).lines, records, (id) =>
      timeline.some(({ billing_model: m }) => m.id === id && m.fee_timing === "in_advance"),
    );
    return [
      ...periodDifferences(compared.expected, compared.recorded, currency),
      ...(outside ? unmeteredDifferences(last, outside()) : []),
    ];
  };
}

function missing(subscription_id: number): Difference[] {
  return [{ path: "/subscription_id", expected: null, actual: `${subscription_id}, which is not there` }];
}
