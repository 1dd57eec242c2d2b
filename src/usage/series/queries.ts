import { and, eq } from "drizzle-orm";
import { filterOnly, idIn } from "../../store/expressions.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx } from "../../store/store.ts";
import { type Owner, ownerTable } from "../filters/queries.ts";

/** The names of clients, products or billing models by id. */
export async function findNames(
  { q, scope }: ReadTx,
  owner: Owner,
  ids: readonly number[],
): Promise<Map<number, string>> {
  const t = ownerTable(q, owner);
  const rows = await selectRows(q, t, {
    columns: { id: t.id, name: t.name },
    where: and(idIn(t.id, ids), filterOnly(eq(t.company_id, scope.company_id))),
  });
  return new Map(rows.map(({ id, name }) => [id, name]));
}
