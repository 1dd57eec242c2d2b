import { and, desc, eq, gte, inArray, lt } from "drizzle-orm";
import type { Target } from "../app/context.ts";
import type { Role } from "../core/access.ts";
import type { Slice } from "../core/pagination.ts";
import { instant, iso } from "../core/time.ts";
import { companyOwned } from "../store/expressions.ts";
import { insertRows } from "../store/insert_rows.ts";
import type { Queries, ReadTx, Reads, Tx } from "../store/store.ts";
import type { AuditEntry, AuditFilter } from "./model.ts";
import { auditLogTable } from "./tables.ts";

/** An entry as it is written; the log gives it its id. */
export interface NewEntry extends Omit<AuditEntry, "id" | "at" | "actor" | "target"> {
  at: Temporal.Instant;
  actor: {
    kind: AuditEntry["actor"]["kind"];
    user_id?: number;
    email?: string;
    role?: Role;
    authorization_id?: number;
    key_id?: number;
  };
  target: Target;
}

/** The columns of an entry on the wire. */
function entryColumns(q: Reads) {
  const t = q.use(auditLogTable);
  return {
    id: t.id,
    company_id: t.company_id,
    at: t.at,
    actor: {
      kind: t.actor_kind,
      user_id: t.user_id,
      email: t.email,
      role: t.role,
      authorization_id: t.authorization_id,
      key_id: t.key_id,
    },
    origin: t.origin,
    address: t.address,
    request_id: t.request_id,
    operation: t.operation,
    outcome: t.outcome,
    target: { type: t.target_type, id: t.target_id },
    input: t.input,
    withheld: t.withheld,
    changes: t.changes,
  };
}

/** Writes down what was done, in the transaction in which it is done. */
export function insertEntry(q: Queries, entry: NewEntry): Promise<void> {
  return insertEntries(q, [entry]);
}

/** The same of many records, by one statement. */
export async function insertEntries(q: Queries, entries: readonly NewEntry[]): Promise<void> {
  const rows = entries.map(({ at, actor, target: { type: target_type, id: target_id }, ...entry }) => {
    const { kind: actor_kind, user_id = null, email = null, role = null } = actor;
    const { authorization_id = null, key_id = null } = actor;
    const who = { actor_kind, user_id, email, role, authorization_id, key_id };
    return { ...entry, ...who, target_type, target_id, at: iso(at) };
  });
  await insertRows(q, q.use(auditLogTable), rows);
}

/** A page of entries, newest first. */
export async function listEntries(
  { q, scope }: ReadTx,
  { user_id, key_id, operation, target_type, target_id, origin, from, to }: AuditFilter,
  { limit, offset }: Slice,
): Promise<{ rows: AuditEntry[]; total: number }> {
  const t = q.use(auditLogTable);
  const where = and(
    companyOwned(t, scope),
    user_id === undefined ? undefined : eq(t.user_id, user_id),
    key_id === undefined ? undefined : eq(t.key_id, key_id),
    operation === undefined ? undefined : eq(t.operation, operation),
    target_type === undefined ? undefined : eq(t.target_type, target_type),
    target_id === undefined ? undefined : eq(t.target_id, target_id),
    origin === undefined ? undefined : eq(t.origin, origin),
    from === undefined ? undefined : gte(t.at, iso(instant(from))),
    to === undefined ? undefined : lt(t.at, iso(instant(to))),
  );
  const rows = await q
    .select(entryColumns(q))
    .from(t)
    .where(where)
    .orderBy(desc(t.at), desc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await q.$count(t, where) };
}

export async function findEntry({ q, scope }: ReadTx, id: number): Promise<AuditEntry | undefined> {
  const t = q.use(auditLogTable);
  const [entry] = await q
    .select(entryColumns(q))
    .from(t)
    .where(and(companyOwned(t, scope), eq(t.id, id)));
  return entry;
}

/** Deletes the entries of a record that is forgotten, because nothing came of it. */
export async function deleteEntriesOf(
  { q, scope }: Tx,
  { type, id }: { type: string; id: number },
): Promise<void> {
  const t = q.use(auditLogTable);
  await q.delete(t).where(and(companyOwned(t, scope), eq(t.target_type, type), eq(t.target_id, id)));
}

/** Deletes some of the entries from before an instant. Returns how many. */
export async function deleteEntriesBefore(
  { q, scope }: Tx,
  before: Temporal.Instant,
  limit: number,
): Promise<number> {
  const t = q.use(auditLogTable);
  const old = q
    .select({ id: t.id })
    .from(t)
    .where(and(companyOwned(t, scope), lt(t.at, iso(before))))
    .limit(limit);
  return (await q.delete(t).where(inArray(t.id, old)).returning({ id: t.id })).length;
}
