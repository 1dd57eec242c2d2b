import { isDeepStrictEqual } from "node:util";
import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { type Scope, scopeOf } from "../../core/access.ts";
import { interleave } from "../../core/chunk.ts";
import { isZero } from "../../core/money.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { findMeters } from "../meters/queries.ts";
import type { AddOnStretch, UsedAddOn } from "../rating/add_on_lines.ts";
import type { BillLine } from "../rating/bill_line.ts";
import { type MissingRecord, missingRecord } from "../rating/billed_parts.ts";
import { billedUnits, rate as rateSegments, total, type UsedSegment } from "../rating/charges.ts";
import { creditMonth } from "../rating/credit_month.ts";
import type { Segment } from "../rating/segments.ts";
import { listRecorded, type NewRecord, type RecordedPart } from "../records/queries.ts";
import { type DuePeriod, intervalFeesOf, stretchesIn } from "./billable.ts";
import { listBillable } from "./billable_queries.ts";
import { CommitmentYears } from "./commitment_years.ts";
import type { RunRecord } from "./model.ts";
import { NO_DIGEST } from "../../usage_store/digest.ts";
import { namedMeters, withoutMinimums } from "../billing_models/price_terms.ts";
import { ChargeMeasures } from "../meters/measure_charges.ts";
import type { Unmetered } from "../meters/unmetered.ts";

// How a period becomes a record: due (find_due.ts) → segment → meter → rate → diff → write (write_records.ts). Each stage
// adds to the period. Previews stop after `rate`; plan changes too, and go on in the transaction that applies them.

interface SegmentedPeriod extends DuePeriod {
  readonly segments: readonly Segment[];
  readonly add_ons: readonly AddOnStretch[];
}

/** A period with what was used in it, by the events stored before `usage_until` with a number up to `usage_seq`. */
export interface MeteredPeriod extends SegmentedPeriod {
  readonly used: readonly UsedSegment[];
  readonly used_add_ons: readonly UsedAddOn[];
  readonly unmetered?: Unmetered | undefined;
  readonly usage_until: IsoInstant;
  readonly usage_seq: number;
}

/** A period with the lines that all of its records together should have. */
export interface RatedPeriod extends MeteredPeriod {
  readonly lines: readonly BillLine[];
}

/** A period that can't be billed, and why. */
export type FailedPeriod = DuePeriod & { readonly result: "failed"; readonly message: string };

/** A period without a record to write, and why. */
type UnwrittenPeriod =
  | FailedPeriod
  /** Its records are up to date: `unchanged`. Or a record counts events that were not metered: `outdated`. */
  | (DuePeriod & { readonly result: "unchanged" | "outdated" })
  /** The subscription has changed since it was read; this is the one of now. */
  | (DuePeriod & { readonly result: "stale" });

/** A period whose records were compared with its lines. */
export type ComparedPeriod =
  | UnwrittenPeriod
  | (RatedPeriod & {
      readonly result: "ready";
      readonly record: NewRecord;
      /** The number of the last event that the period's records have counted with this one. */
      readonly counted_seq: number | null;
    });

/** What became of a period at the end of the pipeline. */
export type Outcome =
  | UnwrittenPeriod
  | (DuePeriod & { readonly result: "written"; readonly record: RunRecord });

/** What a stage makes of periods. */
interface Staged<P> {
  readonly done: P[];
  readonly failed: FailedPeriod[];
}

/** How a run writes: under which id, or not at all. */
export interface RunOptions {
  readonly billing_run_id: number | null;
  readonly dry_run: boolean;
  /** What a dry run would have written by now, which later records of a year depend on. */
  readonly unwritten?: NewRecord[];
}

type MeterContext = Pick<Context, "actor" | "usage" | "config" | "now" | "store">;

/** Periods that are segmented, or rated, before requests get their turn: with many charges one takes 0.3 ms. */
const SEGMENT_BATCH = 50;
const RATE_BATCH = 8;

/** The stages `segment` and `meter`. Errors: those of the usage store. */
export async function meterDue(ctx: MeterContext, due: readonly DuePeriod[]): Promise<Staged<MeteredPeriod>> {
  const segmented = await segment(due);
  return { ...segmented, done: await meter(ctx, segmented.done) };
}

/** The stages `segment`, `meter` and `rate`. Errors: those of the usage store. */
export async function rateDue(ctx: MeterContext, due: readonly DuePeriod[]): Promise<Staged<RatedPeriod>> {
  const metered = await meterDue(ctx, due);
  const done: RatedPeriod[] = [];
  const failed = [...metered.failed];
  for await (const batch of interleave(metered.done, RATE_BATCH)) {
    const rated = rate(batch);
    done.push(...rated.done);
    failed.push(...rated.failed);
  }
  return { done, failed };
}

