import { isDeepStrictEqual } from "node:util";
import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { isZero } from "../../core/money.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import type { Queries, Reads } from "../../store/store.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { type Counted, countUsage, usageUntil } from "./meter_usage.ts";
import { creditMonth } from "../rating/credit_month.ts";
import { difference } from "../rating/adjustment.ts";
import type { BillingRecord, RunRecord } from "../records/model.ts";
import { type DuePeriod, failure, type Outcome, perItem } from "./outcomes.ts";
import {
  insertRecords,
  listBillable,
  listRecorded,
  type NewRecord,
  type RecordedPart,
  toRecord,
} from "../records/queries.ts";
import { type BillLine, billedUnits, rate, total } from "../rating/charges.ts";
import { deleteBilled } from "./unbilled_queries.ts";

/** For whom, by which run, and whether only to tell. */
export interface ReconcileOptions {
  readonly scope: Scope;
  readonly billing_run_id: number | null;
  readonly dry_run: boolean;
}

type Tools = Pick<Context, "store" | "usage" | "config" | "now">;

/** How often facts that change while they are billed are read again. */
const ROUNDS = 3;

/**
 * Brings what is on record for each period up to what its facts say now: the period's record, zero or not, or
 * an adjustment with the difference, or nothing. Events stored by `now` count, as far as their commit was done.
 * Records that know of later events stay as they are, and so do those that another call writes first. One
 * transaction for all items, or no record at all: a store's error is thrown. An item whose facts can't be billed,
 * or have changed again and again since they were counted, fails alone. Decisions 0030, 0031.
 */
