import { and, eq, gt, lte, sql } from "drizzle-orm";
import type { Hold } from "../../app/live_limits.ts";
import { instant, iso } from "../../core/time.ts";
import { filterOnly, idIn, textIn } from "../../store/expressions.ts";
import { insertRows } from "../../store/insert_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import { reservationTable } from "./tables.ts";

export async function insertReservation({ q, now }: Tx, { expires_ms, ...hold }: Hold): Promise<void> {
  const expires_at = iso(Temporal.Instant.fromEpochMilliseconds(expires_ms));
  await insertRows(q, q.use(reservationTable), [{ ...hold, expires_at, created_at: iso(now) }]);
}

/** Every reservation of all companies: what a start reads. */
export async function listReservations(q: Reads): Promise<Hold[]> {
  const t = q.use(reservationTable);
  const { company_id, reservation_id, subscription_id, feature_id, units, group, expires_at } = t;
  const rows = await selectRows(q, t, {
    columns: { company_id, reservation_id, subscription_id, feature_id, units, group, expires_at },
  });
  return rows.map(({ expires_at: ends, ...row }) => ({
    ...row,
    expires_ms: instant(ends).epochMilliseconds,
  }));
}

/** Those of features' reservations that have not ended; the rows of settled ones may be there still. */
export async function listRunning(
  { q, scope, now }: ReadTx,
  feature_ids: readonly number[],
): Promise<Pick<Hold, "reservation_id" | "subscription_id" | "feature_id">[]> {
  if (feature_ids.length === 0) return [];
  const t = q.use(reservationTable);
  const { reservation_id, subscription_id, feature_id } = t;
  return await selectRows(q, t, {
    columns: { reservation_id, subscription_id, feature_id },
    where: and(
      eq(t.company_id, scope.company_id),
      idIn(t.feature_id, feature_ids),
      gt(t.expires_at, iso(now)),
    ),
  });
}

/** Deletes reservations; returns the ids of those that were there. */
export async function deleteReservations(
  q: Queries,
  company_id: number,
  ids: readonly string[],
): Promise<string[]> {
  const t = q.use(reservationTable);
  const rows = await q
    .delete(t)
    .where(and(eq(t.company_id, company_id), textIn(t.reservation_id, ids)))
    .returning({ reservation_id: t.reservation_id });
  return rows.map(({ reservation_id }) => reservation_id);
}

/** Those of the company's reservations that have ended, at most `limit`. */
export async function listEnded({ q, scope, now }: ReadTx, limit: number): Promise<string[]> {
  const t = q.use(reservationTable);
  const rows = await selectRows(q, t, {
    columns: { reservation_id: t.reservation_id },
    where: and(filterOnly(eq(t.company_id, scope.company_id)), lte(t.expires_at, iso(now))),
    limit,
  });
  return rows.map(({ reservation_id }) => reservation_id);
}

/** The companies with reservations that have ended. */
export async function listCompaniesWithEnded(q: Reads, now: Temporal.Instant): Promise<number[]> {
  const t = q.use(reservationTable);
  const rows = await q
    // By its sign SQLite knows the column no more, and looks for the ends, not for each company.
    .selectDistinct({ company_id: sql<number>`+${t.company_id}`.mapWith(Number) })
    .from(t)
    .where(lte(t.expires_at, iso(now)));
  return rows.map(({ company_id }) => company_id);
}
