import { and, asc, eq, gt, inArray, isNull, or, sql } from "drizzle-orm";
import { alertTable } from "../../billing/features/alert_tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import type { Decimal } from "../../core/money.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { filterOnly, ofCompany } from "../../store/expressions.ts";
import { keptSelect } from "../../store/kept_select.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { LIMITS } from "../limits.ts";
import { type SET_BY, spendLimitTable } from "./tables.ts";

/** A limit, and whose it is. */
export interface StoredSpendLimit {
  readonly set_by: (typeof SET_BY)[number];
  readonly amount: Decimal;
  readonly hard: boolean;
}

const selectLimits = keptSelect((q) => {
  const t = q.use(spendLimitTable);
  const { set_by, amount, hard } = t;
  return {
    table: t,
    columns: { set_by, amount, hard },
    where: and(
      eq(t.subscription_id, sql.placeholder("subscription_id")),
      eq(t.company_id, sql.placeholder("company_id")),
    ),
    order: asc(t.id),
  };
});

/** The spend limits of a subscription. */
export function listSpendLimits(
  { q, scope: { company_id } }: ReadTx,
  subscription_id: number,
): Promise<StoredSpendLimit[]> {
  return selectLimits(q, { subscription_id, company_id });
}

/** The spend limits of the company, or of these subscriptions, and whose they are. */
export function listSpendLimitsIn(
  { q, scope: { company_id } }: ReadTx,
  ids: readonly number[] | undefined,
): Promise<(StoredSpendLimit & { readonly subscription_id: number })[]> {
  const t = q.use(spendLimitTable);
  const { subscription_id, set_by, amount, hard } = t;
  return selectRows(q, t, {
    columns: { subscription_id, set_by, amount, hard },
    where: ofCompany(t, company_id, subscription_id, ids),
    order: asc(t.id),
  });
}

/** The companies with spend limits, or alerts on charges. */
export async function listCompaniesWithRated(q: Reads): Promise<number[]> {
  const t = q.use(spendLimitTable);
  const alerts = q.use(alertTable);
  const is_rated = and(eq(alerts.status, "active"), inArray(alerts.on, ["spend", "forecast"]));
  const rows = await q
    .selectDistinct({ company_id: t.company_id })
    .from(t)
    .union(q.selectDistinct({ company_id: alerts.company_id }).from(alerts).where(is_rated));
  return rows.map(({ company_id }) => company_id);
}

/** A page of the subscriptions with a spend limit that have not ended long ago, by id; one with two limits is there twice. */
export async function listSpendLimited(
  { q, scope, now }: ReadTx,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<number[]> {
  const t = q.use(spendLimitTable);
  const { id, ends_at } = q.use(subscriptionTable);
  const told_until = now.subtract({ milliseconds: LIMITS.alert_late_ms });
  const rows = await selectRows(q, t, {
    columns: { id: t.subscription_id },
    joins: [[q.use(subscriptionTable), eq(id, t.subscription_id)]],
    where: and(
      filterOnly(eq(t.company_id, scope.company_id)),
      gt(t.subscription_id, after_id),
      or(isNull(ends_at), gt(ends_at, iso(told_until))),
    ),
    order: asc(t.subscription_id),
    limit,
  });
  return rows.map((row) => row.id);
}

/** Writes a limit in place of the one before of the same. */
export async function saveSpendLimit(
  { q, scope, now }: Tx,
  subscription_id: number,
  { set_by, amount, hard }: StoredSpendLimit,
): Promise<void> {
  const t = q.use(spendLimitTable);
  await q
    .insert(t)
    .values({ company_id: scope.company_id, subscription_id, set_by, amount, hard, ...stamped(now) })
    .onConflictDoUpdate({
      target: [t.subscription_id, t.set_by],
      set: { amount, hard, updated_at: iso(now) },
    });
}

/** Deletes a limit; returns whether there was one. */
export async function deleteSpendLimit(
  { q, scope }: Tx,
  subscription_id: number,
  set_by: StoredSpendLimit["set_by"],
): Promise<boolean> {
  const t = q.use(spendLimitTable);
  const rows = await q
    .delete(t)
    .where(
      and(eq(t.company_id, scope.company_id), eq(t.subscription_id, subscription_id), eq(t.set_by, set_by)),
    )
    .returning({ id: t.id });
  return rows.length > 0;
}
