import { and, eq, or, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { containing } from "../../store/expressions.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import { countRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { UsageView } from "./model.ts";
import { usageViewTable } from "./tables.ts";

/** What its user sets of a view. */
export type ViewInput = Pick<UsageView, "name" | "shared" | "version" | "question" | "chart">;

const viewColumns = (q: Reads) => columnsOf(q.use(usageViewTable), UsageView);

/** The views that a user may see, by id, and how many there are. */
export function listViews(
  tx: ReadTx,
  user_id: number,
  { search, shared, sort }: { search?: string; shared?: boolean; sort?: string },
  slice: Slice,
) {
  const t = tx.q.use(usageViewTable);
  const where = and(isSeenBy(tx, user_id), matching(t, { shared }), containing(t.name, search));
  return listRows(tx.q, t, { columns: viewColumns(tx.q), where, order: orderOf(t, sort), slice });
}

/** A view that the user may see. */
export function findView(tx: ReadTx, user_id: number, id: number): Promise<UsageView | undefined> {
  const t = tx.q.use(usageViewTable);
  return findRow(tx.q, t, { columns: viewColumns(tx.q), where: and(isSeenBy(tx, user_id), eq(t.id, id)) });
}

/** How many views a user has. */
export function countOwnViews({ q, scope }: ReadTx, user_id: number): Promise<number> {
  const t = q.use(usageViewTable);
  return countRows(q, t, matching(t, { company_id: scope.company_id, user_id }));
}

export async function insertView(
  { q, scope, now }: Tx,
  user_id: number,
  view: ViewInput,
): Promise<UsageView> {
  const rows = await q
    .insert(q.use(usageViewTable))
    .values({ ...view, company_id: scope.company_id, user_id, ...stamped(now) })
    .returning(viewColumns(q));
  return exactlyOne(rows);
}

export async function updateView({ q, scope, now }: Tx, id: number, view: ViewInput): Promise<UsageView> {
  const t = q.use(usageViewTable);
  const rows = await q
    .update(t)
    .set({ ...view, updated_at: iso(now) })
    .where(matching(t, { company_id: scope.company_id, id }))
    .returning(viewColumns(q));
  return exactlyOne(rows);
}

export async function deleteView({ q, scope }: Tx, id: number): Promise<void> {
  const t = q.use(usageViewTable);
  await q.delete(t).where(matching(t, { company_id: scope.company_id, id }));
}

/** A user's own views, and those shared with the company's users; a client user sees no shared ones. */
function isSeenBy({ q, scope }: ReadTx, user_id: number): SQL | undefined {
  const t = q.use(usageViewTable);
  const { company_id, client_id } = scope;
  const is_own = eq(t.user_id, user_id);
  const is_seen = client_id === undefined ? or(is_own, eq(t.shared, true)) : is_own;
  return and(eq(t.company_id, company_id), is_seen);
}
