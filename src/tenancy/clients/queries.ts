import { and, eq, isNull, type SQL, sql } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { containing, idListed } from "../../store/expressions.ts";
import { keptSelect } from "../../store/kept_select.ts";
import { columnsOf, listRows, orderOf } from "../../store/list_rows.ts";
import { insertRow } from "../../store/insert_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { Client } from "./model.ts";
import { clientTable } from "./tables.ts";

/** The columns of a client on the wire. */
export const clientColumns = (q: Reads) => columnsOf(q.use(clientTable), Client);

/** Clients by id, and how many there are in all. */
export function listClients(
  tx: ReadTx,
  { ids, search, sort }: { ids?: string; search?: string; sort?: string },
  slice: Slice,
) {
  const t = tx.q.use(clientTable);
  const where = and(inScope(tx), idListed(t.id, ids), containing(t.name, search));
  return listRows(tx.q, t, { columns: clientColumns(tx.q), where, order: orderOf(t, sort), slice });
}

const selectClient = keptSelect((q) => {
  const t = q.use(clientTable);
  const { placeholder } = sql;
  const where = and(
    eq(t.company_id, placeholder("company_id")),
    eq(t.id, placeholder("id")),
    isNull(t.deleted_at),
  );
  return { table: t, columns: clientColumns(q), where };
});

/** A client in scope; a client user sees no other. */
export async function findClient({ q, scope }: ReadTx, id: number): Promise<Client | undefined> {
  if (scope.client_id !== undefined && scope.client_id !== id) return undefined;
  const [client] = await selectClient(q, { company_id: scope.company_id, id });
  return client;
}

export function insertClient({ q, scope, now }: Tx, name: string): Promise<Client> {
  const row = { name, company_id: scope.company_id, ...stamped(now) };
  return insertRow(q, q.use(clientTable), row, clientColumns(q));
}

export async function updateClient(
  tx: Tx,
  id: number,
  change: { name?: string; deleted_at?: string },
): Promise<Client | undefined> {
  const clients = tx.q.use(clientTable);
  const [client] = await tx.q
    .update(clients)
    .set({ ...change, updated_at: iso(tx.now) })
    .where(and(inScope(tx), eq(clients.id, id)))
    .returning(clientColumns(tx.q));
  return client;
}

function inScope({ q, scope }: ReadTx): SQL | undefined {
  const clients = q.use(clientTable);
  return and(
    eq(clients.company_id, scope.company_id),
    scope.client_id === undefined ? undefined : eq(clients.id, scope.client_id),
    isNull(clients.deleted_at),
  );
}
