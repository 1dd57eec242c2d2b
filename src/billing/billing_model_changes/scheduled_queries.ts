import { and, asc, eq, gt, inArray, isNotNull, isNull, lte, or, type SQL, sql } from "drizzle-orm";
import { type IsoInstant, iso } from "../../core/time.ts";
import type { ReadTx, Reads } from "../../store/store.ts";
import { selectRows } from "../../store/select_rows.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import type { BillingModelChange } from "./model.ts";
import { changeColumns } from "./queries.ts";
import { billingModelChangeTable } from "./tables.ts";

// Scheduled changes: those that are due, and those that wait for the end of a billing period.

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

/** The companies with a change to apply. */
export const listCompaniesWithDueChanges = (q: Reads, now: Temporal.Instant) =>
  listCompanies(q, isDue(q, now));

/** The companies with changes that wait for the end of a billing period. */
export const listCompaniesWaitingForPeriods = (q: Reads) => listCompanies(q, waitsForPeriod(q));

async function listCompanies(q: Reads, where: SQL | undefined): Promise<number[]> {
  const t = q.use(billingModelChangeTable);
  const rows = await q.selectDistinct({ company_id: t.company_id }).from(t).where(where);
  return rows.map(({ company_id }) => company_id);
}

/** Changes that wait for the end of a billing period: an instant of it, and the anchor day. */
export async function listChangesAfterPeriods({
  q,
  scope,
}: ReadTx): Promise<
  { change: BillingModelChange; after_period_at: IsoInstant; billing_anchor_day: number }[]
> {
  const t = q.use(billingModelChangeTable);
  const subscriptions = q.use(subscriptionTable);
  const { billing_anchor_day } = subscriptions;
  const rows = await selectRows(q, t, {
    columns: { change: changeColumns(q), after_period_at: t.after_period_at, billing_anchor_day },
    joins: [[subscriptions, eq(subscriptions.id, t.subscription_id)]],
    where: and(eq(t.company_id, scope.company_id), waitsForPeriod(q)),
    order: asc(t.id),
  });
  return rows.flatMap(({ after_period_at: at, ...row }) =>
    at === null ? [] : [{ ...row, after_period_at: at }],
  );
}

function isDue(q: Reads, now: Temporal.Instant): SQL | undefined {
  const t = q.use(billingModelChangeTable);
  const can_be_tried = or(isNull(t.next_attempt_at), lte(t.next_attempt_at, iso(now)));
  return and(isScheduled(q), lte(t.effective_at, iso(now)), can_be_tried);
}

function waitsForPeriod(q: Reads): SQL | undefined {
  return and(isScheduled(q), isNotNull(q.use(billingModelChangeTable).after_period_at));
}

/** Spelled out, not a parameter: so that the partial index is used. */
function isScheduled(q: Reads): SQL {
  return sql`${q.use(billingModelChangeTable).status} = 'scheduled'`;
}
