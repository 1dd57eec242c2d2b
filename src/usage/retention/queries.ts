import { and, asc, desc, eq, lt } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { findRow } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { usageRetentionTable } from "./tables.ts";

/** What is to be removed of a company's usage, and how far that is. */
export interface Retention {
  readonly id: number;
  readonly status: "proving" | "stopped" | "removing" | "done";
  readonly bills: number;
  readonly last_bill_id: number;
  readonly removed_events: number;
}

const columns = oncePerDialect((q) => {
  const { id, status, bills, last_bill_id, removed_events } = q.use(usageRetentionTable);
  return { id, status, bills, last_bill_id, removed_events };
});

/** What is on record of removing the company's usage before an instant. */
export function findRetention({ q, scope }: ReadTx, since_ms: number): Promise<Retention | undefined> {
  const t = q.use(usageRetentionTable);
  const where = and(eq(t.company_id, scope.company_id), eq(t.since_ms, since_ms));
  return findRow(q, t, { columns: columns(q), where });
}

/** Records that usage before an instant is to be removed. Earlier ones that were stopped are a part of it now. */
export async function insertRetention(
  { q, scope: { company_id }, now }: Tx,
  since_ms: number,
): Promise<Retention> {
  const t = q.use(usageRetentionTable);
  await q
    .delete(t)
    .where(and(eq(t.company_id, company_id), lt(t.since_ms, since_ms), eq(t.status, "stopped")));
  const row = {
    company_id,
    since_ms,
    status: "proving" as const,
    bills: 0,
    last_bill_id: 0,
    problem: null,
    proved_at: null,
    removed_events: 0,
    ...stamped(now),
  };
  return insertRow(q, t, row, columns(q));
}

/** Writes down how far it is. */
export async function updateRetention(
  { q, now }: Tx,
  id: number,
  values: Partial<Retention> & { problem?: string | null; proved_at?: string },
): Promise<void> {
  const t = q.use(usageRetentionTable);
  await q
    .update(t)
    .set({ ...values, updated_at: iso(now) })
    .where(eq(t.id, id));
}

/** Writes down, on the newest line that was reached, why it goes no further; null: for no reason. */
export async function noteHold({ q, scope, now }: Tx, problem: string | null): Promise<void> {
  const t = q.use(usageRetentionTable);
  const newest = await findRow(q, t, {
    columns: { id: t.id },
    where: and(eq(t.company_id, scope.company_id), eq(t.status, "done")),
    order: desc(t.since_ms),
    limit: 1,
  });
  if (newest !== undefined)
    await q
      .update(t)
      .set({ problem, updated_at: iso(now) })
      .where(eq(t.id, newest.id));
}

/** The companies of which usage before the line stays, since levels are made of it; the newest line of each. */
export async function listHeld(q: Reads): Promise<{ company_id: number; problem: string | null }[]> {
  const t = q.use(usageRetentionTable);
  const rows = await selectRows(q, t, {
    columns: { company_id: t.company_id, problem: t.problem },
    where: eq(t.status, "done"),
    order: [asc(t.company_id), asc(t.since_ms)],
  });
  const newest = new Map(rows.map((row) => [row.company_id, row]));
  return [...newest.values()].filter(({ problem }) => problem !== null);
}

/** The companies whose usage is not removed, since a bill of it is not proved. */
export function listStopped(q: Reads): Promise<{ company_id: number; problem: string | null }[]> {
  const t = q.use(usageRetentionTable);
  return selectRows(q, t, {
    columns: { company_id: t.company_id, problem: t.problem },
    where: eq(t.status, "stopped"),
    order: asc(t.company_id),
  });
}
