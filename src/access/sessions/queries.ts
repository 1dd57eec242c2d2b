import { eq, lte, sql } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { batchedRead } from "../../store/batched_read.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import { findRow } from "../../store/list_rows.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import { keptSelect } from "../../store/kept_select.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { userTable } from "../users/tables.ts";
import { endedTokenTable } from "./tables.ts";
import type { UserClaims } from "./tokens.ts";

// A token is its holder's only credential: these queries have no scope.

const endedColumns = oncePerDialect((q) => ({ token_id: q.use(endedTokenTable).token_id }));

/** Whether a token was revoked before its expiry. */
export const isTokenEnded = batchedRead(async (q: Reads, token_id: string): Promise<boolean> => {
  const t = q.use(endedTokenTable);
  const ended = await findRow(q, t, { columns: endedColumns(q), where: eq(t.token_id, token_id) });
  return ended !== undefined;
});

const selectHolder = keptSelect((q) => {
  const users = q.use(userTable);
  const ended = q.use(endedTokenTable);
  const { email, company_id, client_id, role, token_version } = users;
  const of_token = sql`SELECT 1 FROM ${ended} WHERE ${ended.token_id} = ${sql.placeholder("token_id")}`;
  const is_ended = sql`EXISTS (${of_token})`.mapWith(Boolean);
  return {
    table: users,
    columns: { email, company_id, client_id, role, token_version, is_ended },
    where: eq(users.id, sql.placeholder("user_id")),
  };
});

/** The user of a token, and whether the token was revoked; undefined when there is no such user. */
export const findTokenHolder = batchedRead(async (q, { user_id, token_id }: UserClaims) => {
  const [holder] = await selectHolder(q, { user_id, token_id });
  return holder;
});

/** Revokes a token; does nothing if it is revoked already. */
export async function insertEndedToken(
  q: Queries,
  { token_id, expires_at }: { token_id: string; expires_at: Temporal.Instant },
): Promise<void> {
  await q
    .insert(q.use(endedTokenTable))
    .values({ token_id, expires_at: iso(expires_at) })
    .onConflictDoNothing();
}

/** Deletes a batch of tokens that expired by an instant. Returns how many. */
export function deleteEndedTokensBefore(
  q: Queries,
  expired: Temporal.Instant,
  limit: number,
): Promise<number> {
  const t = q.use(endedTokenTable);
  return deleteBatch(q, t, t.token_id, { where: lte(t.expires_at, iso(expired)), limit });
}
