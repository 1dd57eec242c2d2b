import { and, count, eq, gt, gte, inArray, isNull, lt, lte, or, type SQL, sql } from "drizzle-orm";
import { billingModelChangeTable } from "../../billing/billing_model_changes/tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import type { Decimal } from "../../core/money.ts";
import { iso } from "../../core/time.ts";
import { mandateTable } from "../../emandate/mandates/tables.ts";
import { mandatePaymentTable } from "../../emandate/payments/tables.ts";
import { countRows } from "../../store/select_rows.ts";
import type { ReadTx } from "../../store/store.ts";

/** Two instants, the second not included. */
export interface Span {
  readonly from: Temporal.Instant;
  readonly to: Temporal.Instant;
}

interface DebitSum {
  count: number;
  amount: Decimal;
}

/** Debits that were paid in a span. */
export function sumPaid({ q, scope }: ReadTx, { from, to }: Span): Promise<DebitSum> {
  const t = q.use(mandatePaymentTable);
  const within = and(gte(t.paid_at, iso(from)), lt(t.paid_at, iso(to)));
  return sumDebits({ q, scope }, and(eq(t.status, "paid"), within));
}

/** Debits that failed for good, or were charged back, in a span. */
export function sumFailed({ q, scope }: ReadTx, { from, to }: Span): Promise<DebitSum> {
  const t = q.use(mandatePaymentTable);
  const within = and(gte(t.updated_at, iso(from)), lt(t.updated_at, iso(to)));
  return sumDebits(
    { q, scope },
    and(inArray(t.status, ["failed", "charged_back"]), isNull(t.forgiven_at), within),
  );
}

async function sumDebits(
  { q, scope }: Pick<ReadTx, "q" | "scope">,
  which: SQL | undefined,
): Promise<DebitSum> {
  const t = q.use(mandatePaymentTable);
  const amount = sql<Decimal>`coalesce(sum(${t.amount}), 0)`.mapWith(t.amount);
  const [row] = await q
    .select({ count: count(), amount })
    .from(t)
    .where(and(eq(t.company_id, scope.company_id), which));
  return row ?? { count: 0, amount: "0.00" };
}

/** Collections of mandates that are due by an instant. */
export async function sumCollections({ q, scope }: ReadTx, until: Temporal.Instant): Promise<DebitSum> {
  const t = q.use(mandateTable);
  const amount = sql<Decimal>`coalesce(sum(${t.bankscheme_txn_amount}), 0)`.mapWith(t.max_amount);
  const [row] = await q
    .select({ count: count(), amount })
    .from(t)
    .where(
      and(eq(t.company_id, scope.company_id), eq(t.status, "active"), lt(t.next_collection_at, iso(until))),
    );
  return row ?? { count: 0, amount: "0.00" };
}

/** How many subscriptions that run have each anchor day. */
export async function countByAnchor({
  q,
  scope,
  now,
}: ReadTx): Promise<{ anchor_day: number; count: number }[]> {
  const t = q.use(subscriptionTable);
  return q
    .select({ anchor_day: t.billing_anchor_day, count: count() })
    .from(t)
    .where(
      and(
        eq(t.company_id, scope.company_id),
        lte(t.started_at, iso(now)),
        or(isNull(t.ends_at), gt(t.ends_at, iso(now))),
      ),
    )
    .groupBy(t.billing_anchor_day);
}

/** How many subscriptions end by an instant. */
export function countEnding({ q, scope, now }: ReadTx, until: Temporal.Instant): Promise<number> {
  const t = q.use(subscriptionTable);
  const soon = and(gt(t.ends_at, iso(now)), lt(t.ends_at, iso(until)));
  return countRows(q, t, and(eq(t.company_id, scope.company_id), soon));
}

/** How many plan changes take effect by an instant. */
export function countChanges({ q, scope, now }: ReadTx, until: Temporal.Instant): Promise<number> {
  const t = q.use(billingModelChangeTable);
  const soon = and(gt(t.effective_at, iso(now)), lt(t.effective_at, iso(until)));
  return countRows(q, t, and(eq(t.company_id, scope.company_id), eq(t.status, "scheduled"), soon));
}