export async function reconcile(
  tools: Tools,
  options: ReconcileOptions,
  counted: readonly Counted[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  let pending = counted;
  for (let round = 1; pending.length > 0; round++) {
    const { rated, failed } = rateAll(pending);
    const { settled, stale } = await recordAll(tools, options, rated);
    outcomes.push(...failed, ...settled);
    if (round === ROUNDS) {
      const changing = new Error("It keeps changing while it is billed");
      return [...outcomes, ...stale.map((item) => failure(item, changing))];
    }
    const again = await countUsage(tools, options.scope, stale);
    outcomes.push(...again.failed);
    pending = again.counted;
  }
  return outcomes;
}

/**
 * Rates closed periods by facts that are about to hold, for who writes those facts together with what they
 * cost: `recordRated`. Events stored by `counted_at` count. Errors: those of the usage store, conflict for the
 * first fact that can't be billed.
 */
export async function rateAhead(
  tools: Tools,
  scope: Scope,
  items: readonly DuePeriod[],
  counted_at: Temporal.Instant,
): Promise<Rated[]> {
  const { counted, failed: uncut } = await countUsage({ ...tools, now: counted_at }, scope, items);
  const { rated, failed } = rateAll(counted);
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
  rated: readonly Rated[],
  counted_at: Temporal.Instant,
): Promise<RunRecord[] | null> {
  const { ready, failed, stale, outdated } = await compareAll(q, options, rated, counted_at);
  if (stale.length + failed.length + outdated.length > 0) return null;
  const written = await writeAll(q, now, options.scope, ready);
  return written.length === ready.length ? written : null;
}

/**
 * What a period comes to by what is known now, without a look at what is on record: its lines so far. Errors:
 * throws where its facts can't be billed.
 */
export async function rateSoFar(tools: Tools, scope: Scope, item: DuePeriod): Promise<Rated> {
  const { counted, failed: uncut } = await countUsage(tools, scope, [item]);
  const { rated, failed } = rateAll(counted);
  const [only] = rated;
  if (only) return only;
  const [outcome] = [...uncut, ...failed];
  throw new Error(outcome?.result === "failed" ? outcome.message : "Cannot rate a period");
}

/** What a period should cost by its facts. */
export interface Rated {
  readonly item: DuePeriod;
  readonly lines: readonly BillLine[];
  readonly currency: string;
  readonly billing_model_id: number;
  /** Events up to this number are counted. */
  readonly usage_seq: number;
}

function rateAll(counted: readonly Counted[]): { rated: Rated[]; failed: Outcome[] } {
  const { done, failed } = perItem(counted, ratePeriod);
  return { rated: done, failed };
}

function ratePeriod({ item, parts, totals, usage_seq }: Counted): Rated {
  const { id, currency } = item.subscription.billing_model;
  const used = parts.map((segment, i) => {
    const counted = totals[i];
    if (!counted) throw new Error("Cannot rate a segment: its usage was not counted");
    const { units, event_count, corrections, digest } = counted;
    return { segment, usage: { units, event_count, corrections, usage_digest: digest } };
  });
  const { lines } = rate(used, currency, creditMonth(used, item.period));
  return { item, lines, currency, billing_model_id: parts.at(-1)?.model.id ?? id, usage_seq };
}

/** Writes what is left to write; `stale` are the items whose facts have changed since they were rated. */
async function recordAll(
  { store, now }: Tools,
  options: ReconcileOptions,
  rated: readonly Rated[],
): Promise<{ settled: Outcome[]; stale: DuePeriod[] }> {
  if (rated.length === 0) return { settled: [], stale: [] };
  if (options.dry_run) {
    const { ready, ...others } = await compareAll(store.read, options, rated, now);
    const stamp = { created_at: iso(now), updated_at: iso(now) };
    return settle(
      others,
      ready,
      ready.map(({ record }) => ({ ...toRecord(record), ...stamp })),
    );
  }
  return store.tx(async (q) => {
    const { ready, ...others } = await compareAll(q, options, rated, now);
    const written = await writeAll(q, now, options.scope, ready);
    return settle(others, ready, written);
  });
}

/** Writes the records whose place is still free, and tells of them. */
async function writeAll(
  q: Queries,
  now: Temporal.Instant,
  scope: Scope,
  ready: Compared["ready"],
): Promise<RunRecord[]> {
  const records = ready.map(({ record, usage_seq }) => ({ ...record, usage_seq }));
  const written = await insertRecords(q, now, records);
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

interface Compared {
  /** Items with the record that is missing. */
  ready: { item: DuePeriod; record: NewRecord; usage_seq: number }[];
  unchanged: Outcome[];
  /** Items of which a record knows later events than were counted. */
  outdated: DuePeriod[];
  failed: Outcome[];
  stale: DuePeriod[];
}

/** Holds what the periods should cost against what is on record for them. */
async function compareAll(
  q: Reads,
  options: ReconcileOptions,
  rated: readonly Rated[],
  now: Temporal.Instant,
): Promise<Compared> {
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
  const isCurrent = ({ item }: Rated) =>
    isDeepStrictEqual(current.get(item.subscription.id), item.subscription);
  const compared = perItem(rated.filter(isCurrent), (of) => {
    const { subscription, period } = of.item;
    const parts = recorded.get(placeOf(subscription.id, iso(period.from))) ?? [];
    const is_outdated = parts.some((part) => knowsMore(part, of, now));
    const next = is_outdated ? null : nextRecord(options, of, parts, now);
    const record = next && of.item.is_quiet && movesNoMoney(next) ? null : next;
    return { item: of.item, is_outdated, record, usage_seq: of.usage_seq };
  });
  const { done } = compared;
  return {
    ready: done.flatMap(({ record, item, usage_seq }) => (record ? [{ item, record, usage_seq }] : [])),
    unchanged: done.flatMap(({ item, is_outdated, record }) =>
      record || is_outdated ? [] : [unchanged(item)],
    ),
    outdated: done.flatMap(({ item, is_outdated }) => (is_outdated ? [item] : [])),
    failed: compared.failed,
    stale: rated.flatMap((of) => {
      const subscription = current.get(of.item.subscription.id);
      return subscription && !isCurrent(of) ? [{ ...of.item, subscription }] : [];
    }),
  };
}

/** Whether a record only tells of events and units, such as those of a package that was begun, or under a minimum. */
function movesNoMoney({ kind, totalCharges }: NewRecord): boolean {
  return kind === "adjustment" && isZero(totalCharges);
}

/** What one record knows, the next one must know too: a question asked earlier may be answered here later. */
function knowsMore(part: RecordedPart, { usage_seq }: Rated, now: Temporal.Instant): boolean {
  return part.usage_until > iso(usageUntil(now)) || (part.usage_seq ?? 0) > usage_seq;
}

/** The record that is missing, or null when those on record say all. */
function nextRecord(
  { scope, billing_run_id }: ReconcileOptions,
  { item, lines, currency, billing_model_id }: Rated,
  recorded: readonly RecordedPart[],
  now: Temporal.Instant,
): NewRecord | null {
  const left = difference(
    lines,
    recorded.flatMap((part) => part.lines),
    currency,
  );
  const [first] = recorded;
  if (first && left.length === 0) return null;
  return {
    company_id: scope.company_id,
    subscription_id: item.subscription.id,
    billing_model_id,
    billing_run_id,
    kind: first ? "adjustment" : "period",
    sequence: (recorded.at(-1)?.sequence ?? -1) + 1,
    adjusts_billing_record_id: first?.id ?? null,
    currency,
    billedUnits: billedUnits(left),
    totalCharges: total(left, currency),
    billingStartAt: iso(item.period.from),
    billingEndAt: iso(item.period.to),
    lines: left,
    usage_until: iso(usageUntil(now)),
  };
}

/**
 * What became of each item: a record that was ready and not written had its place taken by another call, and one
 * that knows more was written by a later call, by the same facts or with those that changed since.
 */
function settle(
  { unchanged: same, outdated, failed, stale }: Omit<Compared, "ready">,
  ready: Compared["ready"],
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
