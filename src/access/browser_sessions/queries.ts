import { and, desc, eq, gt, lte, notInArray, type SQL, sql } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { batchedRead } from "../../store/batched_read.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { keptSelect } from "../../store/kept_select.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import { LIMITS } from "../limits.ts";
import { userTable } from "../users/tables.ts";
import { endedBy } from "./rules.ts";
import { browserSessionTable } from "./tables.ts";

// A session's token is its holder's only credential: what looks by it has no scope.

const selectHolder = keptSelect((q) => {
  const t = q.use(browserSessionTable);
  const users = q.use(userTable);
  const { email, company_id, client_id, role } = users;
  const { id, user_id, created_at, last_used_at } = t;
  return {
    table: t,
    columns: { id, user_id, email, company_id, client_id, role, created_at, last_used_at },
    joins: [[users, and(eq(users.id, t.user_id), eq(users.token_version, t.token_version))]] as const,
    where: eq(t.token_hash, sql.placeholder("token_hash")),
  };
});

/** The session of a token with its user as it is now, unless the user has ended it since; it may have expired. */
export const findSessionHolder = batchedRead(async (q, token_hash: string) => {
  const [holder] = await selectHolder(q, { token_hash });
  return holder;
});

/** Whether a session is active, of any user. */
export async function isSessionOpen(q: Reads, id: number, now: Temporal.Instant): Promise<boolean> {
  const t = q.use(browserSessionTable);
  return (await countRows(q, t, and(eq(t.id, id), isActive(q, now)))) > 0;
}

/** The user's active sessions, newest first. */
export async function listSessions({ q, now }: ReadTx, user_id: number, { limit, offset }: Slice) {
  const t = q.use(browserSessionTable);
  const { id, address, user_agent, created_at, last_used_at } = t;
  const where = and(eq(t.user_id, user_id), isActive(q, now));
  const columns = { id, address, user_agent, created_at, last_used_at };
  const rows = await selectRows(q, t, { columns, where, order: desc(t.id), limit, offset });
  return { rows, total: await countRows(q, t, where) };
}

/** Begins a session. A user's oldest gives way to one more than a user may have. */
export async function insertSession(
  { q, scope, now }: Tx,
  session: {
    user_id: number;
    token_hash: string;
    token_version: number;
    address: string | null;
    user_agent: string | null;
  },
): Promise<number> {
  const t = q.use(browserSessionTable);
  const { id } = exactlyOne(
    await q
      .insert(t)
      .values({ ...session, company_id: scope.company_id, created_at: iso(now), last_used_at: iso(now) })
      .returning({ id: t.id }),
  );
  const newest = q
    .select({ id: t.id })
    .from(t)
    .where(eq(t.user_id, session.user_id))
    .orderBy(desc(t.id))
    .limit(LIMITS.user_sessions);
  await q.delete(t).where(and(eq(t.user_id, session.user_id), notInArray(t.id, newest)));
  return id;
}

/** Writes down that a session is in use, unless that was written after `before`. */
export async function updateSessionUse(
  q: Queries,
  id: number,
  { before, now }: { before: string; now: Temporal.Instant },
): Promise<void> {
  const t = q.use(browserSessionTable);
  await q
    .update(t)
    .set({ last_used_at: iso(now) })
    .where(and(eq(t.id, id), lte(t.last_used_at, before)));
}

/** Ends one of the user's sessions. Returns whether it was active. */
export async function deleteSession({ q, now }: Tx, user_id: number, id: number): Promise<boolean> {
  const t = q.use(browserSessionTable);
  const ended = await q
    .delete(t)
    .where(and(eq(t.user_id, user_id), eq(t.id, id), isActive(q, now)))
    .returning({ id: t.id });
  return ended.length > 0;
}

/** Deletes a batch of the company's sessions that were not used for too long. Each ends so, if not before. */
export function deleteUnusedSessions({ q, scope, now }: Tx, limit: number): Promise<number> {
  const t = q.use(browserSessionTable);
  const { unused } = endedBy(now);
  const where = and(eq(t.company_id, scope.company_id), lte(t.last_used_at, iso(unused)));
  return deleteBatch(q, t, t.id, { where, limit });
}

function isActive(q: Reads, now: Temporal.Instant): SQL | undefined {
  const t = q.use(browserSessionTable);
  const users = q.use(userTable);
  const { unused, begun } = endedBy(now);
  const is_users = sql`${users.id} = ${t.user_id} AND ${users.token_version} = ${t.token_version}`;
  return and(
    gt(t.last_used_at, iso(unused)),
    gt(t.created_at, iso(begun)),
    sql`EXISTS (SELECT 1 FROM ${users} WHERE ${is_users})`,
  );
}
