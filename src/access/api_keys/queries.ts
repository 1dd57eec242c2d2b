import { and, asc, eq, isNotNull, isNull, or, type SQL, sql } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { contains, companyOwned } from "../../store/expressions.ts";
import { batchedRead } from "../../store/batched_read.ts";
import { preparedQuery } from "../../store/prepared_query.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import type { ApiKey, ApiKeyFilter } from "./model.ts";
import type { KeySecrets } from "./rules.ts";
import { apiKeyTable } from "./tables.ts";

/** The columns of a key on the wire: never what is kept of its secrets. */
function keyColumns(q: Reads) {
  const t = q.use(apiKeyTable);
  const { id, company_id, clientId, name, role, environment, last4, old_secret_ends_at } = t;
  const { replaces_id, last_used_at, revoked_at, created_at, updated_at } = t;
  const shown = { id, company_id, clientId, name, role, environment, last4, old_secret_ends_at };
  return { ...shown, replaces_id, last_used_at, revoked_at, created_at, updated_at };
}

/** Keys by id, and how many there are in all. */
export async function listApiKeys(
  { q, scope }: ReadTx,
  { role, environment, revoked, search }: ApiKeyFilter,
  { limit, offset }: Slice,
): Promise<{ rows: ApiKey[]; total: number }> {
  const t = q.use(apiKeyTable);
  const found = search === undefined ? undefined : or(contains(t.name, search), contains(t.clientId, search));
  const where = and(
    companyOwned(t, scope),
    role === undefined ? undefined : eq(t.role, role),
    environment === undefined ? undefined : eq(t.environment, environment),
    revoked === undefined ? undefined : (revoked ? isNotNull : isNull)(t.revoked_at),
    found,
  );
  const rows = await q
    .select(keyColumns(q))
    .from(t)
    .where(where)
    .orderBy(asc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await q.$count(t, where) };
}

/** The first of the keys that a key carries on the work of; itself when it is that. */
export async function findFirstKeyId({ q, scope }: ReadTx, id: number): Promise<number> {
  const t = q.use(apiKeyTable);
  const [key] = await q
    .select({ first_key_id: t.first_key_id })
    .from(t)
    .where(and(companyOwned(t, scope), eq(t.id, id)));
  return key?.first_key_id ?? id;
}

export async function findApiKey({ q, scope }: ReadTx, id: number): Promise<ApiKey | undefined> {
  const t = q.use(apiKeyTable);
  const [key] = await q
    .select(keyColumns(q))
    .from(t)
    .where(and(companyOwned(t, scope), eq(t.id, id)));
  return key;
}

/** How many of the company's keys are not revoked. */
export function countApiKeys({ q, scope }: ReadTx): Promise<number> {
  const t = q.use(apiKeyTable);
  return q.$count(t, and(companyOwned(t, scope), isNull(t.revoked_at))).then(Number);
}

export async function insertApiKey(
  { q, scope, now }: Tx,
  key: Pick<ApiKey, "clientId" | "name" | "role" | "environment" | "last4"> & {
    secret_hash: string;
    replaces_id: number | null;
    first_key_id: number | null;
  },
): Promise<ApiKey> {
  const rows = await q
    .insert(q.use(apiKeyTable))
    .values({ ...key, company_id: scope.company_id, secret_version: 1, ...stamped(now) })
    .returning(keyColumns(q));
  return exactlyOne(rows);
}

/**
 * Gives a key that is not revoked another secret. The one until now is good until `old_until`, null for no longer;
 * the one before that ends. All of it is one statement: of many at once each finds what the one before left.
 */
export function rotateApiKey(
  tx: Tx,
  id: number,
  secret: { secret_hash: string; last4: string; old_until: Temporal.Instant | null },
): Promise<ApiKey | undefined> {
  const t = tx.q.use(apiKeyTable);
  const { secret_hash, last4, old_until } = secret;
  return updateLive(tx, id, {
    secret_hash,
    last4,
    secret_version: sql`${t.secret_version} + 1`,
    old_secret_hash: old_until === null ? null : sql`${t.secret_hash}`,
    old_secret_ends_at: old_until === null ? null : iso(old_until),
  });
}

/** Revokes a key, once. */
export function revokeApiKey(tx: Tx, id: number): Promise<ApiKey | undefined> {
  const end = { revoked_at: iso(tx.now), old_secret_hash: null, old_secret_ends_at: null };
  return updateLive(tx, id, end);
}

/** Changes a key that is not revoked. */
async function updateLive(
  { q, scope, now }: Tx,
  id: number,
  change: {
    secret_hash?: string;
    last4?: string;
    secret_version?: SQL;
    old_secret_hash: SQL | null;
    old_secret_ends_at: string | null;
    revoked_at?: string;
  },
): Promise<ApiKey | undefined> {
  const t = q.use(apiKeyTable);
  const [key] = await q
    .update(t)
    .set({ ...change, updated_at: iso(now) })
    .where(and(companyOwned(t, scope), eq(t.id, id), isNull(t.revoked_at)))
    .returning(keyColumns(q));
  return key;
}

/** Writes down that a key was used, which is no change of it. */
export async function updateLastUsed({ q, scope, now }: Tx, id: number): Promise<void> {
  const t = q.use(apiKeyTable);
  await q
    .update(t)
    .set({ last_used_at: iso(now) })
    .where(and(companyOwned(t, scope), eq(t.id, id)));
}

/** What the door needs to know of a key, whatever the company. */
export interface Credentials
  extends KeySecrets,
    Pick<ApiKey, "id" | "company_id" | "clientId" | "role" | "environment" | "last_used_at"> {
  first_key_id: number | null;
}

const credentialsByClientId = preparedQuery<Credentials[]>("api_key_by_client_id", (q) => {
  const t = q.use(apiKeyTable);
  const { id, first_key_id, company_id, clientId, role, environment, last_used_at } = t;
  const { secret_hash, secret_version, old_secret_hash, old_secret_ends_at, revoked_at } = t;
  const secrets = { secret_hash, secret_version, old_secret_hash, old_secret_ends_at, revoked_at };
  return q
    .select({ id, first_key_id, company_id, clientId, role, environment, last_used_at, ...secrets })
    .from(t)
    .where(eq(clientId, sql.placeholder("clientId")));
});

/** The key that a clientId names, in any company. */
export const findCredentials = batchedRead(async (q, clientId: string): Promise<Credentials | undefined> => {
  const [key] = await credentialsByClientId(q, { clientId });
  return key;
});