/** The stages `segment` and `rate` of what is billed in advance, which no usage changes. */
export async function rateInAdvance(due: readonly DuePeriod[]): Promise<Staged<RatedPeriod>> {
  const segmented = await segment(due);
  const rated = rate(segmented.done.map(unused));
  return { ...rated, failed: [...segmented.failed, ...rated.failed] };
}

/** A period of which no usage is counted. */
function unused(period: SegmentedPeriod): MeteredPeriod {
  const usage = { units: "0", event_count: 0, usage_digest: NO_DIGEST };
  const used = period.segments.map((part) => ({ segment: part, usage }));
  return { ...period, used, used_add_ons: [], usage_until: iso(period.period.from), usage_seq: 0 };
}

async function segment(due: readonly DuePeriod[]): Promise<Staged<SegmentedPeriod>> {
  const done: SegmentedPeriod[] = [];
  const failed: FailedPeriod[] = [];
  for await (const batch of interleave(due, SEGMENT_BATCH)) {
    const segmented = attemptEach(batch, (period) => ({ ...period, ...stretchesIn(period) }));
    done.push(...segmented.done);
    failed.push(...segmented.failed);
  }
  return { done, failed };
}

/**
 * Counts the usage of all segments by one query to the usage store, which reads each event once, however many
 * periods there are. Errors: those of the usage store.
 */
async function meter(ctx: MeterContext, all: readonly SegmentedPeriod[]): Promise<MeteredPeriod[]> {
  const periods = all.filter(({ part }) => part !== "advance");
  if (periods.length === 0) return all.map(unused);
  const { actor, usage, config, now } = ctx;
  const { company_id } = scopeOf(actor);
  const measures = new ChargeMeasures(
    await findMeters(
      readTx(ctx),
      namedMeters(
        periods.flatMap(({ segments, add_ons }) => [
          ...segments.map(({ model }) => model),
          ...add_ons.map((stretch) => stretch.segment.model),
        ]),
      ),
    ),
  );
  const unmetered = new Map(
    periods.map((period) => {
      measures.add(period);
      return [period, measures.addUnmetered(period)];
    }),
  );
  const windows = periods.flatMap(({ subscription, segments }) =>
    segments.map(({ from, to }) => ({
      subscription_id: subscription.id,
      start_ms: from.epochMilliseconds,
      end_ms: to.epochMilliseconds,
    })),
  );
  const timeout_ms = config.usage_query_timeout_ms;
  const usage_seq = await usage.lastSeq(company_id, timeout_ms);
  // Events count that were stored by `now`, in whole milliseconds.
  const until = now.add({ milliseconds: 1 });
  const stored_by = { created_until_ms: until.epochMilliseconds, last_seq: usage_seq };
  const totals = (await usage.totals(company_id, windows, { ...stored_by, timeout_ms })).values();
  await measures.ask(usage, { company_id, ...stored_by }, timeout_ms);
  return all.map((period) => {
    if (period.part === "advance") return unused(period);
    const used = period.segments.map((part) => {
      const counted = totals.next().value;
      if (!counted) throw new Error("Cannot rate a segment: its usage was not counted");
      const { units, event_count, corrections, digest } = counted;
      return measures.used(part, { units, event_count, corrections, usage_digest: digest });
    });
    const used_add_ons = period.add_ons.map((stretch) => measures.usedAddOn(stretch));
    const left_over = unmetered.get(period)?.();
    return { ...period, used, used_add_ons, unmetered: left_over, usage_until: iso(until), usage_seq };
  });
}

export function rate(metered: readonly MeteredPeriod[]): Staged<RatedPeriod> {
  return attemptEach(metered, (period) => {
    const { used_add_ons, subscription } = period;
    const used = period.part === "interim" ? period.used.map(asUsedSoFar) : period.used;
    const { currency } = subscription.billing_model;
    const credits = creditMonth(used, period.period);
    const { lines } = rateSegments(used, currency, credits, used_add_ons, intervalFeesOf(period));
    return { ...period, lines };
  });
}

function asUsedSoFar(used: UsedSegment): UsedSegment {
  return { ...used, segment: { ...used.segment, model: withoutMinimums(used.segment.model) } };
}

/**
 * Compares the lines with those on record and finds the record that is missing, if any. Reads the subscriptions
 * again: optimistic concurrency, since metering can't be in the transaction.
 */
