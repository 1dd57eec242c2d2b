import { and, asc, eq, exists, gt, lte, not } from "drizzle-orm";
import { stamped } from "../../store/columns.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { findRow } from "../../store/list_rows.ts";
import { countRows } from "../../store/select_rows.ts";
import { authorizationTable, oauthClientTable } from "../authorizations/tables.ts";

// OAuth clients belong to no company: these queries have no scope.

export interface OAuthClient {
  id: number;
  public_id: string;
  name: string | null;
  redirect_uris: string[];
}

export async function insertOAuthClient(
  q: Queries,
  now: Temporal.Instant,
  client: Omit<OAuthClient, "id">,
): Promise<void> {
  await q.insert(q.use(oauthClientTable)).values({ ...client, ...stamped(now) });
}

export async function findOAuthClient(q: Reads, public_id: string): Promise<OAuthClient | undefined> {
  const t = q.use(oauthClientTable);
  const { id, name, redirect_uris } = t;
  const client = await findRow(q, t, {
    columns: { id, public_id: t.public_id, name, redirect_uris },
    where: eq(t.public_id, public_id),
  });
  return client;
}

/** The name that an OAuth client gave itself. */
export async function findOAuthClientName(q: Reads, id: number): Promise<string | null> {
  const t = q.use(oauthClientTable);
  const client = await findRow(q, t, { columns: { name: t.name }, where: eq(t.id, id) });
  return client?.name ?? null;
}

/** How many OAuth clients have registered since an instant. */
export function countOAuthClientsSince(q: Reads, registered: string): Promise<number> {
  const t = q.use(oauthClientTable);
  return countRows(q, t, gt(t.created_at, registered));
}

/** Deletes a batch of clients from before an instant without authorizations, oldest first. Returns how many. */
export function deleteOAuthClientsBefore(q: Queries, registered: string, limit: number): Promise<number> {
  const t = q.use(oauthClientTable);
  const a = q.use(authorizationTable);
  const granted = q.select({ id: a.id }).from(a).where(eq(a.oauth_client_id, t.id));
  const where = and(lte(t.created_at, registered), not(exists(granted)));
  return deleteBatch(q, t, t.id, { where, order: [asc(t.created_at), asc(t.id)], limit });
}
