import { and, desc, eq, inArray, isNotNull, isNull } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { filterOnly, idIn, companyOwned } from "../../store/expressions.ts";
import { insertRows } from "../../store/insert_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import type { MandateOrder } from "../orders/queries.ts";
import { mandateOrderTable } from "../orders/tables.ts";
import type { SchemeResult } from "../scheme/connector.ts";
import type { FlagReason, MandateFlag } from "./model.ts";
import { mandateFlagTable } from "./tables.ts";

/** An order of which a person must decide something, and what the scheme said of it. */
export interface NewFlag {
  readonly order: Pick<MandateOrder, "id" | "mandate_id" | "payment_id" | "awaits">;
  readonly reason: FlagReason;
  readonly response: Pick<SchemeResult, "code" | "message">;
}

/**
 * Puts orders on the list of what a person must decide, and tells of it; what is on it already, resolved or not, is
 * left as it is. Returns the ids of the orders that were put on it now.
 */
export async function raiseFlags(tx: Tx, flags: readonly NewFlag[]): Promise<Set<number>> {
  const t = tx.q.use(mandateFlagTable);
  const rows = await insertRows(
    tx.q,
    t,
    flags.map(({ order, reason, response }) => ({
      company_id: tx.scope.company_id,
      mandate_id: order.mandate_id,
      payment_id: order.payment_id,
      order_id: order.id,
      reason,
      about: (reason === "no_answer" ? order.awaits : response.code) ?? "",
      response_code: response.code,
      message: response.message,
      ...stamped(tx.now),
    })),
    { returning: flagged(tx.q), on_conflict_skip: [t.order_id, t.reason, t.about] },
  );
  await recordEvents(
    { ...tx, scope: { company_id: tx.scope.company_id } },
    rows.map((row) => flagEvent(row, "open")),
  );
  return new Set(rows.map(({ order_id }) => order_id));
}

/**
 * Flags an order of which the scheme complains that our message is wrong. What is wrong is wrong for all: while one
 * such flag of a company is open, others with that code are not raised. Returns whether it was.
 */
export async function raiseComplaint(
  tx: Tx,
  order: NewFlag["order"],
  response: NewFlag["response"],
): Promise<boolean> {
  const t = tx.q.use(mandateFlagTable);
  const reason = "message_refused";
  const [open] = await tx.q
    .select({ id: t.id })
    .from(t)
    .where(
      and(
        companyOwned(t, tx.scope),
        isNull(t.resolved_at),
        filterOnly(and(eq(t.reason, reason), eq(t.about, response.code ?? ""))),
      ),
    )
    .limit(1);
  if (open) return false;
  return (await raiseFlags(tx, [{ order, reason, response }])).has(order.id);
}

function flagged(q: Reads) {
  const t = q.use(mandateFlagTable);
  const { id, mandate_id, payment_id, order_id, reason } = t;
  return { id, mandate_id, payment_id, order_id, reason };
}

/** What is told of a flag. */
function flagEvent(
  { id, mandate_id, payment_id, reason }: Pick<MandateFlag, "id" | "mandate_id" | "payment_id" | "reason">,
  status: MandateFlag["status"],
): NewEvent {
  const type = status === "open" ? "emandate.flag.raised" : "emandate.flag.resolved";
  return { type, data: { id, mandate_id, payment_id, reason, status } };
}

/** Resolves what waited for an answer of these orders: the scheme has given one. */
export async function resolveAnswered(tx: Tx, order_ids: readonly number[]): Promise<void> {
  if (order_ids.length === 0) return;
  const t = tx.q.use(mandateFlagTable);
  const waited = inArray(t.reason, ["no_answer", "message_refused"]);
  const rows = await tx.q
    .update(t)
    .set({ resolved_at: iso(tx.now), note: "The scheme has answered since", updated_at: iso(tx.now) })
    .where(
      and(
        idIn(t.order_id, order_ids),
        filterOnly(and(companyOwned(t, tx.scope), isNull(t.resolved_at), waited)),
      ),
    )
    .returning(flagged(tx.q));
  await recordEvents(
    tx,
    rows.map((row) => flagEvent(row, "resolved")),
  );
}

/** Resolves a flag that is open; returns whether it was. */
export async function resolveFlag(
  tx: Tx,
  id: number,
  { note, resolved_by }: { note: string; resolved_by: number | null },
): Promise<boolean> {
  const t = tx.q.use(mandateFlagTable);
  const rows = await tx.q
    .update(t)
    .set({ note, resolved_by, resolved_at: iso(tx.now), updated_at: iso(tx.now) })
    .where(and(companyOwned(t, tx.scope), eq(t.id, id), isNull(t.resolved_at)))
    .returning(flagged(tx.q));
  await recordEvents(
    tx,
    rows.map((row) => flagEvent(row, "resolved")),
  );
  return rows.length > 0;
}

/** Which flags are meant; every field given narrows further. */
export interface FlagFilter {
  status?: MandateFlag["status"];
  reason?: FlagReason;
  mandate_id?: number;
  payment_id?: number;
}

/** Flags, newest first, and how many there are in all. */
export async function listFlags(
  { q, scope }: ReadTx,
  { status, reason, mandate_id, payment_id }: FlagFilter,
  { limit, offset }: Slice,
): Promise<{ rows: MandateFlag[]; total: number }> {
  const t = q.use(mandateFlagTable);
  const where = and(
    companyOwned(t, scope),
    status && (status === "open" ? isNull(t.resolved_at) : isNotNull(t.resolved_at)),
    reason && eq(t.reason, reason),
    mandate_id === undefined ? undefined : eq(t.mandate_id, mandate_id),
    payment_id === undefined ? undefined : eq(t.payment_id, payment_id),
  );
  const rows = await selectFlags(q).where(where).orderBy(desc(t.id)).limit(limit).offset(offset);
  return { rows: rows.map(toFlag), total: await q.$count(t, where) };
}

export async function findFlag({ q, scope }: ReadTx, id: number): Promise<MandateFlag | undefined> {
  const t = q.use(mandateFlagTable);
  const [row] = await selectFlags(q).where(and(companyOwned(t, scope), eq(t.id, id)));
  return row && toFlag(row);
}

function selectFlags(q: Reads) {
  const t = q.use(mandateFlagTable);
  const orders = q.use(mandateOrderTable);
  const { id, company_id, mandate_id, payment_id, reason, response_code, message } = t;
  const { note, resolved_by, resolved_at, created_at, updated_at } = t;
  return q
    .select({
      id,
      company_id,
      mandate_id,
      payment_id,
      order_no: orders.order_no,
      reason,
      response_code,
      message,
      note,
      resolved_by,
      resolved_at,
      created_at,
      updated_at,
    })
    .from(t)
    .innerJoin(orders, eq(orders.id, t.order_id));
}

function toFlag(row: Omit<MandateFlag, "status">): MandateFlag {
  return { ...row, status: row.resolved_at === null ? "open" : "resolved" };
}
