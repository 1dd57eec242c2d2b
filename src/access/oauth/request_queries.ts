import { and, asc, eq, gt, lte } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { findRow } from "../../store/list_rows.ts";
import { countRows } from "../../store/select_rows.ts";
import { oauthClientTable } from "../authorizations/tables.ts";
import type { PendingAuthorization } from "./model.ts";
import { authorizationRequestTable } from "./tables.ts";

/** An OAuth client's request for authorization, until the user decides. */
export interface AuthorizationRequest {
  oauth_client_id: number;
  redirect_uri: string;
  code_challenge: string;
  state: string | null;
  scope: string;
}

export async function insertRequest(
  q: Queries,
  request: AuthorizationRequest & { hash: string; expires_at: string },
): Promise<number> {
  const t = q.use(authorizationRequestTable);
  return exactlyOne(await q.insert(t).values(request).returning({ id: t.id })).id;
}

/** The pending request whose page carries the secret of this hash. */
export async function findRequest(
  q: Reads,
  hash: string,
  now: Temporal.Instant,
): Promise<PendingAuthorization | undefined> {
  const t = q.use(authorizationRequestTable);
  const clients = q.use(oauthClientTable);
  const pending = await findRow(q, t, {
    columns: { id: t.id, client_name: clients.name, redirect_uri: t.redirect_uri, scope: t.scope },
    joins: [[clients, eq(clients.id, t.oauth_client_id)]],
    where: and(eq(t.hash, hash), gt(t.expires_at, iso(now))),
  });
  return pending;
}

/** Consumes a request. Of many concurrent decisions, one gets it. */
export async function takeRequest(q: Queries, id: number): Promise<AuthorizationRequest | undefined> {
  const t = q.use(authorizationRequestTable);
  const { oauth_client_id, redirect_uri, code_challenge, state, scope } = t;
  const [request] = await q
    .delete(t)
    .where(eq(t.id, id))
    .returning({ oauth_client_id, redirect_uri, code_challenge, state, scope });
  return request;
}

/** Deletes the oldest requests, so that at most `keep` are left. */
export async function deleteOldestRequests(q: Queries, keep: number): Promise<void> {
  const t = q.use(authorizationRequestTable);
  const surplus = (await countRows(q, t, undefined)) - keep;
  if (surplus > 0) await deleteBatch(q, t, t.id, { order: [asc(t.expires_at), asc(t.id)], limit: surplus });
}

/** Deletes a batch of requests that expired by an instant. Returns how many. */
export function deleteRequestsBefore(q: Queries, expired: string, limit: number): Promise<number> {
  const t = q.use(authorizationRequestTable);
  return deleteBatch(q, t, t.id, { where: lte(t.expires_at, expired), limit });
}
