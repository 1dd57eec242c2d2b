import { isDeepStrictEqual } from "node:util";
import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { AppError, notFound } from "../../core/errors.ts";
import { roundMoney, subtract } from "../../core/money.ts";
import { daysOf, type Period, periodContaining } from "../../core/periods.ts";
import { type IsoInstant, instant, iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { retryWhileStale, StaleRead } from "../billing_model_changes/adjust_closed_periods.ts";
import { type ChangeTimeline, findTimeline } from "../billing_model_changes/change_timeline.ts";
import type { Planner } from "../billing_model_changes/request_change.ts";
import { firstModel, type TimelineChange } from "../billing_model_changes/rules.ts";
import { total } from "../rating/charges.ts";
import { listRecordedBounds, type NewRecord, toRecord } from "../records/queries.ts";
import { type BillableSubscription, duePeriod, segmentsOf } from "../runs/billable.ts";
import { listBillable } from "../runs/billable_queries.ts";
import { rateDue, type RatedPeriod } from "../runs/pipeline.ts";
import { runningPeriod } from "../subscriptions/due_periods.ts";
import type { CANCEL_TIMES } from "../subscriptions/model.ts";
import { cancellationTime, monotonicNow } from "../subscriptions/rules.ts";
import { afterChange, findModelsOf, withChanges, withDueApplied } from "./imagine.ts";
import { type BillsAround, rateApplied, rateInAdvanceOf, settle } from "./missing_records.ts";
import type { ChangePreview, PreviewedRecord } from "./model.ts";

/** A subscription before or after a change, as the bill of a period that ends at `until` would find it. */
type Imagined = (until: Temporal.Instant) => BillableSubscription;

/**
 * Previews a plan change: the planner of the real one on the timeline that it would find, and the stages of the real one
 * up to where it writes. Errors: those of the planner, not_found; conflict where a bill can't be rated; unavailable.
 */
export function previewChange(ctx: Context, id: number, plan: Planner): Promise<ChangePreview> {
  return whileTimelineStays(ctx, id, async (tx, found) => {
    const current = await withDueApplied(tx, found);
    const planned = await plan(tx, current);
    const { changes, cancelled } = afterChange(current, planned);
    const base = await findBillable(tx, id);
    const { effective_at, new_billing_model_id, is_applied } = planned;
    const models = await findModelsOf(tx, current, [new_billing_model_id]);
    const first = firstModel(current.subscription, current.changes);
    const having = (which: readonly TimelineChange[]) => withChanges(base, models, first, which);
    const applied = having(current.changes.filter(isApplied));
    const due = found === current ? [] : await rateApplied(ctx, current, earliestDue(found), applied);
    const changed = having(changes.filter(isApplied));
    const own = is_applied ? await rateApplied(ctx, current, effective_at, changed) : [];
    const after: Imagined = (until) => having(changes.filter(isBefore(iso(until))));
    const before: Imagined = (until) => having(current.changes.filter(isBefore(iso(until))));
    const periods = await periodsOf(tx, current, base, effective_at);
    const bills = await rateBills(ctx, current, periods.billed, { before, after });
    return {
      subscription_id: id,
      kind: planned.kind,
      at_once: is_applied,
      old_billing_model_id: planned.old_billing_model_id,
      new_billing_model_id,
      effective_at,
      currency: base.billing_model.currency,
      days: daysAround(after, periods.effective, effective_at),
      credits_added: planned.credits_added,
      cancelled_change_ids: cancelled,
      ...shown(await settle(tx, { due, own, bills }), base.billing_model.currency),
    };
  });
}

/** Previews a cancellation. Errors: not_found; conflict when it has ended, or an end is set already; unavailable. */
export function previewCancel(
  ctx: Context,
  id: number,
  at: (typeof CANCEL_TIMES)[number],
): Promise<ChangePreview> {
  return whileTimelineStays(ctx, id, async (tx, current) => {
    const { subscription, changes, zones } = current;
    const { ends_at } = cancellationTime(subscription, at, monotonicNow(subscription, tx.now), zones);
    const base = await findBillable(tx, id);
    const models = await findModelsOf(tx, current, []);
    const first = firstModel(subscription, changes);
    const before: Imagined = (until) =>
      withChanges(base, models, first, changes.filter(isBefore(iso(until))));
    const kept = changes.filter((change) => isApplied(change) || change.effective_at < ends_at);
    const after: Imagined = (until) => ({
      ...withChanges(base, models, first, kept.filter(isBefore(iso(until)))),
      ends_at,
    });
    const { currency } = base.billing_model;
    const { billed } = await periodsOf(tx, current, base);
    const own = await rateInAdvanceOf(tx, { ...base, ends_at }, ends_at);
    const bills = await rateBills(ctx, current, billed, { before, after });
    return {
      subscription_id: id,
      kind: "cancel",
      at_once: at === "now",
      old_billing_model_id: subscription.billing_model_id,
      new_billing_model_id: null,
      effective_at: ends_at,
      currency,
      days: daysAround(after, billed[0], ends_at),
      credits_added: null,
      cancelled_change_ids: changes.filter((change) => !kept.includes(change)).map((change) => change.id),
      ...shown(await settle(tx, { due: [], own, bills }), currency),
    };
  });
}

/** Reads a timeline for `work`, again if it has changed meanwhile. */
function whileTimelineStays<T>(
  ctx: Context,
  id: number,
  work: (tx: ReadTx, current: ChangeTimeline) => Promise<T>,
): Promise<T> {
  return retryWhileStale(async () => {
    const current = await findTimeline(readTx(ctx), id);
    const result = await work(readTx(ctx), current);
    if (!isDeepStrictEqual(await findTimeline(readTx(ctx), id), current)) throw new StaleRead();
    return result;
  });
}

const isApplied = ({ status }: TimelineChange) => status === "applied";
const isBefore = (until: IsoInstant) => (change: TimelineChange) => change.effective_at < until;

/** When the first of the changes that are not applied yet takes effect. */
function earliestDue({ subscription, changes }: ChangeTimeline): IsoInstant {
  return changes.find((change) => !isApplied(change))?.effective_at ?? subscription.started_at;
}

async function findBillable(tx: ReadTx, id: number): Promise<BillableSubscription> {
  const [billable] = await listBillable(tx, { ids: [id], limit: 1 });
  if (!billable) throw notFound("Subscription", id);
  return billable;
}

/** The periods whose bills are compared, and the one in which a change takes effect. */
async function periodsOf(
  { now, ...tx }: ReadTx,
  { zones }: ChangeTimeline,
  subscription: BillableSubscription,
  effective_at?: IsoInstant,
): Promise<{ billed: [Period, ...Period[]]; effective: Period }> {
  const { id, billing_anchor_day } = subscription;
  const bounds = (await listRecordedBounds({ now, ...tx }, [id])).get(id);
  const running = runningPeriod(subscription, zones, now, bounds);
  if (effective_at === undefined) return { billed: [running], effective: running };
  const effective = periodContaining(instant(effective_at), billing_anchor_day, zones, bounds);
  const is_later = Temporal.Instant.compare(effective.from, running.from) > 0;
  return { billed: is_later ? [running, effective] : [running], effective };
}

/** The days of a period that are charged before an instant, and from it on. */
function daysAround(after: Imagined, period: Period, effective_at: IsoInstant): ChangePreview["days"] {
  const days = { before: 0, after: 0, of: daysOf(period) };
  for (const { from, proration } of segmentsOf({ subscription: after(period.to), period }))
    days[iso(from) < effective_at ? "before" : "after"] += proration.numerator;
  return days;
}

/** Rates periods as they would be billed without a change and with it, by one question to the usage store. */
async function rateBills(
  ctx: Context,
  { zones }: ChangeTimeline,
  periods: readonly Period[],
  { before, after }: { before: Imagined; after: Imagined },
): Promise<BillsAround> {
  const due = [before, after].flatMap((imagined) =>
    periods.map((period) => duePeriod(imagined(period.to), period, zones)),
  );
  const { done, failed } = await rateDue(ctx, due);
  if (failed[0]) throw new AppError("conflict", `Cannot preview a bill: ${failed[0].message}`);
  return { before: done.slice(0, periods.length), after: done.slice(periods.length) };
}

/** Bills and records on the wire. */
function shown(
  { records, bills }: { records: readonly NewRecord[]; bills: BillsAround },
  currency: string,
): Pick<ChangePreview, "bills" | "records" | "records_total"> {
  const billOf = ({ lines }: RatedPeriod) => ({ lines: [...lines], total: total(lines, currency) });
  const after = bills.after.map(billOf);
  return {
    bills: bills.before.flatMap((rated, i) => {
      const [without, having] = [billOf(rated), after[i]];
      if (!having) return [];
      const { from, to } = rated.period;
      const difference = roundMoney(subtract(having.total, without.total), currency);
      return [{ from: iso(from), to: iso(to), before: without, after: having, difference }];
    }),
    records: records.map(toPreviewed),
    records_total: total(
      records.map(({ totalCharges }) => ({ amount: totalCharges })),
      currency,
    ),
  };
}

function toPreviewed(record: NewRecord): PreviewedRecord {
  const { billing_model_id, kind, sequence, adjusts_billing_record_id, ...rest } = toRecord(record);
  const { currency, billedUnits, totalCharges, billingStartAt, billingEndAt, unmetered, lines } = rest;
  const place = { billing_model_id, kind, sequence, adjusts_billing_record_id, billingStartAt, billingEndAt };
  return {
    ...place,
    currency,
    billedUnits,
    totalCharges,
    lines,
    ...(unmetered === undefined ? {} : { unmetered }),
  };
}
