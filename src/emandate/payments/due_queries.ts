import { and, asc, eq, gt, inArray, isNotNull, isNull, lt, or } from "drizzle-orm";
import type { Decimal } from "../../core/money.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { companyOwned } from "../../store/expressions.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { mandateTable } from "../mandates/tables.ts";
import { OPEN_STATUSES } from "./rules.ts";
import { mandatePaymentTable } from "./tables.ts";
import type { ConnectorName } from "../scheme/connector.ts";

// Payments that wait.

/** Where a list of due payments goes on. */
export interface DueCursor {
  readonly next_attempt_at: IsoInstant;
  readonly id: number;
}

/** Which due payments are meant. */
export interface DuePage {
  readonly before: IsoInstant;
  readonly after: DueCursor | undefined;
  /** Only those of mandates that are debited by one of these. */
  readonly usable: readonly ConnectorName[];
  /** Whether those of collections are among them that were not tried yet, beside debits by hand. */
  readonly collects: boolean;
  readonly limit: number;
}

/** Payments of active mandates that wait in one of the open states and are due by `before`, the longest due first. */
export async function listDuePayments(
  { q, scope }: ReadTx,
  status: (typeof OPEN_STATUSES)[number],
  { before, after, usable, collects, limit }: DuePage,
): Promise<DueCursor[]> {
  const t = q.use(mandatePaymentTable);
  const mandates = q.use(mandateTable);
  const rows = await q
    .select({ id: t.id, next_attempt_at: t.next_attempt_at })
    .from(t)
    .innerJoin(mandates, and(eq(mandates.id, t.mandate_id), eq(mandates.status, "active")))
    .where(
      and(
        companyOwned(t, scope),
        eq(t.status, status),
        lt(t.next_attempt_at, before),
        inArray(mandates.connector, [...usable]),
        collects ? undefined : or(isNull(t.period_key), gt(t.attempt_count, 0)),
        after &&
          or(
            gt(t.next_attempt_at, after.next_attempt_at),
            and(eq(t.next_attempt_at, after.next_attempt_at), gt(t.id, after.id)),
          ),
      ),
    )
    .orderBy(asc(t.next_attempt_at), asc(t.id))
    .limit(limit);
  return rows.flatMap(({ id, next_attempt_at }) =>
    next_attempt_at === null ? [] : [{ id, next_attempt_at }],
  );
}

/** The payments of a mandate that wait, by id. */
export async function listOpenPayments({ q, scope }: ReadTx, mandate_id: number): Promise<number[]> {
  const t = q.use(mandatePaymentTable);
  const rows = await q
    .select({ id: t.id })
    .from(t)
    .where(and(companyOwned(t, scope), eq(t.mandate_id, mandate_id), inArray(t.status, [...OPEN_STATUSES])))
    .orderBy(asc(t.id));
  return rows.map(({ id }) => id);
}

/** How many payments of a mandate's collections wait. */
export async function countWaiting(tx: ReadTx, mandate_id: number): Promise<number> {
  return tx.q.$count(tx.q.use(mandatePaymentTable), waiting(tx, mandate_id));
}

/** Lets the collections of a mandate that wait take another amount. */
export async function updateWaitingAmounts(tx: Tx, mandate_id: number, amount: Decimal): Promise<void> {
  await tx.q
    .update(tx.q.use(mandatePaymentTable))
    .set({ amount, updated_at: iso(tx.now) })
    .where(waiting(tx, mandate_id));
}

/** What was asked for by hand is of the amount that was asked for. */
function waiting({ q, scope }: ReadTx, mandate_id: number) {
  const t = q.use(mandatePaymentTable);
  return and(
    companyOwned(t, scope),
    eq(t.mandate_id, mandate_id),
    inArray(t.status, [...OPEN_STATUSES]),
    isNotNull(t.period_key),
  );
}
