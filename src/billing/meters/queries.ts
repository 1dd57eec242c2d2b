import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { containing, filterOnly, idIn, idListed } from "../../store/expressions.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { keptSelect } from "../../store/kept_select.ts";
import { columnsOf, listRows, orderOf } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { metadataKeysOf } from "../../usage_store/meter_reader.ts";
import { Meter } from "./model.ts";
import type { Counting } from "./rules.ts";
import { meterTable } from "./tables.ts";

const meterColumns = (q: Reads) => columnsOf(q.use(meterTable), Meter);

/** What is written of a meter. */
type MeterFields = Counting & Pick<Meter, "name" | "description">;

/** Meters by id, and how many there are in all. */
export function listMeters(
  tx: ReadTx,
  { ids, search, sort }: { ids?: string; search?: string; sort?: string },
  slice: Slice,
) {
  const t = tx.q.use(meterTable);
  const where = and(inScope(tx), idListed(t.id, ids), containing(t.name, search));
  return listRows(tx.q, t, { columns: meterColumns(tx.q), where, order: orderOf(t, sort), slice });
}

const selectMeter = keptSelect((q) => {
  const t = q.use(meterTable);
  const where = and(eq(t.company_id, sql.placeholder("company_id")), eq(t.id, sql.placeholder("id")));
  return { table: t, columns: meterColumns(q), where };
});

export async function findMeter(
  { q, scope: { company_id } }: ReadTx,
  id: number,
): Promise<Meter | undefined> {
  const [meter] = await selectMeter(q, { company_id, id });
  return meter;
}

/** Those of the meters that there are, by id. */
export async function findMeters(tx: ReadTx, ids: readonly number[]): Promise<Map<number, Meter>> {
  if (ids.length === 0) return new Map();
  const t = tx.q.use(meterTable);
  const where = and(idIn(t.id, ids), filterOnly(inScope(tx)));
  const rows = await selectRows(tx.q, t, { columns: meterColumns(tx.q), where });
  return new Map(rows.map((row) => [row.id, row]));
}

/** The metadata keys that the company's meters read. */
export async function listKeysRead(tx: ReadTx): Promise<string[]> {
  const t = tx.q.use(meterTable);
  const { value, filters, group_keys } = t;
  const meters = await selectRows(tx.q, t, { columns: { value, filters, group_keys }, where: inScope(tx) });
  return [...new Set(meters.flatMap(metadataKeysOf))].toSorted();
}

export function insertMeter({ q, scope, now }: Tx, fields: MeterFields): Promise<Meter> {
  const row = { ...fields, company_id: scope.company_id, ...stamped(now) };
  return insertRow(q, q.use(meterTable), row, meterColumns(q));
}

export async function updateMeter(tx: Tx, id: number, fields: MeterFields): Promise<Meter | undefined> {
  const t = tx.q.use(meterTable);
  const [meter] = await tx.q
    .update(t)
    .set({ ...fields, updated_at: iso(tx.now) })
    .where(and(inScope(tx), eq(t.id, id)))
    .returning(meterColumns(tx.q));
  return meter;
}

export async function deleteMeter(tx: Tx, id: number): Promise<void> {
  const t = tx.q.use(meterTable);
  await tx.q.delete(t).where(and(inScope(tx), eq(t.id, id)));
}

function inScope({ q, scope }: ReadTx): SQL | undefined {
  return eq(q.use(meterTable).company_id, scope.company_id);
}