export async function diff(
  tx: ReadTx,
  options: RunOptions,
  rated: readonly RatedPeriod[],
): Promise<ComparedPeriod[]> {
  const ids = [...new Set(rated.map(({ subscription }) => subscription.id))];
  const starts = [...new Set(rated.map(({ period }) => iso(period.from)))];
  const found = await listBillable(tx, { ids, limit: ids.length, due_by: dueBy(options, tx.now) });
  const current = new Map(found.map((subscription) => [subscription.id, subscription]));
  const recorded = Map.groupBy(await listRecorded(tx, ids, starts), recordKey);
  const years = await new CommitmentYears().read(tx, rated);
  for (const record of options.unwritten ?? []) years.add(record);
  const { done, failed } = attemptEach(rated, (period): ComparedPeriod[] => {
    const subscription = current.get(period.subscription.id);
    if (!subscription) return [];
    if (!isDeepStrictEqual(subscription, period.subscription)) {
      return [{ ...period, subscription, result: "stale" }];
    }
    const parts = recorded.get(periodKey(period)) ?? [];
    if (parts.some((part) => hasNewerCount(part, period))) return [{ ...period, result: "outdated" }];
    const record = nextRecord(tx.scope, options, years.withLines(period), parts);
    const is_due = record !== null && !(period.is_quiet && isFreeOfCharge(record));
    if (is_due && years.add(record)) options.unwritten?.push(record);
    const counted_seq = countedBy(period, parts).usage_seq;
    return [
      is_due ? { ...period, result: "ready", record, counted_seq } : { ...period, result: "unchanged" },
    ];
  });
  return [...done.flat(), ...failed];
}

/** Applies a pure stage to each period; one that the stage can't take fails alone. */
function attemptEach<P extends DuePeriod, R>(periods: readonly P[], stage: (period: P) => R): Staged<R> {
  const done: R[] = [];
  const failed: FailedPeriod[] = [];
  for (const period of periods) {
    try {
      done.push(stage(period));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      failed.push({ ...period, result: "failed", message });
    }
  }
  return { done, failed };
}

/** A dry run applies no plan change: it counts those as applied that a run would apply first. */
export function dueBy({ dry_run }: RunOptions, now: Temporal.Instant): IsoInstant | undefined {
  return dry_run ? iso(now) : undefined;
}

/** Whether a record counts events that this period does not: it must not be followed by one that counts less. */
function hasNewerCount(record: RecordedPart, { part, usage_until, usage_seq }: MeteredPeriod): boolean {
  if (part === "advance") return false;
  return record.usage_until > usage_until || (record.usage_seq ?? 0) > usage_seq;
}

/** Up to which events a period's records count with the next one: what is billed in advance counts no more. */
function countedBy(
  { part, usage_until, usage_seq }: MeteredPeriod,
  recorded: readonly RecordedPart[],
): Pick<RecordedPart, "usage_until" | "usage_seq"> {
  const last = part === "advance" ? recorded.at(-1) : undefined;
  return last ?? { usage_until, usage_seq };
}

/** Whether a record is an adjustment of events and units only, such as those of a package that was begun. */
function isFreeOfCharge({ kind, totalCharges }: NewRecord): boolean {
  return kind === "adjustment" && isZero(totalCharges);
}

/** What is missing of a period by its lines and those on record. */
export function missingOf(
  { subscription, part, lines: expected }: RatedPeriod,
  records: readonly RecordedPart[],
): MissingRecord | null {
  const { timeline, billing_model } = subscription;
  const found = { expected, records, currency: billing_model.currency };
  return missingRecord(part, found, (id) =>
    timeline.some(
      (entry) => entry.billing_model.id === id && entry.billing_model.fee_timing === "in_advance",
    ),
  );
}

/** The record that is missing, or null when those on record are complete. */
export function nextRecord(
  { company_id }: Scope,
  { billing_run_id }: Pick<RunOptions, "billing_run_id">,
  rated: RatedPeriod,
  recorded: readonly RecordedPart[],
): NewRecord | null {
  const { subscription, period, segments } = rated;
  const { id, currency } = subscription.billing_model;
  const missing = missingOf(rated, recorded);
  if (missing === null) return null;
  const { kind, adjusts_billing_record_id } = missing;
  const lines = [...missing.lines];
  return {
    company_id,
    subscription_id: subscription.id,
    billing_model_id: segments.at(-1)?.model.id ?? id,
    billing_run_id,
    kind,
    sequence: (recorded.at(-1)?.sequence ?? -1) + 1,
    adjusts_billing_record_id,
    currency,
    billedUnits: billedUnits(lines),
    totalCharges: total(lines, currency),
    billingStartAt: iso(period.from),
    billingEndAt: iso(period.to),
    lines,
    // What is billed in advance counts nothing: it says what is on record.
    unmetered: (rated.part === "advance" ? recorded.at(-1)?.unmetered : rated.unmetered) ?? null,
    usage_until: countedBy(rated, recorded).usage_until,
  };
}

type PeriodPlace = Pick<RecordedPart, "subscription_id" | "billingStartAt">;

export const recordKey = (record: PeriodPlace) => `${record.subscription_id} ${record.billingStartAt}`;

export const periodKey = ({ subscription, period }: DuePeriod) => `${subscription.id} ${iso(period.from)}`;
