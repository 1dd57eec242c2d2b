import { and, asc, eq, getTableColumns, gt, inArray, lte, sql, sum } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { filterOnly, idIn } from "../../store/expressions.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { selectRows } from "../../store/select_rows.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import { UnbilledUsage } from "./model.ts";
import { unbilledUsageCheckTable, unbilledUsageTable } from "./tables.ts";

/** Unbilled usage still to be written. */
export type NewUnbilled = Omit<UnbilledUsage, "id" | "company_id" | "created_at" | "updated_at">;

/** Unbilled usage, the latest found first, and how much there is in all. */
export function listUnbilled(
  { q, scope: { company_id } }: ReadTx,
  { subscription_id, sort = "-id" }: { subscription_id?: number; sort?: string },
  slice: Slice,
): Promise<{ rows: UnbilledUsage[]; total: number }> {
  const t = q.use(unbilledUsageTable);
  const where = matching(t, { company_id, subscription_id });
  return listRows(q, t, { columns: columnsOf(t, UnbilledUsage), where, order: orderOf(t, sort), slice });
}

/** The unbilled events of all companies, in the first `bound` findings; for metrics. */
export async function sumUnbilledEvents(q: Reads, bound: number): Promise<number> {
  const t = q.use(unbilledUsageTable);
  const some = sql`(SELECT ${t.event_count} FROM ${t} LIMIT ${bound}) AS some_rows`;
  const row = await findRow(q, some, { columns: { events: sum(sql`event_count`) } });
  return Number(row?.events ?? 0);
}

/** Writes what was found; returns null where the same is on record. */
export async function saveUnbilled(
  { q, scope: { company_id }, now }: Tx,
  found: NewUnbilled,
): Promise<UnbilledUsage | null> {
  const t = q.use(unbilledUsageTable);
  const { subscription_id, reason, from, units, event_count } = found;
  const same_place = matching(t, { company_id, subscription_id, reason, from });
  const existing = await findRow(q, t, { columns: getTableColumns(t), where: same_place });
  if (!existing) {
    return exactlyOne(
      await q
        .insert(t)
        .values({ ...found, company_id, ...stamped(now) })
        .returning(),
    );
  }
  if (existing.units === units && existing.event_count === event_count) return null;
  const changed = { units, event_count, updated_at: iso(now) };
  return exactlyOne(await q.update(t).set(changed).where(eq(t.id, existing.id)).returning());
}

/** Deletes the late usage of periods that were billed again: their records count every event stored by then. */
export async function deleteBilled(
  { q, scope: { company_id } }: Tx,
  records: readonly { subscription_id: number; billingStartAt: IsoInstant }[],
): Promise<void> {
  if (records.length === 0) return;
  const t = q.use(unbilledUsageTable);
  const subscription_ids = [...new Set(records.map(({ subscription_id }) => subscription_id))];
  const rows = await selectRows(q, t, {
    columns: { id: t.id, subscription_id: t.subscription_id, from: t.from },
    where: and(
      idIn(t.subscription_id, subscription_ids),
      filterOnly(matching(t, { company_id, reason: "late" })),
    ),
  });
  const billed = new Set(records.map((record) => `${record.subscription_id} ${record.billingStartAt}`));
  const ids = rows.filter((row) => billed.has(`${row.subscription_id} ${row.from}`)).map(({ id }) => id);
  if (ids.length > 0) await q.delete(t).where(inArray(t.id, ids));
}

/** The company's subscriptions by id, after the last one of the previous batch. */
export async function listSubscriptionIds(
  { q, scope }: ReadTx,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<number[]> {
  const t = q.use(subscriptionTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id },
    where: and(eq(t.company_id, scope.company_id), gt(t.id, after_id)),
    order: asc(t.id),
    limit,
  });
  return rows.map(({ id }) => id);
}

/** Those of the subscriptions that ended by `now`, and when. */
export async function listEnded(
  { q, scope, now }: ReadTx,
  ids: readonly number[],
): Promise<{ id: number; ends_at: IsoInstant }[]> {
  const t = q.use(subscriptionTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id, ends_at: t.ends_at },
    where: and(eq(t.company_id, scope.company_id), inArray(t.id, [...ids]), lte(t.ends_at, iso(now))),
    order: asc(t.id),
  });
  return rows.flatMap(({ id, ends_at }) => (ends_at === null ? [] : [{ id, ends_at }]));
}

/** The number of the last event that the search for unbilled usage has looked at; null: it never ran. */
export async function findChecked({ q, scope }: ReadTx): Promise<number | null> {
  const t = q.use(unbilledUsageCheckTable);
  const row = await findRow(q, t, { columns: getTableColumns(t), where: eq(t.company_id, scope.company_id) });
  return row?.usage_seq ?? null;
}

export async function setChecked({ q, scope }: Tx, usage_seq: number): Promise<void> {
  const t = q.use(unbilledUsageCheckTable);
  await q
    .insert(t)
    .values({ company_id: scope.company_id, usage_seq })
    .onConflictDoUpdate({ target: t.company_id, set: { usage_seq } });
}
