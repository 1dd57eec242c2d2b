import { and, asc, count, desc, eq, gt, inArray, isNotNull, isNull, lt, min, type SQL } from "drizzle-orm";
import type { Environment, Scope } from "../../core/access.ts";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import { stamped } from "../../store/columns.ts";
import { insertRows } from "../../store/insert_rows.ts";
import { companyOwned, filterOnly, idIn, within } from "../../store/expressions.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { selectRows } from "../../store/select_rows.ts";
import { changeRows } from "../../store/update_rows.ts";
import { typesMatching } from "../events/model.ts";
import { LOGGED_TYPES, type LogStatus, WebhookLog, type WebhookPayload } from "./model.ts";
import { ONE_ATTEMPT } from "./rules.ts";
import { webhookLogTable } from "./tables.ts";

const logColumns = (q: Reads) => columnsOf(q.use(webhookLogTable), WebhookLog);

/** The deliveries of a company, or those of its loans in one environment. */
export interface LogScope extends Scope {
  environment?: Environment;
}

function inScope({ q, scope }: ReadTx<LogScope>): SQL | undefined {
  const t = q.use(webhookLogTable);
  return and(companyOwned(t, scope), matching(t, { environment: scope.environment }));
}

/** A filter of deliveries; every field given narrows further. */
export interface LogFilter {
  /** A type or a pattern. */
  event_type?: string;
  status?: LogStatus;
  endpoint_id?: number;
  from?: string;
  to?: string;
}

/** Deliveries, newest first, and how many there are in all. */
export function listLogs(
  tx: ReadTx<LogScope>,
  { sort = "-id", ...filter }: LogFilter & { sort?: string },
  slice: Slice,
) {
  const t = tx.q.use(webhookLogTable);
  const where = matches(tx, filter);
  return listRows(tx.q, t, { columns: logColumns(tx.q), where, order: orderOf(t, sort), slice });
}

function matches(
  tx: ReadTx<LogScope>,
  { event_type: type, status, endpoint_id, ...time }: LogFilter,
): SQL | undefined {
  const t = tx.q.use(webhookLogTable);
  const ofType = type === undefined ? undefined : inArray(t.event_type, typesMatching(type, LOGGED_TYPES));
  return and(inScope(tx), ofType, matching(t, { status, endpoint_id }), within(t.created_at, time));
}

/** Ended deliveries after `after_id`, the oldest first. */
export function listEnded(tx: ReadTx<LogScope>, filter: LogFilter, after_id: number, limit: number) {
  const t = tx.q.use(webhookLogTable);
  const where = and(matches(tx, filter), isNull(t.due_at), gt(t.id, after_id));
  return selectRows(tx.q, t, {
    columns: { id: t.id, endpoint_id: t.endpoint_id },
    where,
    order: asc(t.id),
    limit,
  });
}

export function findLog(tx: ReadTx<LogScope>, id: number): Promise<WebhookLog | undefined> {
  const t = tx.q.use(webhookLogTable);
  return findRow(tx.q, t, { columns: logColumns(tx.q), where: and(inScope(tx), eq(t.id, id)) });
}

/** How the last deliveries of an endpoint stand, by status, and when the first of these was made. */
export function countLastDeliveries({ q, scope }: ReadTx, endpoint_id: number, limit: number) {
  const t = q.use(webhookLogTable);
  // Message ids are in the order of time, and indexed by endpoint.
  const last = q
    .select({ status: t.status, created_at: t.created_at })
    .from(t)
    .where(and(eq(t.endpoint_id, endpoint_id), filterOnly(eq(t.company_id, scope.company_id))))
    .orderBy(desc(t.message_id))
    .limit(limit)
    .as("last");
  return q
    .select({ status: last.status, count: count(), since: min(last.created_at) })
    .from(last)
    .groupBy(last.status);
}

/** A delivery to insert. */
export interface NewLog {
  company_id: number;
  endpoint_id: number;
  message_id: string;
  event_type: string;
  environment: Environment | null;
  url: string;
  payload: WebhookPayload;
  step: number;
}

/** Inserts deliveries that are due at once, except those of messages that their endpoint has already. */
export async function insertLogs(
  { q, now }: Omit<Tx, "scope">,
  logs: readonly NewLog[],
): Promise<WebhookLog[]> {
  const t = q.use(webhookLogTable);
  const at = iso(now);
  const due = { status: "pending" as const, attempts: [], next_attempt_at: at, due_at: at, ...stamped(now) };
  return insertRows(
    q,
    t,
    logs.map((log) => ({ ...log, ...due })),
    { returning: logColumns(q), on_conflict_skip: [t.endpoint_id, t.message_id] },
  );
}

/** Makes an ended delivery due for one more attempt; returns nothing while it is pending. */
export async function requeueDelivery(tx: Tx<LogScope>, id: number): Promise<WebhookLog | undefined> {
  const t = tx.q.use(webhookLogTable);
  const [log] = await tx.q
    .update(t)
    .set(dueAgain(tx.now))
    .where(and(inScope(tx), eq(t.id, id), isNull(t.due_at)))
    .returning(logColumns(tx.q));
  return log;
}

/** As `requeueDelivery`, of several; returns how many these were. */
export async function requeueDeliveries(tx: Tx<LogScope>, ids: readonly number[]): Promise<number> {
  const t = tx.q.use(webhookLogTable);
  const where = and(inScope(tx), idIn(t.id, ids), isNull(t.due_at));
  const rows = await changeRows(tx.q, t, { set: dueAgain(tx.now), where, returning: { id: t.id } });
  return rows.length;
}

function dueAgain(now: Temporal.Instant) {
  const at = iso(now);
  const due = { status: "pending" as const, next_attempt_at: at, due_at: at, claimed_by: null };
  return { ...due, step: ONE_ATTEMPT, updated_at: at };
}

/** Fails the pending deliveries of an endpoint. */
export async function abandonPending({ q, now }: Omit<Tx, "scope">, endpoint_id: number): Promise<void> {
  const t = q.use(webhookLogTable);
  await q
    .update(t)
    .set({ status: "failed", next_attempt_at: null, due_at: null, updated_at: iso(now) })
    .where(and(eq(t.endpoint_id, endpoint_id), isNotNull(t.due_at)));
}

/** Deletes ended deliveries that were last updated before `until`, at most `limit` of them. */
export function deleteOldLogs({ q, scope }: Tx, until: Temporal.Instant, limit: number): Promise<number> {
  const t = q.use(webhookLogTable);
  const where = and(eq(t.company_id, scope.company_id), lt(t.updated_at, iso(until)), isNull(t.due_at));
  return deleteBatch(q, t, t.id, { where, order: [asc(t.id)], limit });
}
