import { and, desc, eq, gt, isNull, lte, or, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { findRow } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import type { Authorization } from "./model.ts";
import { authorizationTable, oauthClientTable } from "./tables.ts";

/** The user's active authorizations, newest first. */
export async function listAuthorizations(
  tx: ReadTx,
  user_id: number,
  { limit, offset }: Slice,
): Promise<{ rows: Authorization[]; total: number }> {
  const t = tx.q.use(authorizationTable);
  const clients = tx.q.use(oauthClientTable);
  const where = and(ofUser(tx, user_id), isActive(tx));
  const { id, redirect_uri, scope, created_at, updated_at, expires_at } = t;
  const rows = await selectRows(tx.q, t, {
    columns: { id, agent_name: clients.name, redirect_uri, scope, created_at, updated_at, expires_at },
    joins: [[clients, eq(clients.id, t.oauth_client_id)]],
    where,
    order: desc(t.id),
    limit,
    offset,
  });
  return { rows, total: await countRows(tx.q, t, where) };
}

/** The name of the OAuth client that an authorization of the company was given to. */
export async function findAgentName({ q, scope }: ReadTx, id: number): Promise<string | null> {
  const t = q.use(authorizationTable);
  const clients = q.use(oauthClientTable);
  const row = await findRow(q, t, {
    columns: { name: clients.name },
    joins: [[clients, eq(clients.id, t.oauth_client_id)]],
    where: and(eq(t.id, id), eq(t.company_id, scope.company_id)),
  });
  return row?.name ?? null;
}

/** Whether an authorization is active, of any company. */
export async function isAuthorizationOpen(q: Reads, id: number, now: Temporal.Instant): Promise<boolean> {
  const t = q.use(authorizationTable);
  return (await countRows(q, t, and(eq(t.id, id), isActive({ q, now })))) > 0;
}

export async function insertAuthorization(
  { q, scope: { company_id }, now }: Tx,
  granted: {
    user_id: number;
    oauth_client_id: number;
    redirect_uri: string;
    scope: string;
    code_challenge: string;
    expires_at: string;
  },
): Promise<number> {
  const t = q.use(authorizationTable);
  const rows = await q
    .insert(t)
    .values({ ...granted, company_id, ...stamped(now) })
    .returning({ id: t.id });
  return exactlyOne(rows).id;
}

/** Extends an authorization to a later expiry. */
export async function extendAuthorization({ q, now }: Tx, id: number, expires_at: string): Promise<void> {
  const t = q.use(authorizationTable);
  await q
    .update(t)
    .set({ expires_at, updated_at: iso(now) })
    .where(eq(t.id, id));
}

/** Ends an authorization, and all its tokens with it. Returns whether it was active. */
export async function endAuthorization(tx: Tx, user_id: number, id: number): Promise<boolean> {
  const t = tx.q.use(authorizationTable);
  const ended = await tx.q
    .update(t)
    .set({ ended_at: iso(tx.now) })
    .where(and(ofUser(tx, user_id), eq(t.id, id), isActive(tx)))
    .returning({ id: t.id });
  return ended.length > 0;
}

/** Ends all of a user's authorizations. A deleted user's need no end: their tokens resolve to nobody. */
export async function endAuthorizationsOf(tx: Tx, user_id: number): Promise<void> {
  const t = tx.q.use(authorizationTable);
  await tx.q
    .update(t)
    .set({ ended_at: iso(tx.now) })
    .where(and(ofUser(tx, user_id), isNull(t.ended_at)));
}

/** Deletes a batch of the company's authorizations that ended or expired by `over`. Returns how many. */
export function deleteAuthorizationsBefore({ q, scope }: Tx, over: string, limit: number): Promise<number> {
  const t = q.use(authorizationTable);
  const where = and(eq(t.company_id, scope.company_id), or(lte(t.expires_at, over), lte(t.ended_at, over)));
  return deleteBatch(q, t, t.id, { where, limit });
}

function ofUser({ q, scope }: ReadTx, user_id: number): SQL | undefined {
  const t = q.use(authorizationTable);
  return and(eq(t.company_id, scope.company_id), eq(t.user_id, user_id));
}

function isActive({ q, now }: Pick<ReadTx, "q" | "now">): SQL | undefined {
  const t = q.use(authorizationTable);
  return and(isNull(t.ended_at), gt(t.expires_at, iso(now)));
}
