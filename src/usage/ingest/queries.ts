import { and, eq, sql } from "drizzle-orm";
import { instant } from "../../core/time.ts";
import { textInList } from "../../store/expressions.ts";
import { batchedRead } from "../../store/batched_read.ts";
import { preparedQuery } from "../../store/prepared_query.ts";
import type { Reads } from "../../store/store.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";

/** A subscription as ingest sees it: its life in Unix ms, the end exclusive. */
export interface MeteredSubscription {
  id: number;
  starts_ms: number;
  ends_ms: number | null;
}

const meteredSubscriptions = preparedQuery("metered_subscriptions", (q) => {
  const { id, company_id, external_subscription_id, started_at, ends_at } = q.use(subscriptionTable);
  return q
    .select({ id, external_subscription_id, started_at, ends_at })
    .from(q.use(subscriptionTable))
    .where(
      and(
        eq(company_id, sql.placeholder("company_id")),
        textInList(external_subscription_id, "external_ids"),
      ),
    );
});

/** The company's subscriptions by external id, at least these; unknown ids are left out. */
export const findMeteredSubscriptions = batchedRead(readMeteredSubscriptions);

async function readMeteredSubscriptions(
  q: Reads,
  company_id: number,
  external_ids: string[],
): Promise<Map<string, MeteredSubscription>> {
  if (external_ids.length === 0) return new Map();
  const rows = await meteredSubscriptions(q, { company_id, external_ids: JSON.stringify(external_ids) });
  return new Map(
    rows.map((row) => [
      row.external_subscription_id,
      {
        id: row.id,
        starts_ms: instant(row.started_at).epochMilliseconds,
        ends_ms: row.ends_at === null ? null : instant(row.ends_at).epochMilliseconds,
      },
    ]),
  );
}
