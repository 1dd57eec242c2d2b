import { and, eq, inArray, isNotNull, isNull } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { filterOnly, idIn, companyOwned } from "../../store/expressions.ts";
import type { RowOf } from "../../store/row_of.ts";
import { findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import { insertRows } from "../../store/insert_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import type { MandateOrder } from "../orders/queries.ts";
import { mandateOrderTable } from "../orders/tables.ts";
import type { SchemeResult } from "../scheme/connector.ts";
import type { FlagReason, MandateFlag } from "./model.ts";
import { mandateFlagTable } from "./tables.ts";

/** A flag to raise: its order, and the result that cannot be applied. */
export interface NewFlag {
  readonly order: Pick<MandateOrder, "id" | "mandate_id" | "payment_id" | "awaits">;
  readonly reason: FlagReason;
  readonly response: Pick<SchemeResult, "code" | "message">;
}

/**
 * Raises flags with their events, once for each order, reason and cause: one raised before stays, also when it is
 * resolved. Returns the ids of the orders that have a new flag.
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
    { returning: flagColumns(tx.q), on_conflict_skip: [t.order_id, t.reason, t.about] },
  );
  await recordFlagEvents(tx, rows, "open");
  return new Set(rows.map(({ order_id }) => order_id));
}

/**
 * Flags a complaint: the scheme says that our message is wrong. What is wrong is wrong for all orders, so a company
 * has at most one open flag for each code. Returns whether it was raised.
 */
export async function raiseComplaint(
  tx: Tx,
  order: NewFlag["order"],
  response: NewFlag["response"],
): Promise<boolean> {
  const t = tx.q.use(mandateFlagTable);
  const reason = "message_refused";
  const open = await findRow(tx.q, t, {
    columns: { id: t.id },
    where: and(
      companyOwned(t, tx.scope),
      isNull(t.resolved_at),
      filterOnly(and(eq(t.reason, reason), eq(t.about, response.code ?? ""))),
    ),
    limit: 1,
  });
  if (open) return false;
  return (await raiseFlags(tx, [{ order, reason, response }])).has(order.id);
}

/** The columns of an event, and the order that is flagged. */
function flagColumns(q: Reads) {
  const t = q.use(mandateFlagTable);
  const { id, mandate_id, payment_id, order_id, reason } = t;
  return { id, mandate_id, payment_id, order_id, reason };
}

type FlagRow = RowOf<ReturnType<typeof flagColumns>>;

async function recordFlagEvents(
  tx: Tx,
  rows: readonly FlagRow[],
  status: MandateFlag["status"],
): Promise<void> {
  const type = status === "open" ? "emandate.flag.raised" : "emandate.flag.resolved";
  const events = rows.map(
    ({ id, mandate_id, payment_id, reason }) =>
      ({ type, data: { id, mandate_id, payment_id, reason, status } }) as const,
  );
  await recordEvents(tx, events);
}

/** Resolves the flags of these orders that waited for a result, since one has come. */
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
    .returning(flagColumns(tx.q));
  await recordFlagEvents(tx, rows, "resolved");
}

/** Resolves an open flag; returns whether it was open. */
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
    .returning(flagColumns(tx.q));
  await recordFlagEvents(tx, rows, "resolved");
  return rows.length > 0;
}

/** A filter for flags; each field given narrows further. */
export interface FlagFilter {
  status?: MandateFlag["status"];
  reason?: FlagReason;
  mandate_id?: number;
  payment_id?: number;
}

/** Flags, newest first, and how many there are in all. */
export async function listFlags(
  { q, scope }: ReadTx,
  { status, sort = "-id", ...rest }: FlagFilter & { sort?: string },
  slice: Slice,
): Promise<{ rows: MandateFlag[]; total: number }> {
  const t = q.use(mandateFlagTable);
  const where = and(
    companyOwned(t, scope),
    status && (status === "open" ? isNull(t.resolved_at) : isNotNull(t.resolved_at)),
    matching(t, rest),
  );
  const { rows, total } = await listRows(q, t, { ...flagRows(q), where, order: orderOf(t, sort), slice });
  return { rows: rows.map(toFlag), total };
}

export async function findFlag({ q, scope }: ReadTx, id: number): Promise<MandateFlag | undefined> {
  const t = q.use(mandateFlagTable);
  const row = await findRow(q, t, { ...flagRows(q), where: and(companyOwned(t, scope), eq(t.id, id)) });
  return row && toFlag(row);
}

const flagRows = oncePerDialect((q) => {
  const t = q.use(mandateFlagTable);
  const orders = q.use(mandateOrderTable);
  const { id, company_id, mandate_id, payment_id, reason, response_code, message } = t;
  const { note, resolved_by, resolved_at, created_at, updated_at } = t;
  const columns = {
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
  };
  return { columns, joins: [[orders, eq(orders.id, t.order_id)]] as const };
});

function toFlag(row: Omit<MandateFlag, "status">): MandateFlag {
  return { ...row, status: row.resolved_at === null ? "open" : "resolved" };
}
