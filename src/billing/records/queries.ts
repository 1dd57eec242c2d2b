import { and, asc, count, desc, eq, gt, gte, inArray, lt, lte, max, min, or, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import type { Bounds } from "../../core/periods.ts";
import { instant, iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import type { Queries, ReadTx, Reads } from "../../store/store.ts";
import { billingModelColumns } from "../billing_models/queries.ts";
import { billingModelTable } from "../billing_models/tables.ts";
import { subscriptionColumns } from "../subscriptions/queries.ts";
import { withStatus } from "../subscriptions/rules.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import type { ClosedPeriods } from "../runs/due_periods.ts";
import type { BillingRecord, BillingRecordDetail } from "./model.ts";
import type { BillLine } from "../rating/charges.ts";
import { billingRecordTable } from "./tables.ts";
import { type BillableSubscription, withTimelines } from "../runs/timelines.ts";

// What is to be billed.

interface BillableFilter {
  /** Only these. */
  ids: readonly number[] | undefined;
  /** Where the batch before ended. */
  after_id?: number;
  limit: number;
  /** For what is only told: as if the scheduled changes that are due by then had been applied. */
  due_by?: IsoInstant | undefined;
}

/** Subscriptions by id, ended ones too, with the models they are billed by, in at most three statements. */
export async function listBillable(
  tx: ReadTx,
  { ids, after_id = 0, limit, due_by }: BillableFilter,
): Promise<BillableSubscription[]> {
  const t = tx.q.use(subscriptionTable);
  const billing_models = tx.q.use(billingModelTable);
  const rows = await tx.q
    .select({
      id: t.id,
      started_at: t.started_at,
      ends_at: t.ends_at,
      billing_anchor_day: t.billing_anchor_day,
      billing_model: billingModelColumns(tx.q),
    })
    .from(t)
    .innerJoin(billing_models, eq(billing_models.id, t.billing_model_id))
    .where(
      and(
        eq(t.company_id, tx.scope.company_id),
        tx.scope.client_id === undefined ? undefined : eq(t.client_id, tx.scope.client_id),
        gt(t.id, after_id),
        ids === undefined ? undefined : inArray(t.id, [...ids]),
      ),
    )
    .orderBy(asc(t.id))
    .limit(limit);
  return withTimelines(tx, rows, due_by);
}

/** Which of the ids are subscriptions of the company. */
export async function existingSubscriptions(
  { q, scope }: ReadTx,
  ids: readonly number[],
): Promise<Set<number>> {
  const t = q.use(subscriptionTable);
  const rows = await q
    .select({ id: t.id })
    .from(t)
    .where(and(eq(t.company_id, scope.company_id), inArray(t.id, [...ids])));
  return new Set(rows.map(({ id }) => id));
}

/** How many periods of each subscription have a record, where the first one starts, and the last one. */
export async function listClosedPeriods(
  tx: ReadTx,
  subscription_ids: readonly number[],
): Promise<Map<number, ClosedPeriods>> {
  const t = tx.q.use(billingRecordTable);
  const rows = await tx.q
    .select({
      subscription_id: t.subscription_id,
      count: count(),
      first_start: min(t.billingStartAt),
      last_start: max(t.billingStartAt),
      last_end: max(t.billingEndAt),
    })
    .from(t)
    .where(firstRecordsOf(tx, subscription_ids))
    .groupBy(t.subscription_id);
  return new Map(
    rows.flatMap(({ subscription_id, count: periods, first_start, last_start, last_end }) => {
      if (first_start === null || last_start === null || last_end === null) return [];
      const last = { from: instant(last_start), to: instant(last_end) };
      return [[subscription_id, { count: periods, first_start, last }] as const];
    }),
  );
}

/** The bounds of each subscription's periods that have a record, ascending; `touching`: only those that do. */
export async function listRecordedBounds(
  tx: ReadTx,
  subscription_ids: readonly number[],
  touching?: Bounds,
): Promise<Map<number, Bounds[]>> {
  const t = tx.q.use(billingRecordTable);
  const { subscription_id, billingStartAt, billingEndAt } = t;
  const touches = touching && [gt(billingEndAt, iso(touching.from)), lt(billingStartAt, iso(touching.to))];
  const rows = await tx.q
    .select({ subscription_id, billingStartAt, billingEndAt })
    .from(t)
    .where(and(firstRecordsOf(tx, subscription_ids), ...(touches ?? [])))
    .orderBy(asc(subscription_id), asc(billingStartAt));
  const groups = Map.groupBy(rows, (row) => row.subscription_id);
  return new Map(
    [...groups].map(([id, group]) => [
      id,
      group.map((row) => ({ from: instant(row.billingStartAt), to: instant(row.billingEndAt) })),
    ]),
  );
}

/** A period that has a record, and up to which events its records have counted. */
export type RecordedCount = Pick<
  RecordedPart,
  "subscription_id" | "billingStartAt" | "usage_until" | "usage_seq"
> & {
  billingEndAt: IsoInstant;
  /** When its last record was written. */
  last_written: IsoInstant;
};

/**
 * The periods that have a record and ended, or whose last record was written, after an instant; or the others,
 * settled by then.
 */
export async function listCountedPeriods(
  { q, scope }: ReadTx,
  subscription_ids: readonly number[],
  which: { open_since: Temporal.Instant } | { settled_by: Temporal.Instant },
): Promise<RecordedCount[]> {
  const t = q.use(billingRecordTable);
  const { subscription_id, billingStartAt } = t;
  const [ended, written] = [max(t.billingEndAt), max(t.created_at)];
  const wanted =
    "open_since" in which
      ? or(gt(ended, iso(which.open_since)), gt(written, iso(which.open_since)))
      : and(lte(ended, iso(which.settled_by)), lte(written, iso(which.settled_by)));
  const rows = await q
    .select({
      subscription_id,
      billingStartAt,
      billingEndAt: ended,
      usage_until: max(t.usage_until),
      usage_seq: max(t.usage_seq),
      last_written: written,
    })
    .from(t)
    .where(and(eq(t.company_id, scope.company_id), inArray(subscription_id, [...subscription_ids])))
    .groupBy(subscription_id, billingStartAt)
    .having(wanted);
  return rows.flatMap(({ billingEndAt, usage_until, last_written, ...row }) =>
    billingEndAt === null || usage_until === null || last_written === null
      ? []
      : [{ ...row, billingEndAt, usage_until, last_written }],
  );
}

function firstRecordsOf({ q, scope }: ReadTx, ids: readonly number[]) {
  const t = q.use(billingRecordTable);
  return and(eq(t.company_id, scope.company_id), inArray(t.subscription_id, [...ids]), eq(t.sequence, 0));
}

// Billing records.

/** What is on record for a period, as far as the next record needs it. */
export interface RecordedPart {
  id: number;
  subscription_id: number;
  billingStartAt: IsoInstant;
  sequence: number;
  usage_until: IsoInstant;
  usage_seq: number | null;
  lines: BillLine[];
  created_at: IsoInstant;
}

/** The records of periods that start at `starts`, first to last. */
export async function listRecorded(
  { q, scope }: ReadTx,
  subscription_ids: readonly number[],
  starts: readonly IsoInstant[],
): Promise<RecordedPart[]> {
  const t = q.use(billingRecordTable);
  const { id, subscription_id, billingStartAt, sequence, usage_until, usage_seq, lines, created_at } = t;
  return q
    .select({ id, subscription_id, billingStartAt, sequence, usage_until, usage_seq, lines, created_at })
    .from(t)
    .where(
      and(
        eq(t.company_id, scope.company_id),
        inArray(t.subscription_id, [...subscription_ids]),
        inArray(t.billingStartAt, [...starts]),
      ),
    )
    .orderBy(asc(t.subscription_id), asc(t.billingStartAt), asc(t.sequence));
}

/** Up to when the records of a subscription's periods from `start` on have counted events, at the latest. */
export async function findLastCount(
  { q, scope }: ReadTx,
  subscription_id: number,
  start: IsoInstant,
): Promise<IsoInstant | null> {
  const t = q.use(billingRecordTable);
  const [row] = await q
    .select({ usage_until: t.usage_until })
    .from(t)
    .where(
      and(
        eq(t.company_id, scope.company_id),
        eq(t.subscription_id, subscription_id),
        gte(t.billingStartAt, start),
      ),
    )
    .orderBy(desc(t.usage_until))
    .limit(1);
  return row?.usage_until ?? null;
}

/** A record still to be written. */
export type NewRecord = Omit<StoredRecord, "id" | "created_at" | "updated_at">;

type StoredRecord = Omit<BillingRecord, "billedUnits"> & { billedUnits: string; lines: BillLine[] };

/** Writes the records whose place is free, and returns those: another run may have been first. */
export async function insertRecords(
  q: Queries,
  now: Temporal.Instant,
  records: readonly (NewRecord & { usage_seq: number })[],
): Promise<(BillingRecord & { lines: BillLine[] })[]> {
  if (records.length === 0) return [];
  const t = q.use(billingRecordTable);
  const rows = await q
    .insert(t)
    .values(records.map((record) => ({ ...record, ...stamped(now) })))
    .onConflictDoNothing({ target: [t.subscription_id, t.billingStartAt, t.sequence] })
    .returning({ ...recordColumns(q), lines: t.lines });
  return rows.map(toRecord).toSorted((a, b) => a.id - b.id);
}

/** A stored record as on the wire, where billedUnits is a number. */
export function toRecord<R extends { billedUnits: string }>(
  row: R,
): Omit<R, "billedUnits"> & { billedUnits: number } {
  return { ...row, billedUnits: Number(row.billedUnits) };
}

function recordColumns(q: Reads) {
  const t = q.use(billingRecordTable);
  const { id, subscription_id, billing_model_id, company_id, kind, sequence, adjusts_billing_record_id } = t;
  const { billing_run_id, currency, billedUnits, totalCharges, billingStartAt, billingEndAt } = t;
  const { usage_until, created_at, updated_at } = t;
  return {
    id,
    subscription_id,
    billing_model_id,
    company_id,
    kind,
    sequence,
    adjusts_billing_record_id,
    billing_run_id,
    currency,
    billedUnits,
    totalCharges,
    billingStartAt,
    billingEndAt,
    usage_until,
    created_at,
    updated_at,
  };
}

/** Which billing records are meant; every field given narrows further. */
export interface RecordFilter {
  subscription_id?: number;
  client_id?: number;
  kind?: BillingRecord["kind"];
}

/** Records without their lines, the last written first, and how many there are in all. */
export async function listRecords(
  tx: ReadTx,
  filter: RecordFilter,
  { limit, offset }: Slice,
): Promise<{ rows: BillingRecord[]; total: number }> {
  const t = tx.q.use(billingRecordTable);
  const where = and(
    recordsInScope(tx),
    filter.subscription_id === undefined ? undefined : eq(t.subscription_id, filter.subscription_id),
    filter.client_id === undefined ? undefined : ofClient(tx.q, filter.client_id),
    filter.kind === undefined ? undefined : eq(t.kind, filter.kind),
  );
  const rows = await tx.q
    .select(recordColumns(tx.q))
    .from(t)
    .where(where)
    .orderBy(desc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows: rows.map(toRecord), total: await tx.q.$count(t, where) };
}

/** A record with its lines and its subscription as it is at `now`. */
export async function findRecord(tx: ReadTx, id: number): Promise<BillingRecordDetail | undefined> {
  const t = tx.q.use(billingRecordTable);
  const subscriptions = tx.q.use(subscriptionTable);
  const [row] = await tx.q
    .select({ ...recordColumns(tx.q), lines: t.lines, subscription: subscriptionColumns(tx.q) })
    .from(t)
    .innerJoin(subscriptions, eq(subscriptions.id, t.subscription_id))
    .where(and(recordsInScope(tx), eq(t.id, id)));
  return row && { ...toRecord(row), subscription: withStatus(row.subscription, tx.now) };
}

function recordsInScope({ q, scope }: ReadTx): SQL | undefined {
  const t = q.use(billingRecordTable);
  return and(
    eq(t.company_id, scope.company_id),
    scope.client_id === undefined ? undefined : ofClient(q, scope.client_id),
  );
}

function ofClient(q: Reads, client_id: number): SQL {
  const billing_records = q.use(billingRecordTable);
  const subscriptions = q.use(subscriptionTable);
  const of_client = q
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .where(eq(subscriptions.client_id, client_id));
  return inArray(billing_records.subscription_id, of_client);
}

/** The number of the last event that a bill of any company has counted; 0 where none has. */
export async function findLastCounted(q: Reads): Promise<number> {
  const t = q.use(billingRecordTable);
  const [row] = await q.select({ seq: max(t.usage_seq) }).from(t);
  return row?.seq ?? 0;
}
