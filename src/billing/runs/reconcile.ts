import { isDeepStrictEqual } from "node:util";
import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { isZero } from "../../core/money.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import type { Queries, Reads } from "../../store/store.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { type MeteredPeriod, meterPeriods, usageUntil } from "./meter_usage.ts";
import { creditMonth } from "../rating/credit_month.ts";
import { adjustmentLines } from "../rating/adjustment.ts";
import type { BillingRecord } from "../records/model.ts";
import type { RunRecord } from "./model.ts";
import { type DuePeriod, failure, type Outcome, attemptEach } from "./outcomes.ts";
import {
  insertRecords,
  listRecorded,
  type NewRecord,
  type RecordedPart,
  toRecord,
} from "../records/queries.ts";
import type { BillLine } from "../rating/bill_line.ts";
import { billedUnits, rate, total } from "../rating/charges.ts";
import { listBillable } from "./billable.ts";
import { deleteBilled } from "./unbilled_queries.ts";

/** For whom, by which run, and whether only to tell. */
export interface ReconcileOptions {
  readonly scope: Scope;
  readonly billing_run_id: number | null;
  readonly dry_run: boolean;
}

type BillingDeps = Pick<Context, "store" | "usage" | "config" | "now">;

/** How often facts that change while they are billed are read again. */
const MAX_ATTEMPTS = 3;

/**
 * Brings what is on record for each period up to what its facts say now: the period's record, zero or not, or
 * an adjustment with the difference, or nothing. Events stored by `now` count, as far as their commit was done.
 * Records that know of later events stay as they are, and so do those that another call writes first. One
 * transaction for all items, or no record at all: a store's error is thrown. An item whose facts can't be billed,
 * or have changed again and again since they were counted, fails alone. Decisions 0030, 0031.
 */
