import { and, asc, eq, isNull, type SQL } from "drizzle-orm";
import type { Scope } from "../../core/access.ts";
import type { Slice } from "../../core/page.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { containing } from "../../store/expressions.ts";
import { columnsOf, listRows } from "../../store/list_rows.ts";
import { only } from "../../store/rows.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { Client } from "./model.ts";
import { clientTable } from "./tables.ts";

/** The columns of a client on the wire. */
export const clientColumns = (q: Reads) => columnsOf(q.use(clientTable), Client);

/** Clients by id, and how many there are in all. */
export function listClients(q: Reads, scope: Scope, { search }: { search?: string }, slice: Slice) {
  const t = q.use(clientTable);
  const where = and(inScope(q, scope), containing(t.name, search));
  return listRows(q, t, { columns: clientColumns(q), where, order: asc(t.id), slice });
}

export async function findClient(q: Reads, scope: Scope, id: number): Promise<Client | undefined> {
  const clients = q.use(clientTable);
  const [client] = await q
    .select(clientColumns(q))
    .from(clients)
    .where(and(inScope(q, scope), eq(clients.id, id)));
  return client;
}

export async function insertClient(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  name: string,
): Promise<Client> {
  const rows = await q
    .insert(q.use(clientTable))
    .values({ name, company_id: scope.company_id, ...stamped(now) })
    .returning(clientColumns(q));
  return only(rows);
}

export async function updateClient(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  id: number,
  change: { name?: string; deleted_at?: string },
): Promise<Client | undefined> {
  const clients = q.use(clientTable);
  const [client] = await q
    .update(clients)
    .set({ ...change, updated_at: iso(now) })
    .where(and(inScope(q, scope), eq(clients.id, id)))
    .returning(clientColumns(q));
  return client;
}

function inScope(q: Reads, scope: Scope): SQL | undefined {
  const clients = q.use(clientTable);
  return and(
    eq(clients.company_id, scope.company_id),
    scope.client_id === undefined ? undefined : eq(clients.id, scope.client_id),
    isNull(clients.deleted_at),
  );
}
