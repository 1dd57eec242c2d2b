import { and, eq, gt, isNull, lte } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import { insertRows } from "../../store/insert_rows.ts";
import { findRow, matching } from "../../store/list_rows.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { authorizationTable, oauthClientTable } from "../authorizations/tables.ts";
import type { TokenKind } from "./model.ts";
import { authorizationTokenTable } from "./tables.ts";

// A token is its holder's only credential: these queries have no scope.

/** The user and authorization behind an access token. */
export interface Access {
  authorization_id: number;
  user_id: number;
  scope: string;
}

const accessColumns = oncePerDialect((q) => {
  const { id: authorization_id, user_id, scope } = q.use(authorizationTable);
  return { authorization_id, user_id, scope };
});

/** The access behind a token that has neither expired nor been ended. */
export function findAccess(q: Reads, hash: string, now: Temporal.Instant): Promise<Access | undefined> {
  const a = q.use(authorizationTable);
  const t = q.use(authorizationTokenTable);
  return findRow(q, t, {
    columns: accessColumns(q),
    joins: [[a, eq(a.id, t.authorization_id)]],
    where: and(matching(t, { hash, kind: "access" }), gt(t.expires_at, iso(now)), isNull(a.ended_at)),
  });
}

export async function insertTokens(
  q: Queries,
  tokens: { authorization_id: number; kind: TokenKind; hash: string; expires_at: string }[],
): Promise<void> {
  await insertRows(q, q.use(authorizationTokenTable), tokens);
}

/** A token with its authorization and client. */
export interface TokenWithGrant {
  token_id: number;
  kind: TokenKind;
  expires_at: string;
  used_at: string | null;
  authorization_id: number;
  ended_at: string | null;
  company_id: number;
  user_id: number;
  redirect_uri: string;
  scope: string;
  code_challenge: string;
  public_id: string;
}

export async function findToken(q: Reads, hash: string): Promise<TokenWithGrant | undefined> {
  const t = q.use(authorizationTokenTable);
  const a = q.use(authorizationTable);
  const clients = q.use(oauthClientTable);
  const { kind, expires_at, used_at, authorization_id } = t;
  const { ended_at, company_id, user_id, redirect_uri, scope, code_challenge } = a;
  const grant = { authorization_id, ended_at, company_id, user_id, redirect_uri, scope, code_challenge };
  const token = await findRow(q, t, {
    columns: { token_id: t.id, kind, expires_at, used_at, ...grant, public_id: clients.public_id },
    joins: [
      [a, eq(a.id, t.authorization_id)],
      [clients, eq(clients.id, a.oauth_client_id)],
    ],
    where: eq(t.hash, hash),
  });
  return token;
}

/** Marks a code or refresh token as used. Of many concurrent uses, one succeeds. */
export async function markUsed(q: Queries, id: number, now: Temporal.Instant): Promise<boolean> {
  const t = q.use(authorizationTokenTable);
  const used = await q
    .update(t)
    .set({ used_at: iso(now) })
    .where(and(eq(t.id, id), isNull(t.used_at)))
    .returning({ id: t.id });
  return used.length > 0;
}

/** Deletes a batch of tokens that expired by an instant. Returns how many. */
export function deleteTokensBefore(q: Queries, expired: string, limit: number): Promise<number> {
  const t = q.use(authorizationTokenTable);
  return deleteBatch(q, t, t.id, { where: lte(t.expires_at, expired), limit });
}
