import { and, asc, eq, inArray, isNotNull, lte, sql } from "drizzle-orm";
import { iso, type IsoInstant } from "../../core/time.ts";
import type { Reads, Tx } from "../../store/store.ts";
import { countUpTo } from "../../store/count_up_to.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { LogStatus, WebhookAttempt, WebhookLog } from "./model.ts";
import type { DeliveryUpdate } from "./rules.ts";
import { webhookLogTable } from "./tables.ts";

// What the dispatcher reads and writes, for all companies at once: it acts for no caller, and so has no scope.

type ReadTx = Omit<Tx, "scope" | "q"> & { q: Reads };
type WriteTx = Omit<Tx, "scope">;

/**
 * Endpoints after `after_id` that have a delivery due, by id. It steps from endpoint to endpoint through the index of
 * pending deliveries, so that an endpoint with a million of them costs as much as one with a single one.
 */
export async function listDueEndpoints(
  { q, now }: ReadTx,
  after_id: number,
  limit: number,
): Promise<number[]> {
  const rows = await selectRows(
    q,
    sql`(WITH RECURSIVE waiting(endpoint_id) AS (
        SELECT (SELECT l.endpoint_id FROM webhook_logs l
          WHERE l.due_at IS NOT NULL AND l.endpoint_id > ${after_id} ORDER BY l.endpoint_id LIMIT 1)
        UNION ALL
        SELECT (SELECT l.endpoint_id FROM webhook_logs l
          WHERE l.due_at IS NOT NULL AND l.endpoint_id > waiting.endpoint_id ORDER BY l.endpoint_id LIMIT 1)
        FROM waiting WHERE waiting.endpoint_id IS NOT NULL
      ) SELECT endpoint_id FROM waiting WHERE endpoint_id IS NOT NULL AND EXISTS (
        SELECT 1 FROM webhook_logs l WHERE l.endpoint_id = waiting.endpoint_id AND l.due_at <= ${iso(now)}
      ) ORDER BY endpoint_id LIMIT ${limit}) AS due`,
    { columns: { endpoint_id: sql<number>`endpoint_id`.mapWith(Number) }, order: sql`endpoint_id` },
  );
  return rows.map(({ endpoint_id }) => endpoint_id);
}

/** How many deliveries are pending, counted up to a bound; for metrics. */
export function countPending(q: Reads, bound: number): Promise<number> {
  const t = q.use(webhookLogTable);
  return countUpTo(q, t, { where: isNotNull(t.due_at), order: t.endpoint_id, bound });
}

/** Since when a delivery is due, of each of the first `limit` endpoints with a pending one; for metrics. */
export async function findLongestDue(
  q: Reads,
  now: Temporal.Instant,
  limit: number,
): Promise<IsoInstant | null> {
  const t = q.use(webhookLogTable);
  const rows = await selectRows(
    q,
    sql`(WITH RECURSIVE waiting(endpoint_id) AS (
        SELECT min(l.endpoint_id) FROM webhook_logs l WHERE l.due_at IS NOT NULL
        UNION ALL
        SELECT (SELECT min(l.endpoint_id) FROM webhook_logs l
          WHERE l.due_at IS NOT NULL AND l.endpoint_id > waiting.endpoint_id)
        FROM waiting WHERE waiting.endpoint_id IS NOT NULL
      ), first_ones AS (SELECT endpoint_id FROM waiting WHERE endpoint_id IS NOT NULL LIMIT ${limit})
      SELECT min((SELECT min(l.due_at) FROM webhook_logs l
        WHERE l.endpoint_id = first_ones.endpoint_id AND l.due_at IS NOT NULL)) AS due_at FROM first_ones) AS longest`,
    { columns: { due_at: sql<IsoInstant>`due_at`.mapWith(t.due_at) }, where: sql`due_at <= ${iso(now)}` },
  );
  return rows[0]?.due_at ?? null;
}

/** The due deliveries of an endpoint, the longest due first. */
export async function listDueLogs({ q, now }: ReadTx, endpoint_id: number, limit: number): Promise<number[]> {
  const t = q.use(webhookLogTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id },
    where: and(eq(t.endpoint_id, endpoint_id), lte(t.due_at, iso(now))),
    order: asc(t.due_at),
    limit,
  });
  return rows.map(({ id }) => id);
}

/** A delivery that a dispatcher has leased. */
export type LeasedLog = Pick<
  WebhookLog,
  "id" | "endpoint_id" | "message_id" | "event_type" | "payload" | "attempts"
> & { step: number };

/** Leases deliveries that are still due until `until`: no other dispatcher sends them. */
export async function leaseLogs(
  { q, now }: WriteTx,
  claimed_by: string,
  ids: readonly number[],
  until: Temporal.Instant,
): Promise<LeasedLog[]> {
  const t = q.use(webhookLogTable);
  const { id, endpoint_id, message_id, event_type, payload, attempts, step } = t;
  return q
    .update(t)
    .set({ claimed_by, due_at: iso(until) })
    .where(and(inArray(t.id, [...ids]), lte(t.due_at, iso(now))))
    .returning({ id, endpoint_id, message_id, event_type, payload, attempts, step });
}

/** Extends leases until `until`. */
export async function renewLeases(
  { q }: Pick<WriteTx, "q">,
  claimed_by: string,
  ids: readonly number[],
  until: Temporal.Instant,
): Promise<void> {
  const t = q.use(webhookLogTable);
  await q
    .update(t)
    .set({ due_at: iso(until) })
    .where(and(leasedBy(q, claimed_by, ids), isNotNull(t.due_at)));
}

/** Ends leases: their deliveries are due at once. */
export async function releaseLeases(
  { q, now }: WriteTx,
  claimed_by: string,
  ids: readonly number[],
): Promise<void> {
  const t = q.use(webhookLogTable);
  await q
    .update(t)
    .set({ due_at: iso(now), claimed_by: null })
    .where(and(leasedBy(q, claimed_by, ids), isNotNull(t.due_at)));
}

/** The status of each delivery that is still leased: it has failed where its endpoint was disabled meanwhile. */
export async function findLeasedStatuses(
  { q }: Pick<ReadTx, "q">,
  claimed_by: string,
  ids: readonly number[],
): Promise<Map<number, LogStatus>> {
  const t = q.use(webhookLogTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id, status: t.status },
    where: leasedBy(q, claimed_by, ids),
  });
  return new Map(rows.map(({ id, status }) => [id, status]));
}

/** Writes the outcome of an attempt and ends the lease. */
export async function updateLeased(
  { q, now }: WriteTx,
  id: number,
  { next_attempt_at, ...change }: DeliveryUpdate & { url: string; attempts: WebhookAttempt[] },
): Promise<void> {
  const t = q.use(webhookLogTable);
  await q
    .update(t)
    .set({ ...change, next_attempt_at, due_at: next_attempt_at, claimed_by: null, updated_at: iso(now) })
    .where(eq(t.id, id));
}

function leasedBy(q: Reads, claimed_by: string, ids: readonly number[]) {
  const t = q.use(webhookLogTable);
  return and(inArray(t.id, [...ids]), eq(t.claimed_by, claimed_by));
}
