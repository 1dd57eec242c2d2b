import { and, asc, eq, gt, gte, inArray, lt, max } from "drizzle-orm";
import type { Bounds } from "../../core/periods.ts";
import { iso } from "../../core/time.ts";
import { filterOnly } from "../../store/expressions.ts";
import { findRow } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx } from "../../store/store.ts";
import type { RecordedPart } from "../records/queries.ts";
import { billingRecordTable } from "../records/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";

/** The company's last billing record; 0 before the first. */
export async function lastRecordId({ q, scope }: ReadTx): Promise<number> {
  const t = q.use(billingRecordTable);
  const where = eq(t.company_id, scope.company_id);
  return (await findRow(q, t, { columns: { id: max(t.id) }, where }))?.id ?? 0;
}

/**
 * The different bounds of periods in a currency that have a record after one which closes or adjusts them, with the day
 * of the month on which these begin.
 */
export function listBilledAfter(
  { q, scope }: ReadTx,
  record_id: number,
  { currency, from, to }: Bounds & { currency: string },
) {
  const t = q.use(billingRecordTable);
  const s = q.use(subscriptionTable);
  const { billingStartAt, billingEndAt } = t;
  return q
    .selectDistinct({ billingStartAt, billingEndAt, billing_anchor_day: s.billing_anchor_day })
    .from(t)
    .innerJoin(s, eq(s.id, t.subscription_id))
    .where(
      and(
        eq(t.company_id, scope.company_id),
        gt(t.id, record_id),
        inArray(t.kind, ["period", "adjustment"]),
        eq(t.currency, currency),
        gte(billingStartAt, iso(from)),
        lt(billingStartAt, iso(to)),
      ),
    );
}

/** A record of a period with its bounds and sums. */
export type BilledRecord = RecordedPart &
  Pick<ReturnType<typeof billingRecordTable>["$inferSelect"], "currency" | "totalCharges" | "billingEndAt">;

/** The records of periods that start within bounds, first to last. */
export function listBilled(
  { q, scope }: ReadTx,
  subscription_ids: readonly number[],
  { from, to }: Bounds,
): Promise<BilledRecord[]> {
  const { id, subscription_id, billingStartAt, kind, sequence, ...t } = q.use(billingRecordTable);
  const { usage_until, usage_seq, lines, created_at, currency, totalCharges, billingEndAt } = t;
  const part = {
    id,
    subscription_id,
    billingStartAt,
    kind,
    sequence,
    usage_until,
    usage_seq,
    lines,
    created_at,
  };
  const records = q.use(billingRecordTable);
  return selectRows(q, records, {
    columns: { ...part, currency, totalCharges, billingEndAt },
    where: and(
      inArray(subscription_id, [...subscription_ids]),
      gte(billingStartAt, iso(from)),
      lt(billingStartAt, iso(to)),
      filterOnly(eq(t.company_id, scope.company_id)),
    ),
    order: [asc(subscription_id), asc(billingStartAt), asc(sequence)],
  });
}