export async function reconcile(
  tools: BillingDeps,
  options: ReconcileOptions,
  metered: readonly MeteredPeriod[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  let pending = metered;
  for (let round = 1; pending.length > 0; round++) {
    const { rated, failed } = rateAll(pending);
    const { settled, stale } = await recordAll(tools, options, rated);
    outcomes.push(...failed, ...settled);
    if (round === MAX_ATTEMPTS) {
      const changing = new Error("It keeps changing while it is billed");
      return [...outcomes, ...stale.map((item) => failure(item, changing))];
    }
    const again = await meterPeriods(tools, options.scope, stale);
    outcomes.push(...again.failed);
    pending = again.metered;
  }
  return outcomes;
}

/**
 * Rates closed periods by facts that are about to hold, for who writes those facts together with what they
 * cost: `recordRated`. Events stored by `counted_at` count. Errors: those of the usage store, conflict for the
 * first fact that can't be billed.
 */
export async function rateProspectively(
  tools: BillingDeps,
  scope: Scope,
  items: readonly DuePeriod[],
  counted_at: Temporal.Instant,
): Promise<RatedPeriod[]> {
  const { metered, failed: uncut } = await meterPeriods({ ...tools, now: counted_at }, scope, items);
  const { rated, failed } = rateAll(metered);
  for (const outcome of [...uncut, ...failed]) {
    if (outcome.result === "failed") throw new AppError("conflict", outcome.message);
  }
  return rated;
}

/**
 * Writes the records that are missing by these ratings, in the transaction that made their facts true. Returns
 * null when the facts are others, or a record knows of later events than were counted: then the transaction must
 * be undone, and the usage counted again.
 */
export async function recordRated(
  q: Queries,
  now: Temporal.Instant,
  options: ReconcileOptions,
  rated: readonly RatedPeriod[],
  counted_at: Temporal.Instant,
): Promise<RunRecord[] | null> {
  const { ready, failed, stale, outdated } = await planRecords(q, options, rated, counted_at);
  if (stale.length + failed.length + outdated.length > 0) return null;
  const written = await writeAll(q, now, options.scope, ready);
  return written.length === ready.length ? written : null;
}

/**
 * What a period comes to by what is known now, without a look at what is on record: its lines so far. Errors:
 * throws where its facts can't be billed.
 */
export async function ratePreview(tools: BillingDeps, scope: Scope, item: DuePeriod): Promise<RatedPeriod> {
  const { metered, failed: uncut } = await meterPeriods(tools, scope, [item]);
  const { rated, failed } = rateAll(metered);
  const [only] = rated;
  if (only) return only;
  const [outcome] = [...uncut, ...failed];
  throw new Error(outcome?.result === "failed" ? outcome.message : "Cannot rate a period");
}

/** What a period should cost by its facts. */
export interface RatedPeriod {
  readonly item: DuePeriod;
  readonly lines: readonly BillLine[];
  readonly currency: string;
  readonly billing_model_id: number;
  /** Events up to this number are counted. */
  readonly usage_seq: number;
}

function rateAll(metered: readonly MeteredPeriod[]): { rated: RatedPeriod[]; failed: Outcome[] } {
  const { done, failed } = attemptEach(metered, ratePeriod);
  return { rated: done, failed };
}

function ratePeriod({ item, parts, totals, usage_seq }: MeteredPeriod): RatedPeriod {
  const { id, currency } = item.subscription.billing_model;
  const usage = parts.map((segment, i) => {
    const counted = totals[i];
    if (!counted) throw new Error("Cannot rate a segment: its usage was not counted");
    const { units, event_count, corrections, digest } = counted;
    return { segment, usage: { units, event_count, corrections, usage_digest: digest } };
  });
  const { lines } = rate(usage, currency, creditMonth(usage, item.period));
  return { item, lines, currency, billing_model_id: parts.at(-1)?.model.id ?? id, usage_seq };
}

/** Writes what is left to write; `stale` are the items whose facts have changed since they were rated. */
async function recordAll(
  { store, now }: BillingDeps,
  options: ReconcileOptions,
  rated: readonly RatedPeriod[],
): Promise<{ settled: Outcome[]; stale: DuePeriod[] }> {
  if (rated.length === 0) return { settled: [], stale: [] };
  if (options.dry_run) {
    const { ready, ...others } = await planRecords(store.read, options, rated, now);
    const stamp = { created_at: iso(now), updated_at: iso(now) };
    return writeIfCurrent(
      others,
      ready,
      ready.map(({ record }) => ({ ...toRecord(record), ...stamp })),
    );
  }
  return store.tx(async (q) => {
    const { ready, ...others } = await planRecords(q, options, rated, now);
    const written = await writeAll(q, now, options.scope, ready);
    return writeIfCurrent(others, ready, written);
  });
}

/** Writes the records whose place is still free, and tells of them. */
async function writeAll(
  q: Queries,
  now: Temporal.Instant,
  scope: Scope,
  ready: RecordPlan["ready"],
): Promise<RunRecord[]> {
  const records = ready.map(({ record, usage_seq }) => ({ ...record, usage_seq }));
  const written = await insertRecords({ q, scope, now }, records);
  await deleteBilled({ q, scope, now }, written);
  await recordEvents({ q, scope, now }, written.map(eventOf));
  return written;
}

function eventOf(record: BillingRecord): NewEvent {
  const { id, kind, subscription_id, billing_model_id, billing_run_id, adjusts_billing_record_id } = record;
  return {
    type: kind === "period" ? "billing_record.created" : "billing_record.adjusted",
    data: { id, kind, subscription_id, billing_model_id, billing_run_id, adjusts_billing_record_id },
  };
}

/** A dry run applies nothing: it goes by the changes that a run would apply first. */
export function dueBy({ dry_run }: ReconcileOptions, now: Temporal.Instant): IsoInstant | undefined {
  return dry_run ? iso(now) : undefined;
}

interface RecordPlan {
  /** Items with the record that is missing. */
  ready: { item: DuePeriod; record: NewRecord; usage_seq: number }[];
  unchanged: Outcome[];
  /** Items of which a record knows later events than were counted. */
  outdated: DuePeriod[];
  failed: Outcome[];
  stale: DuePeriod[];
}

/** Holds what the periods should cost against what is on record for them. */
async function planRecords(
  q: Reads,
  options: ReconcileOptions,
  rated: readonly RatedPeriod[],
  now: Temporal.Instant,
): Promise<RecordPlan> {
  const ids = [...new Set(rated.map(({ item }) => item.subscription.id))];
  const starts = [...new Set(rated.map(({ item }) => iso(item.period.from)))];
  const facts = await listBillable(
    { q, scope: options.scope, now },
    { ids, limit: ids.length, due_by: dueBy(options, now) },
  );
  const current = new Map(facts.map((subscription) => [subscription.id, subscription]));
  const recorded = Map.groupBy(await listRecorded({ q, scope: options.scope, now }, ids, starts), (part) =>
    placeOf(part.subscription_id, part.billingStartAt),
  );
  const isCurrent = ({ item }: RatedPeriod) =>
    isDeepStrictEqual(current.get(item.subscription.id), item.subscription);
  const compared = attemptEach(rated.filter(isCurrent), (recorded_part) => {
    const { subscription, period } = recorded_part.item;
    const parts = recorded.get(placeOf(subscription.id, iso(period.from))) ?? [];
    const is_outdated = parts.some((part) => hasNewerCount(part, recorded_part, now));
    const next = is_outdated ? null : nextRecord(options, recorded_part, parts, now);
    const record = next && recorded_part.item.is_quiet && isFreeOfCharge(next) ? null : next;
    return { item: recorded_part.item, is_outdated, record, usage_seq: recorded_part.usage_seq };
  });
  const { done } = compared;
  return {
    ready: done.flatMap(({ record, item, usage_seq }) => (record ? [{ item, record, usage_seq }] : [])),
    unchanged: done.flatMap(({ item, is_outdated, record }) =>
      record || is_outdated ? [] : [unchanged(item)],
    ),
    outdated: done.flatMap(({ item, is_outdated }) => (is_outdated ? [item] : [])),
    failed: compared.failed,
    stale: rated.flatMap((recorded_part) => {
      const subscription = current.get(recorded_part.item.subscription.id);
      return subscription && !isCurrent(recorded_part) ? [{ ...recorded_part.item, subscription }] : [];
    }),
  };
}

/** Whether a record only tells of events and units, such as those of a package that was begun, or under a minimum. */
function isFreeOfCharge({ kind, totalCharges }: NewRecord): boolean {
  return kind === "adjustment" && isZero(totalCharges);
}

/** What one record knows, the next one must know too: a question asked earlier may be answered here later. */
function hasNewerCount(part: RecordedPart, { usage_seq }: RatedPeriod, now: Temporal.Instant): boolean {
  return part.usage_until > iso(usageUntil(now)) || (part.usage_seq ?? 0) > usage_seq;
}

/** The record that is missing, or null when those on record say all. */
function nextRecord(
  { scope, billing_run_id }: ReconcileOptions,
  { item, lines, currency, billing_model_id }: RatedPeriod,
  recorded: readonly RecordedPart[],
  now: Temporal.Instant,
): NewRecord | null {
  const remaining = adjustmentLines(
    lines,
    recorded.flatMap((part) => part.lines),
    currency,
  );
  const [first] = recorded;
  if (first && remaining.length === 0) return null;
  return {
    company_id: scope.company_id,
    subscription_id: item.subscription.id,
    billing_model_id,
    billing_run_id,
    kind: first ? "adjustment" : "period",
    sequence: (recorded.at(-1)?.sequence ?? -1) + 1,
    adjusts_billing_record_id: first?.id ?? null,
    currency,
    billedUnits: billedUnits(remaining),
    totalCharges: total(remaining, currency),
    billingStartAt: iso(item.period.from),
    billingEndAt: iso(item.period.to),
    lines: remaining,
    usage_until: iso(usageUntil(now)),
  };
}

/**
 * What became of each item: a record that was ready and not written had its place taken by another call, and one
 * that knows more was written by a later call, by the same facts or with those that changed since.
 */
function writeIfCurrent(
  { unchanged: same, outdated, failed, stale }: Omit<RecordPlan, "ready">,
  ready: RecordPlan["ready"],
  written: readonly RunRecord[],
): { settled: Outcome[]; stale: DuePeriod[] } {
  const places = new Map(
    written.map((record) => [placeOf(record.subscription_id, record.billingStartAt), record]),
  );
  const outcomes = ready.map(({ item }): Outcome => {
    const record = places.get(placeOf(item.subscription.id, iso(item.period.from)));
    return record ? { item, result: "written", record } : unchanged(item);
  });
  return { settled: [...same, ...outdated.map(unchanged), ...failed, ...outcomes], stale };
}

function placeOf(subscription_id: number, start: string): string {
  return `${subscription_id} ${start}`;
}

function unchanged(item: DuePeriod): Outcome {
  return { item, result: "unchanged" };
}
