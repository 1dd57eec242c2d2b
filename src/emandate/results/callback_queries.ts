import { and, asc, eq, gte, isNull, lt } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import type { Queries, ReadTx, Reads } from "../../store/store.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { CallbackOutcome } from "./model.ts";
import { schemeCallbackTable } from "./tables.ts";

/** The record of one callback. */
export interface CallbackNote {
  company_id: number | null;
  address: string | null;
  order_no: string | null;
  digest: string;
  response_code: string | null;
  outcome: CallbackOutcome;
  reason: string | null;
}

export async function insertCallback(
  q: Queries,
  now: Temporal.Instant,
  callback: CallbackNote,
): Promise<void> {
  await q.insert(q.use(schemeCallbackTable)).values({ ...callback, received_at: iso(now) });
}

/** The number of callbacks of no company since an instant, counted up to `most`. */
export async function countUnmatchedCallbacks(
  q: Reads,
  since: Temporal.Instant,
  most: number,
): Promise<number> {
  const t = q.use(schemeCallbackTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id },
    where: and(isNull(t.company_id), gte(t.received_at, iso(since))),
    limit: most,
  });
  return rows.length;
}

/** A company's first callbacks about an order, at most `most`. */
export function listOrderCallbacks(
  { q, scope: { company_id } }: ReadTx,
  order_no: string,
  most: number,
): Promise<Pick<CallbackNote, "digest" | "outcome">[]> {
  const t = q.use(schemeCallbackTable);
  return q
    .select({ digest: t.digest, outcome: t.outcome })
    .from(t)
    .where(and(eq(t.order_no, order_no), eq(t.company_id, company_id)))
    .orderBy(asc(t.id))
    .limit(most)
    .execute();
}

/** Deletes at most `limit` callbacks from before `until`, or only those of no company; returns how many. */
export async function deleteOldCallbacks(
  q: Queries,
  until: Temporal.Instant,
  limit: number,
  { only_unmatched = false } = {},
): Promise<number> {
  const t = q.use(schemeCallbackTable);
  const where = and(lt(t.received_at, iso(until)), only_unmatched ? isNull(t.company_id) : undefined);
  return deleteBatch(q, t, t.id, { where, order: [asc(t.received_at)], limit });
}
