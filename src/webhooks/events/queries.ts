import { and, asc, eq, getTableColumns, inArray, isNotNull, isNull, lt } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import { companyOwned, filterOnly, idIn, within } from "../../store/expressions.ts";
import { insertRows } from "../../store/insert_rows.ts";
import { columnsOf, listRows, matching, orderOf } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { selectRows } from "../../store/select_rows.ts";
import { changeRows } from "../../store/update_rows.ts";
import { Event, EVENT_TYPES, type NewEvent, typesMatching } from "./model.ts";
import { subjectOf } from "./rules.ts";
import { eventTable } from "./tables.ts";

/** Writes domain events into the outbox, in the transaction of the change. */
export async function recordEvents(
  { q, scope: { company_id }, now }: Tx,
  events: readonly NewEvent[],
): Promise<void> {
  const created_at = iso(now);
  const rows = events.map((event) => ({
    ...event,
    company_id,
    message_id: newMessageId(),
    subject: subjectOf(event),
    created_at,
  }));
  await insertRows(q, q.use(eventTable), rows);
}

/** A unique message id. */
export function newMessageId(): string {
  return `msg_${Bun.randomUUIDv7()}`;
}

/** A filter of events; every field given narrows further. */
export interface EventFilter {
  /** A type or a pattern. */
  type?: string;
  subject?: string;
  from?: string;
  to?: string;
}

/** Events, newest first, and how many there are in all. */
export function listEvents(
  { q, scope }: ReadTx,
  { type, subject, sort = "-id", ...time }: EventFilter & { sort?: string },
  slice: Slice,
) {
  const t = q.use(eventTable);
  const ofType = type === undefined ? undefined : inArray(t.type, typesMatching(type, EVENT_TYPES));
  const where = and(companyOwned(t, scope), ofType, matching(t, { subject }), within(t.created_at, time));
  return listRows(q, t, { columns: columnsOf(t, Event), where, order: orderOf(t, sort), slice });
}

/** Deletes dispatched events from before `until`, at most `limit` of them. */
export async function deleteOldEvents(
  { q, scope }: Tx,
  until: Temporal.Instant,
  limit: number,
): Promise<number> {
  const t = q.use(eventTable);
  const where = and(
    eq(t.company_id, scope.company_id),
    lt(t.created_at, iso(until)),
    isNotNull(t.fanned_out_at),
  );
  return deleteBatch(q, t, t.id, { where, order: [asc(t.id)], limit });
}

// What the fan-out reads and writes, for all companies at once: it acts for no caller, and so has no scope.

/** The oldest events that were not fanned out yet. */
export async function listUndispatched(q: Reads, limit: number): Promise<number[]> {
  const t = q.use(eventTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id },
    where: isNull(t.fanned_out_at),
    order: asc(t.id),
    limit,
  });
  return rows.map(({ id }) => id);
}

/** The fields of an event that its subscribers are found by. */
export type ClaimedEvent = Pick<Event, "id" | "company_id" | "type">;

/** Claims those events that are still undispatched for this transaction, which inserts their deliveries. */
export async function claimUndispatched(
  { q, now }: Omit<Tx, "scope">,
  ids: readonly number[],
): Promise<ClaimedEvent[]> {
  const t = q.use(eventTable);
  const rows = await changeRows(q, t, {
    set: { fanned_out_at: iso(now) },
    where: and(idIn(t.id, ids), filterOnly(isNull(t.fanned_out_at))),
    returning: { id: t.id, company_id: t.company_id, type: t.type },
  });
  return rows.toSorted((a, b) => a.id - b.id);
}

/** Events by their ids, oldest first. */
export async function listEventsById(q: Reads, ids: readonly number[]): Promise<Event[]> {
  if (ids.length === 0) return [];
  const t = q.use(eventTable);
  return selectRows(q, t, { columns: getTableColumns(t), where: idIn(t.id, ids), order: asc(t.id) });
}
