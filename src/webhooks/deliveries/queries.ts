import { and, asc, desc, eq, gte, inArray, isNotNull, isNull, lt, lte, type SQL, sql } from "drizzle-orm";
import type { Environment, Scope } from "../../core/access.ts";
import type { Slice } from "../../core/pagination.ts";
import { instant, iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { companyOwned } from "../../store/expressions.ts";
import type { Queries, Reads, Tx } from "../../store/store.ts";
import { typesMatching } from "../events/model.ts";
import {
  LOGGED_TYPES,
  type LogStatus,
  type WebhookAttempt,
  type WebhookLog,
  type WebhookPayload,
} from "./model.ts";
import { ONE_ATTEMPT, type DeliveryUpdate } from "./rules.ts";
import { webhookLogTable } from "./tables.ts";

function logColumns(q: Reads) {
  const t = q.use(webhookLogTable);
  const { id, company_id, endpoint_id, message_id, event_type, url, payload, status, attempts } = t;
  const { next_attempt_at, created_at, updated_at } = t;
  return {
    id,
    company_id,
    endpoint_id,
    message_id,
    event_type,
    url,
    payload,
    status,
    attempts,
    next_attempt_at,
    created_at,
    updated_at,
  };
}

/** Whose logs are meant: all of a company, or those of loans in one world. */
export interface LogScope extends Scope {
  environment?: Environment;
}

function inScope(q: Reads, scope: LogScope): SQL | undefined {
  const t = q.use(webhookLogTable);
  const { environment } = scope;
  return and(companyOwned(t, scope), environment === undefined ? undefined : eq(t.environment, environment));
}

/** Which logs are meant; every field given narrows further. */
export interface LogFilter {
  /** A type or a pattern. */
  event_type?: string;
  status?: LogStatus;
  endpoint_id?: number;
  from?: string;
  to?: string;
}

/** Logs, newest first, and how many there are in all. */
export async function listLogs(
  q: Reads,
  scope: LogScope,
  { event_type, status, endpoint_id, from, to }: LogFilter,
  { limit, offset }: Slice,
): Promise<{ rows: WebhookLog[]; total: number }> {
  const t = q.use(webhookLogTable);
  const where = and(
    inScope(q, scope),
    event_type === undefined ? undefined : inArray(t.event_type, typesMatching(event_type, LOGGED_TYPES)),
    status === undefined ? undefined : eq(t.status, status),
    endpoint_id === undefined ? undefined : eq(t.endpoint_id, endpoint_id),
    from === undefined ? undefined : gte(t.created_at, iso(instant(from))),
    to === undefined ? undefined : lt(t.created_at, iso(instant(to))),
  );
  const rows = await q
    .select(logColumns(q))
    .from(t)
    .where(where)
    .orderBy(desc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await q.$count(t, where) };
}

export async function findLog(q: Reads, scope: LogScope, id: number): Promise<WebhookLog | undefined> {
  const t = q.use(webhookLogTable);
  const [log] = await q
    .select(logColumns(q))
    .from(t)
    .where(and(inScope(q, scope), eq(t.id, id)));
  return log;
}

/** A message to deliver. */
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

/** Writes messages that are due at once; those that their endpoint has already are left alone. */
export async function insertLogs(
  q: Queries,
  now: Temporal.Instant,
  logs: readonly NewLog[],
): Promise<WebhookLog[]> {
  const t = q.use(webhookLogTable);
  const due = { status: "pending" as const, attempts: [], next_attempt_at: iso(now), due_at: iso(now) };
  return q
    .insert(t)
    .values(logs.map((log) => ({ ...log, ...due, ...stamped(now) })))
    .onConflictDoNothing({ target: [t.endpoint_id, t.message_id] })
    .returning(logColumns(q));
}

/** Lets a finished delivery make one more attempt, now. Returns nothing while it is pending. */
export async function requeueDelivery(
  q: Queries,
  scope: LogScope,
  now: Temporal.Instant,
  id: number,
): Promise<WebhookLog | undefined> {
  const t = q.use(webhookLogTable);
  const due = { status: "pending" as const, next_attempt_at: iso(now), due_at: iso(now), claimed_by: null };
  const [log] = await q
    .update(t)
    .set({ ...due, step: ONE_ATTEMPT, updated_at: iso(now) })
    .where(and(inScope(q, scope), eq(t.id, id), isNull(t.due_at)))
    .returning(logColumns(q));
  return log;
}

/** Gives up what an endpoint is still to be sent. */
export async function abandonPending(q: Queries, endpoint_id: number, now: Temporal.Instant): Promise<void> {
  const t = q.use(webhookLogTable);
  await q
    .update(t)
    .set({ status: "failed", next_attempt_at: null, due_at: null, updated_at: iso(now) })
    .where(and(eq(t.endpoint_id, endpoint_id), isNotNull(t.due_at)));
}

/** Forgets logs that were last touched before `until`, at most `limit` of them; pending ones stay. */
export async function deleteOldLogs(
  { q, scope }: Tx,
  until: Temporal.Instant,
  limit: number,
): Promise<number> {
  const t = q.use(webhookLogTable);
  const old = q
    .select({ id: t.id })
    .from(t)
    .where(and(eq(t.company_id, scope.company_id), lt(t.updated_at, iso(until)), isNull(t.due_at)))
    .orderBy(asc(t.id))
    .limit(limit);
  const rows = await q.delete(t).where(inArray(t.id, old)).returning({ id: t.id });
  return rows.length;
}

// What the dispatcher asks and writes, for all companies at once: it acts for nobody, and so has no scope.

/**
 * Endpoints after `after_id` that have something due, by id. It steps from endpoint to endpoint through the index of what is pending,
 * so that it costs as much for an endpoint with a million deliveries as for one with a single one.
 */
export async function listDueEndpoints(
  q: Reads,
  now: Temporal.Instant,
  after_id: number,
  limit: number,
): Promise<number[]> {
  const rows = await q
    .select({ endpoint_id: sql<number>`endpoint_id`.mapWith(Number) })
    .from(
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
    )
    .orderBy(sql`endpoint_id`);
  return rows.map(({ endpoint_id }) => endpoint_id);
}

/** What is due for an endpoint, the longest due first. */
export async function listDueLogs(
  q: Reads,
  now: Temporal.Instant,
  endpoint_id: number,
  limit: number,
): Promise<number[]> {
  const t = q.use(webhookLogTable);
  const rows = await q
    .select({ id: t.id })
    .from(t)
    .where(and(eq(t.endpoint_id, endpoint_id), lte(t.due_at, iso(now))))
    .orderBy(asc(t.due_at))
    .limit(limit);
  return rows.map(({ id }) => id);
}

/** A delivery that was claimed. */
export type ClaimedLog = Pick<
  WebhookLog,
  "id" | "endpoint_id" | "message_id" | "event_type" | "payload" | "attempts"
> & { step: number };

/** Claims, until `until`, those of the logs that are still due: nobody else sends them. */
export async function claimLogs(
  q: Queries,
  now: Temporal.Instant,
  until: Temporal.Instant,
  claimed_by: string,
  ids: readonly number[],
): Promise<ClaimedLog[]> {
  const t = q.use(webhookLogTable);
  const { id, endpoint_id, message_id, event_type, payload, attempts, step } = t;
  return q
    .update(t)
    .set({ claimed_by, due_at: iso(until) })
    .where(and(inArray(t.id, [...ids]), lte(t.due_at, iso(now))))
    .returning({ id, endpoint_id, message_id, event_type, payload, attempts, step });
}

/** Keeps claims for longer. */
export async function renewClaims(
  q: Queries,
  until: Temporal.Instant,
  claimed_by: string,
  ids: readonly number[],
): Promise<void> {
  const t = q.use(webhookLogTable);
  await q
    .update(t)
    .set({ due_at: iso(until) })
    .where(and(inArray(t.id, [...ids]), eq(t.claimed_by, claimed_by), isNotNull(t.due_at)));
}

/** Gives claims back: what they were for is due at once. */
export async function releaseClaims(
  q: Queries,
  now: Temporal.Instant,
  claimed_by: string,
  ids: readonly number[],
): Promise<void> {
  const t = q.use(webhookLogTable);
  await q
    .update(t)
    .set({ due_at: iso(now), claimed_by: null })
    .where(and(inArray(t.id, [...ids]), eq(t.claimed_by, claimed_by), isNotNull(t.due_at)));
}

/** Which of the logs are still claimed, with what they are now: an endpoint may have been disabled meanwhile. */
export async function listClaimed(
  q: Reads,
  claimed_by: string,
  ids: readonly number[],
): Promise<Map<number, LogStatus>> {
  const t = q.use(webhookLogTable);
  const rows = await q
    .select({ id: t.id, status: t.status })
    .from(t)
    .where(and(inArray(t.id, [...ids]), eq(t.claimed_by, claimed_by)));
  return new Map(rows.map(({ id, status }) => [id, status]));
}

/** Writes what an attempt came to, and ends its claim. */
export async function updateClaimed(
  q: Queries,
  now: Temporal.Instant,
  id: number,
  { next_attempt_at, ...change }: DeliveryUpdate & { url: string; attempts: WebhookAttempt[] },
): Promise<void> {
  const t = q.use(webhookLogTable);
  await q
    .update(t)
    .set({ ...change, next_attempt_at, due_at: next_attempt_at, claimed_by: null, updated_at: iso(now) })
    .where(eq(t.id, id));
}
