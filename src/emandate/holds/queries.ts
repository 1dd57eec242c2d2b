import { and, count, eq, inArray, isNotNull, isNull, lt, sql } from "drizzle-orm";
import { AppError } from "../../core/errors.ts";
import type { Decimal } from "../../core/money.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { companyOwned } from "../../store/expressions.ts";
import { insertRows } from "../../store/insert_rows.ts";
import { findRow } from "../../store/list_rows.ts";
import { countRows } from "../../store/select_rows.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import { companyTable } from "../../tenancy/companies/tables.ts";
import { mandateTable } from "../mandates/tables.ts";
import { mandatePaymentTable } from "../payments/tables.ts";
import { OPEN_STATUSES } from "../payments/rules.ts";
import { debitHoldTable } from "./tables.ts";

/** A company's hold. */
export interface DebitHold {
  readonly reason: string;
  readonly created_at: IsoInstant;
}

/** Holds the debits of every company, but those that are held already. */
export async function holdAllDebits(q: Queries, now: Temporal.Instant, reason: string): Promise<void> {
  const t = q.use(debitHoldTable);
  const held = q.select({ id: t.company_id }).from(t).where(isNull(t.released_at));
  const companies = q.use(companyTable);
  const rows = await q
    .select({ company_id: companies.id })
    .from(companies)
    .where(sql`${companies.id} NOT IN ${held}`);
  await insertRows(
    q,
    t,
    rows.map(({ company_id }) => ({ company_id, reason, released_at: null, ...stamped(now) })),
    { returning: { id: t.id } },
  );
}

/** The hold on the company's debits, if any. */
export function findHold({ q, scope }: ReadTx): Promise<DebitHold | undefined> {
  const t = q.use(debitHoldTable);
  return findRow(q, t, {
    columns: { reason: t.reason, created_at: t.created_at },
    where: and(companyOwned(t, scope), isNull(t.released_at)),
  });
}

/** Refuses to send a debit while they are held. `action`: "debit mandate 7". Errors: conflict. */
export async function checkNotHeld(tx: ReadTx, action: string): Promise<void> {
  const hold = await findHold(tx);
  if (!hold) return;
  const release = "the operator releases them by `meterhouse collections resume`";
  throw new AppError("conflict", `Cannot ${action}: debits are held since ${hold.reason}; ${release}`);
}

/** Ends the hold; returns when it began, or undefined where there is none. */
export async function releaseHold({ q, scope, now }: Tx): Promise<DebitHold | undefined> {
  const t = q.use(debitHoldTable);
  const [released] = await q
    .update(t)
    .set({ released_at: iso(now), updated_at: iso(now) })
    .where(and(companyOwned(t, scope), isNull(t.released_at)))
    .returning({ reason: t.reason, created_at: t.created_at });
  return released;
}

/** How many companies' debits are held. */
export async function countHolds(q: Reads): Promise<number> {
  const t = q.use(debitHoldTable);
  return countRows(q, t, isNull(t.released_at));
}

/** How many open payments are due before an instant, and their sum. */
export async function sumDuePayments(
  { q, scope }: ReadTx,
  before: IsoInstant,
): Promise<{ due: number; amount: Decimal }> {
  const t = q.use(mandatePaymentTable);
  const amount = sql<Decimal>`coalesce(sum(${t.amount}), 0)`.mapWith(t.amount);
  const row = await findRow(q, t, {
    columns: { due: count(), amount },
    where: and(companyOwned(t, scope), inArray(t.status, [...OPEN_STATUSES]), lt(t.next_attempt_at, before)),
  });
  return row ?? { due: 0, amount: "0" };
}

/** How many active mandates are to be collected before an instant. */
export function countDueMandates({ q, scope }: ReadTx, before: IsoInstant): Promise<number> {
  const t = q.use(mandateTable);
  const is_due = and(eq(t.status, "active"), lt(t.next_collection_at, before));
  return countRows(q, t, and(companyOwned(t, scope), is_due, isNotNull(t.bankscheme_txn_amount)));
}
