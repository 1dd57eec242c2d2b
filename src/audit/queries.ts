import { and, asc, desc, eq, gte, lt } from "drizzle-orm";
import type { Target } from "../app/context.ts";
import type { Role } from "../core/access.ts";
import type { Slice } from "../core/pagination.ts";
import { instant, iso } from "../core/time.ts";
import { companyOwned } from "../store/expressions.ts";
import { deleteBatch } from "../store/delete_batch.ts";
import { insertRows } from "../store/insert_rows.ts";
import { findRow, matching } from "../store/list_rows.ts";
import type { Queries, ReadTx, Reads, Tx } from "../store/store.ts";
import { countRows, selectRows } from "../store/select_rows.ts";
import type { AuditEntry, AuditFilter } from "./model.ts";
import { auditLogTable } from "./tables.ts";

/** An entry to be inserted. */
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

/** Inserts the entry of a change, in the transaction of the change. */
export function insertEntry(q: Queries, entry: NewEntry): Promise<void> {
  return insertEntries(q, [entry]);
}

/** The same for many records, in one statement. */
export async function insertEntries(q: Queries, entries: readonly NewEntry[]): Promise<void> {
  const rows = entries.map(({ at, actor, target: { type: target_type, id: target_id }, ...entry }) => {
    const { kind: actor_kind, user_id = null, email = null, role = null } = actor;
    const { authorization_id = null, key_id = null } = actor;
    const who = { actor_kind, user_id, email, role, authorization_id, key_id };
    return { ...entry, ...who, target_type, target_id, at: iso(at) };
  });
  await insertRows(q, q.use(auditLogTable), rows);
}

/** A page of entries, newest first unless `sort` says otherwise. */
export async function listEntries(
  { q, scope }: ReadTx,
  { from, to, sort = "-at", ...filter }: AuditFilter,
  { limit, offset }: Slice,
): Promise<{ rows: AuditEntry[]; total: number }> {
  const t = q.use(auditLogTable);
  const where = and(
    companyOwned(t, scope),
    matching(t, filter),
    from === undefined ? undefined : gte(t.at, iso(instant(from))),
    to === undefined ? undefined : lt(t.at, iso(instant(to))),
  );
  const rows = await selectRows(q, t, {
    columns: entryColumns(q),
    where,
    order: sort === "at" ? [asc(t.at), asc(t.id)] : [desc(t.at), desc(t.id)],
    limit,
    offset,
  });
  return { rows, total: await countRows(q, t, where) };
}

export async function findEntry({ q, scope }: ReadTx, id: number): Promise<AuditEntry | undefined> {
  const t = q.use(auditLogTable);
  const entry = await findRow(q, t, {
    columns: entryColumns(q),
    where: and(companyOwned(t, scope), eq(t.id, id)),
  });
  return entry;
}

/** Deletes the entries of a record that is discarded as empty. */
export async function deleteEntriesOf(
  { q, scope }: Tx,
  { type, id }: { type: string; id: number },
): Promise<void> {
  const t = q.use(auditLogTable);
  await q.delete(t).where(and(companyOwned(t, scope), eq(t.target_type, type), eq(t.target_id, id)));
}

/** Deletes a batch of the entries from before an instant. Returns how many. */
export function deleteEntriesBefore(
  { q, scope }: Tx,
  before: Temporal.Instant,
  limit: number,
): Promise<number> {
  const t = q.use(auditLogTable);
  return deleteBatch(q, t, t.id, { where: and(companyOwned(t, scope), lt(t.at, iso(before))), limit });
}
