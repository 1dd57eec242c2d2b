import { and, eq } from "drizzle-orm";
import type { Decimal } from "../../core/money.ts";
import type { Slice } from "../../core/pagination.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { within } from "../../store/expressions.ts";
import { insertRows } from "../../store/insert_rows.ts";
import { listRows, matching, orderOf } from "../../store/list_rows.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import type { Window } from "../grants/windows.ts";
import type { AlertFiring } from "./model.ts";
import { alertFiringTable } from "./tables.ts";

/** What is to be told, once. */
export interface NewFiring {
  /** What makes it one. */
  readonly digest: string;
  /** Null: a limit was reached. */
  readonly alert_id: number | null;
  readonly subscription_id: number;
  readonly threshold: Decimal;
  readonly value: Decimal;
  readonly limit: Decimal | null;
  readonly window: Window;
  readonly window_start: IsoInstant;
  readonly window_end: IsoInstant | null;
  readonly per: string | null;
  readonly group: string | null;
}

/** Writes what was not told yet; returns the ids of these by their digests. */
export async function insertFirings(
  { q, scope: { company_id }, now }: Tx,
  firings: readonly NewFiring[],
): Promise<Map<string, number>> {
  const t = q.use(alertFiringTable);
  const rows = await insertRows(
    q,
    t,
    firings.map(
      ({ digest, alert_id, subscription_id, threshold, value, limit, window, per, group, ...bounds }) => ({
        company_id,
        digest,
        alert_id,
        subscription_id,
        threshold,
        value,
        limit,
        window,
        window_start: bounds.window_start,
        window_end: bounds.window_end,
        per,
        group,
        at: iso(now),
      }),
    ),
    { returning: { id: t.id, digest: t.digest }, on_conflict_skip: [t.company_id, t.digest] },
  );
  return new Map(rows.map(({ id, digest }) => [digest, id]));
}

const firingColumns = oncePerDialect((q) => {
  const { id, subscription_id, threshold, value, limit, window, ...t } = q.use(alertFiringTable);
  const { window_start, window_end, per, group, at } = t;
  return { id, subscription_id, threshold, value, limit, window, window_start, window_end, per, group, at };
});

/** Which firings are meant; `from` is inclusive, `to` exclusive. */
interface FiringFilter {
  alert_id: number;
  subscription_id?: number;
  from?: string;
  to?: string;
}

/** What an alert has told, newest first unless `sort` says otherwise, and how much that is in all. */
export async function listFirings(
  { q, scope: { company_id } }: ReadTx,
  { alert_id, subscription_id, sort = "-id", ...time }: FiringFilter & { sort?: string },
  slice: Slice,
): Promise<{ rows: AlertFiring[]; total: number }> {
  const t = q.use(alertFiringTable);
  const where = and(
    eq(t.alert_id, alert_id),
    matching(t, { company_id, subscription_id }),
    within(t.at, time),
  );
  const { rows, total } = await listRows(q, t, {
    columns: firingColumns(q),
    where,
    order: orderOf(t, sort),
    slice,
  });
  return { rows: rows.map((row) => ({ ...row, alert_id })), total };
}
