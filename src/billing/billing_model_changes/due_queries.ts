import { and, asc, eq, gt, inArray, isNull, lte, or, type SQL, sql } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import type { ReadTx, Reads } from "../../store/store.ts";
import { billingModelChangeTable } from "./tables.ts";

// Due changes.

/** Those of the subscriptions with a due change, also one that is waiting for another attempt. */
export async function listOverdue(
  { q, scope, now }: ReadTx,
  subscription_ids: readonly number[],
): Promise<number[]> {
  const t = q.use(billingModelChangeTable);
  const rows = await q
    .selectDistinct({ subscription_id: t.subscription_id })
    .from(t)
    .where(
      and(
        eq(t.company_id, scope.company_id),
        inArray(t.subscription_id, [...subscription_ids]),
        eq(t.status, "scheduled"),
        lte(t.effective_at, iso(now)),
      ),
    )
    .orderBy(asc(t.subscription_id));
  return rows.map(({ subscription_id }) => subscription_id);
}

/** The companies with a change to apply. */
export async function listCompaniesWithDueChanges(q: Reads, now: Temporal.Instant): Promise<number[]> {
  const t = q.use(billingModelChangeTable);
  const rows = await q.selectDistinct({ company_id: t.company_id }).from(t).where(isDue(q, now));
  return rows.map(({ company_id }) => company_id);
}

/** Subscriptions with a change to apply, by id, after `after_id`. */
export async function listSubscriptionsWithDueChanges(
  { q, scope, now }: ReadTx,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<number[]> {
  const t = q.use(billingModelChangeTable);
  const rows = await q
    .selectDistinct({ subscription_id: t.subscription_id })
    .from(t)
    .where(and(eq(t.company_id, scope.company_id), isDue(q, now), gt(t.subscription_id, after_id)))
    .orderBy(asc(t.subscription_id))
    .limit(limit);
  return rows.map(({ subscription_id }) => subscription_id);
}

function isDue(q: Reads, now: Temporal.Instant): SQL | undefined {
  const t = q.use(billingModelChangeTable);
  return and(
    // Spelled out, not a parameter: so that the partial index is used.
    sql`${t.status} = 'scheduled'`,
    lte(t.effective_at, iso(now)),
    or(isNull(t.next_attempt_at), lte(t.next_attempt_at, iso(now))),
  );
}
