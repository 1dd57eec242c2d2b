import { and, eq, isNotNull, isNull, or, type SQL, sql } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { companyOwned, containing } from "../../store/expressions.ts";
import { batchedRead } from "../../store/batched_read.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { countRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { ApiKey, type ApiKeyFilter } from "./model.ts";
import type { KeySecrets } from "./rules.ts";
import { apiKeyTable } from "./tables.ts";

const keyColumns = (q: Reads) => columnsOf(q.use(apiKeyTable), ApiKey);

export function listApiKeys(tx: ReadTx, { revoked, search, sort, ...filter }: ApiKeyFilter, slice: Slice) {
  const t = tx.q.use(apiKeyTable);
  const where = and(
    companyOwned(t, tx.scope),
    matching(t, filter),
    revoked === undefined ? undefined : (revoked ? isNotNull : isNull)(t.revoked_at),
    or(containing(t.name, search), containing(t.clientId, search)),
  );
  return listRows(tx.q, t, { columns: keyColumns(tx.q), where, order: orderOf(t, sort), slice });
}

/** The first key of the chain in which each replaces the one before; the key itself if it replaces none. */
export async function findFirstKeyId({ q, scope }: ReadTx, id: number): Promise<number> {
  const t = q.use(apiKeyTable);
  const columns = { first_key_id: t.first_key_id };
  const key = await findRow(q, t, { columns, where: and(companyOwned(t, scope), eq(t.id, id)) });
  return key?.first_key_id ?? id;
}

export function findApiKey({ q, scope }: ReadTx, id: number): Promise<ApiKey | undefined> {
  const t = q.use(apiKeyTable);
  return findRow(q, t, { columns: keyColumns(q), where: and(companyOwned(t, scope), eq(t.id, id)) });
}

/** The number of the company's active keys. */
export function countApiKeys({ q, scope }: ReadTx): Promise<number> {
  const t = q.use(apiKeyTable);
  return countRows(q, t, and(companyOwned(t, scope), isNull(t.revoked_at)));
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
 * Rotates an active key's secret. The old one works until `old_until`, null: ends now; the one before that ends. One
 * statement, so that concurrent rotations follow one another.
 */
export function rotateApiKey(
  tx: Tx,
  id: number,
  secret: { secret_hash: string; last4: string; old_until: Temporal.Instant | null },
): Promise<ApiKey | undefined> {
  const t = tx.q.use(apiKeyTable);
  const { secret_hash, last4, old_until } = secret;
  return updateActive(tx, id, {
    secret_hash,
    last4,
    secret_version: sql`${t.secret_version} + 1`,
    old_secret_hash: old_until === null ? null : sql`${t.secret_hash}`,
    old_secret_ends_at: old_until === null ? null : iso(old_until),
  });
}

/** Revokes an active key. */
export function revokeApiKey(tx: Tx, id: number): Promise<ApiKey | undefined> {
  const end = { revoked_at: iso(tx.now), old_secret_hash: null, old_secret_ends_at: null };
  return updateActive(tx, id, end);
}

/** Changes an active key. */
async function updateActive(
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

/** Notes that a key was used, which does not count as a change. */
export async function updateLastUsed({ q, scope, now }: Tx, id: number): Promise<void> {
  const t = q.use(apiKeyTable);
  await q
    .update(t)
    .set({ last_used_at: iso(now) })
    .where(and(companyOwned(t, scope), eq(t.id, id)));
}

/** A key with its secrets, of any company. */
export interface Credentials
  extends KeySecrets,
    Pick<ApiKey, "id" | "company_id" | "clientId" | "role" | "environment" | "last_used_at"> {
  first_key_id: number | null;
}

const credentialColumns = oncePerDialect((q) => {
  const t = q.use(apiKeyTable);
  const { id, first_key_id, company_id, clientId, role, environment, last_used_at } = t;
  const { secret_hash, secret_version, old_secret_hash, old_secret_ends_at, revoked_at } = t;
  const secrets = { secret_hash, secret_version, old_secret_hash, old_secret_ends_at, revoked_at };
  return { id, first_key_id, company_id, clientId, role, environment, last_used_at, ...secrets };
});

/** The key that a clientId names, in any company. */
export const findCredentials = batchedRead((q, clientId: string): Promise<Credentials | undefined> => {
  const t = q.use(apiKeyTable);
  return findRow(q, t, { columns: credentialColumns(q), where: eq(t.clientId, clientId) });
});
