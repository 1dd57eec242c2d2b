import { and, asc, desc, eq, gte, inArray, isNotNull, isNull, lt } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { instant, iso } from "../../core/time.ts";
import { filterOnly, idIn, companyOwned } from "../../store/expressions.ts";
import { insertRows } from "../../store/insert_rows.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import { type Event, EVENT_TYPES, type NewEvent, typesMatching } from "./model.ts";
import { eventTable } from "./tables.ts";

/** Writes down what happened, in the transaction in which it happens. */
export async function recordEvents(
  { q, scope: { company_id }, now }: Tx,
  events: readonly NewEvent[],
): Promise<void> {
  const rows = events.map(({ type, data }) => ({
    company_id,
    message_id: newMessageId(),
    type,
    data,
    created_at: iso(now),
  }));
  await insertRows(q, q.use(eventTable), rows);
}

/** A message's id, which no other message has. */
export function newMessageId(): string {
  return `msg_${Bun.randomUUIDv7()}`;
}

/** Which events are meant; every field given narrows further. */
export interface EventFilter {
  /** A type or a pattern. */
  type?: string;
  from?: string;
  to?: string;
}

/** Events, newest first, and how many there are in all. */
export async function listEvents(
  { q, scope }: ReadTx,
  { type, from, to }: EventFilter,
  { limit, offset }: Slice,
): Promise<{ rows: Event[]; total: number }> {
  const t = q.use(eventTable);
  const where = and(
    companyOwned(t, scope),
    type === undefined ? undefined : inArray(t.type, typesMatching(type, EVENT_TYPES)),
    from === undefined ? undefined : gte(t.created_at, iso(instant(from))),
    to === undefined ? undefined : lt(t.created_at, iso(instant(to))),
  );
  const rows = await q
    .select({
      id: t.id,
      message_id: t.message_id,
      type: t.type,
      data: t.data,
      company_id: t.company_id,
      created_at: t.created_at,
    })
    .from(t)
    .where(where)
    .orderBy(desc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await q.$count(t, where) };
}

/** The first events, of all companies, that nobody was told of yet. */
export async function listUndispatched(q: Reads, limit: number): Promise<number[]> {
  const t = q.use(eventTable);
  const rows = await q
    .select({ id: t.id })
    .from(t)
    .where(isNull(t.fanned_out_at))
    .orderBy(asc(t.id))
    .limit(limit);
  return rows.map(({ id }) => id);
}

/** An event, as far as it matters who listens. */
export type ClaimedEvent = Pick<Event, "id" | "company_id" | "type">;

/** Takes the events that are still fresh for this transaction, which writes their deliveries. */
export async function claimUndispatched(
  q: Queries,
  now: Temporal.Instant,
  ids: readonly number[],
): Promise<ClaimedEvent[]> {
  const t = q.use(eventTable);
  const rows = await q
    .update(t)
    .set({ fanned_out_at: iso(now) })
    .where(and(idIn(t.id, ids), filterOnly(isNull(t.fanned_out_at))))
    .returning({ id: t.id, company_id: t.company_id, type: t.type });
  return rows.toSorted((a, b) => a.id - b.id);
}

/** Events of any company by their ids, the oldest first. */
export async function listEventsById(q: Reads, ids: readonly number[]): Promise<Event[]> {
  if (ids.length === 0) return [];
  const t = q.use(eventTable);
  return q.select().from(t).where(idIn(t.id, ids)).orderBy(asc(t.id));
}

/** Forgets events from before `until`, at most `limit` of them; those that somebody must be told of stay. */
export async function deleteOldEvents(
  { q, scope }: Tx,
  until: Temporal.Instant,
  limit: number,
): Promise<number> {
  const t = q.use(eventTable);
  const old = q
    .select({ id: t.id })
    .from(t)
    .where(and(eq(t.company_id, scope.company_id), lt(t.created_at, iso(until)), isNotNull(t.fanned_out_at)))
    .orderBy(asc(t.id))
    .limit(limit);
  const rows = await q.delete(t).where(inArray(t.id, old)).returning({ id: t.id });
  return rows.length;
}
