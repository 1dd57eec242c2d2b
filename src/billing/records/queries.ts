import {
  and,
  asc,
  count,
  desc,
  eq,
  gt,
  gte,
  inArray,
  lt,
  lte,
  max,
  min,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import type { Bounds } from "../../core/periods.ts";
import { instant, iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { filterOnly, idIn } from "../../store/expressions.ts";
import { insertRows } from "../../store/insert_rows.ts";
import { columnsOf, findRow, matching } from "../../store/list_rows.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { Unmetered } from "../meters/unmetered.ts";
import type { RecordKind } from "../rating/record_kinds.ts";
import type { BillLine } from "../rating/bill_line.ts";
import type { ClosedPeriods } from "../subscriptions/due_periods.ts";
import { subscriptionColumns } from "../subscriptions/queries.ts";
import { withStatus } from "../subscriptions/rules.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import { type BillingRecord, type BillingRecordDetail, RecordFields } from "./model.ts";
import { billingRecordTable } from "./tables.ts";

// Periods that have a record. One is closed when its own is there; before that it may have records in advance.

/** How many periods of each subscription are closed, where the first one starts, and the last one. */
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
    .where(and(ofSubscriptions(tx, subscription_ids), eq(t.kind, "period")))
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
export function listRecordedBounds(
  tx: ReadTx,
  subscription_ids: readonly number[],
  touching?: Bounds,
): Promise<Map<number, Bounds[]>> {
  return listBounds(tx, subscription_ids, eq(tx.q.use(billingRecordTable).sequence, 0), touching);
}

/** The bounds of each subscription's closed periods, ascending. */
export function listClosedBounds(
  tx: ReadTx,
  subscription_ids: readonly number[],
): Promise<Map<number, Bounds[]>> {
  return listBounds(tx, subscription_ids, eq(tx.q.use(billingRecordTable).kind, "period"));
}

/** A period with records, but not yet its own. */
export interface BegunPeriod {
  readonly bounds: Bounds;
  /** Whether what is billed in advance is on record. */
  readonly has_advance: boolean;
}

/** Each subscription's periods with records that are not closed. */
export async function listBegunPeriods(
  tx: ReadTx,
  subscription_ids: readonly number[],
): Promise<Map<number, BegunPeriod[]>> {
  const t = tx.q.use(billingRecordTable);
  const { subscription_id, billingStartAt } = t;
  const countOf = (kind: RecordKind) => count(sql`CASE WHEN ${t.kind} = ${kind} THEN 1 END`);
  const rows = await tx.q
    .select({ subscription_id, billingStartAt, end: max(t.billingEndAt), advances: countOf("advance") })
    .from(t)
    .where(ofSubscriptions(tx, subscription_ids))
    .groupBy(subscription_id, billingStartAt)
    .having(eq(countOf("period"), 0));
  const begun = rows.flatMap(({ subscription_id: id, billingStartAt: start, end, advances }) =>
    end === null
      ? []
      : [{ id, bounds: { from: instant(start), to: instant(end) }, has_advance: advances > 0 }],
  );
  return Map.groupBy(begun, ({ id }) => id);
}

async function listBounds(
  tx: ReadTx,
  subscription_ids: readonly number[],
  which: SQL | undefined,
  touching?: Bounds,
): Promise<Map<number, Bounds[]>> {
  const t = tx.q.use(billingRecordTable);
  const { subscription_id, billingStartAt, billingEndAt } = t;
  const touches = touching && [gt(billingEndAt, iso(touching.from)), lt(billingStartAt, iso(touching.to))];
  const rows = await selectRows(tx.q, t, {
    columns: { subscription_id, billingStartAt, billingEndAt },
    where: and(ofSubscriptions(tx, subscription_ids), which, ...(touches ?? [])),
    order: [asc(subscription_id), asc(billingStartAt)],
  });
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
 * The closed periods that ended, or whose last record was written, after an instant; or the others,
 * settled by then.
 */
export async function listCountedPeriods(
  tx: ReadTx,
  subscription_ids: readonly number[],
  which: { open_since: Temporal.Instant } | { settled_by: Temporal.Instant },
): Promise<RecordedCount[]> {
  const t = tx.q.use(billingRecordTable);
  const { subscription_id, billingStartAt } = t;
  const [ended, written] = [max(t.billingEndAt), max(t.created_at)];
  const is_closed = gt(count(sql`CASE WHEN ${t.kind} = ${"period"} THEN 1 END`), 0);
  const wanted =
    "open_since" in which
      ? or(gt(ended, iso(which.open_since)), gt(written, iso(which.open_since)))
      : and(lte(ended, iso(which.settled_by)), lte(written, iso(which.settled_by)));
  const rows = await tx.q
    .select({
      subscription_id,
      billingStartAt,
      billingEndAt: ended,
      usage_until: max(t.usage_until),
      usage_seq: max(t.usage_seq),
      last_written: written,
    })
    .from(t)
    .where(ofSubscriptions(tx, subscription_ids))
    .groupBy(subscription_id, billingStartAt)
    .having(and(is_closed, wanted));
  return rows.flatMap(({ billingEndAt, usage_until, last_written, ...row }) =>
    billingEndAt === null || usage_until === null || last_written === null
      ? []
      : [{ ...row, billingEndAt, usage_until, last_written }],
  );
}

function ofSubscriptions({ q, scope }: ReadTx, ids: readonly number[]): SQL | undefined {
  const t = q.use(billingRecordTable);
  return and(idIn(t.subscription_id, ids), filterOnly(eq(t.company_id, scope.company_id)));
}

/** Up to when the records of a subscription's periods from `start` on have counted events, at the latest. */
export async function findLastCount(
  tx: ReadTx,
  subscription_id: number,
  start: IsoInstant,
): Promise<IsoInstant | null> {
  const t = tx.q.use(billingRecordTable);
  const { company_id } = tx.scope;
  const row = await findRow(tx.q, t, {
    columns: { usage_until: t.usage_until },
    where: and(matching(t, { company_id, subscription_id }), gte(t.billingStartAt, start)),
    order: desc(t.usage_until),
    limit: 1,
  });
  return row?.usage_until ?? null;
}

/** The number of the last event that a bill of the company, or with null of any, has counted; 0 where none has. */
export async function findLastCounted(q: Reads, company_id: number | null): Promise<number> {
  const t = q.use(billingRecordTable);
  const where = company_id === null ? undefined : eq(t.company_id, company_id);
  const row = await findRow(q, t, { columns: { seq: max(t.usage_seq) }, where });
  return row?.seq ?? 0;
}

// Billing records.

/** A record of a period, as far as the next one needs it. */
export interface RecordedPart {
  id: number;
  subscription_id: number;
  billingStartAt: IsoInstant;
  kind: RecordKind;
  sequence: number;
  usage_until: IsoInstant;
  usage_seq: number | null;
  lines: BillLine[];
  /** What it says that nothing counted. */
  unmetered?: Unmetered | null;
  created_at: IsoInstant;
}

const partColumns = oncePerDialect((q) => {
  const { id, subscription_id, billingStartAt, kind, sequence, ...t } = q.use(billingRecordTable);
  const { usage_until, usage_seq, lines, unmetered, created_at } = t;
  const place = { id, subscription_id, billingStartAt, kind, sequence };
  return { ...place, usage_until, usage_seq, lines, unmetered, created_at };
});

/** The records of periods that start at `starts`, first to last. */
export async function listRecorded(
  tx: ReadTx,
  subscription_ids: readonly number[],
  starts: readonly IsoInstant[],
): Promise<RecordedPart[]> {
  const t = tx.q.use(billingRecordTable);
  return selectRows(tx.q, t, {
    columns: partColumns(tx.q),
    where: and(ofSubscriptions(tx, subscription_ids), inArray(t.billingStartAt, [...starts])),
    order: [asc(t.subscription_id), asc(t.billingStartAt), asc(t.sequence)],
  });
}

/** The records of a subscription's period that an instant is in, first to last, and their currency. */
export async function listRecordedAt(
  tx: ReadTx,
  subscription_id: number,
  at: IsoInstant,
): Promise<(RecordedPart & { currency: string })[]> {
  const t = tx.q.use(billingRecordTable);
  return selectRows(tx.q, t, {
    columns: { ...partColumns(tx.q), currency: t.currency },
    where: and(ofSubscriptions(tx, [subscription_id]), lte(t.billingStartAt, at), gt(t.billingEndAt, at)),
    order: [asc(t.billingStartAt), asc(t.sequence)],
  });
}

/** The records of periods that start in `[from, to)`, in the order in which they were written. */
export async function listRecordedBetween(
  tx: ReadTx,
  subscription_ids: readonly number[],
  { from, to }: Bounds,
): Promise<RecordedPart[]> {
  const t = tx.q.use(billingRecordTable);
  const starts = and(gte(t.billingStartAt, iso(from)), lt(t.billingStartAt, iso(to)));
  return selectRows(tx.q, t, {
    columns: partColumns(tx.q),
    where: and(ofSubscriptions(tx, subscription_ids), starts),
    order: [asc(t.id)],
  });
}

/** A record still to be written. */
export type NewRecord = Omit<StoredRecord, "id" | "created_at" | "updated_at">;

type StoredRecord = Omit<RecordFields, "billedUnits" | "unmetered"> & {
  billedUnits: string;
  unmetered: Unmetered | null;
  lines: BillLine[];
};

/** Writes the records whose place is free, and returns those: another run may have been first. */
export async function insertRecords(
  { q, now }: Tx,
  records: readonly (NewRecord & { usage_seq: number | null })[],
): Promise<(BillingRecord & { lines: BillLine[] })[]> {
  const t = q.use(billingRecordTable);
  const stamps = stamped(now);
  const rows = await insertRows(
    q,
    t,
    records.map((record) => ({ ...record, ...stamps })),
    {
      returning: writtenColumns(q),
      on_conflict_skip: [t.subscription_id, t.billingStartAt, t.sequence],
    },
  );
  return rows.map(toRecord).toSorted((a, b) => a.id - b.id);
}

/** A stored record as on the wire, where billedUnits is a number, and usage that nothing counted is there if there is any. */
export function toRecord<R extends Pick<StoredRecord, "billedUnits" | "unmetered">>(
  row: R,
): Omit<R, "billedUnits" | "unmetered"> & { billedUnits: number; unmetered?: Unmetered } {
  const { billedUnits, unmetered, ...rest } = row;
  const left_over: Unmetered | null = unmetered;
  return {
    ...rest,
    billedUnits: Number(billedUnits),
    ...(left_over === null ? {} : { unmetered: left_over }),
  };
}

/** The columns of a record on the wire. */
export const recordColumns = (q: Reads) => columnsOf(q.use(billingRecordTable), RecordFields);

const writtenColumns = oncePerDialect((q) => ({
  ...recordColumns(q),
  lines: q.use(billingRecordTable).lines,
}));

/** A record with its lines and its subscription as it is at `now`. */
export async function findRecord(tx: ReadTx, id: number): Promise<BillingRecordDetail | undefined> {
  const t = tx.q.use(billingRecordTable);
  const subscriptions = tx.q.use(subscriptionTable);
  const row = await findRow(tx.q, t, {
    columns: { ...recordColumns(tx.q), lines: t.lines, subscription: subscriptionColumns(tx.q) },
    joins: [[subscriptions, eq(subscriptions.id, t.subscription_id)]],
    where: and(inScope(tx), eq(t.id, id)),
  });
  return row && { ...toRecord(row), subscription: withStatus(row.subscription, tx.now) };
}

/** The records that the caller may see. */
export function inScope({ q, scope: { company_id, client_id } }: ReadTx): SQL | undefined {
  return and(eq(q.use(billingRecordTable).company_id, company_id), ofSubscriptionsThat(q, { client_id }));
}

/** The records of a client's or product's subscriptions; without either it narrows nothing. */
export function ofSubscriptionsThat(
  q: Reads,
  filter: { client_id?: number | undefined; product_id?: number | undefined },
): SQL | undefined {
  const subscriptions = q.use(subscriptionTable);
  const which = matching(subscriptions, filter);
  if (which === undefined) return undefined;
  const ids = q.select({ id: subscriptions.id }).from(subscriptions).where(which);
  return inArray(q.use(billingRecordTable).subscription_id, ids);
}
