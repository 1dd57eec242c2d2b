import { and, eq } from "drizzle-orm";
import { instant } from "../../core/time.ts";
import { textIn } from "../../store/expressions.ts";
import { batchedRead } from "../../store/batched_read.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { Reads } from "../../store/store.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";

/** A subscription as ingest sees it: its life in Unix ms, the end exclusive. */
export interface MeteredSubscription {
  id: number;
  starts_ms: number;
  ends_ms: number | null;
}

const meteredColumns = oncePerDialect((q) => {
  const { id, external_subscription_id, started_at, ends_at } = q.use(subscriptionTable);
  return { id, external_subscription_id, started_at, ends_at };
});

/** The company's subscriptions by external id, at least these; unknown ids are left out. */
export const findMeteredSubscriptions = batchedRead(readMeteredSubscriptions);

async function readMeteredSubscriptions(
  q: Reads,
  company_id: number,
  external_ids: string[],
): Promise<Map<string, MeteredSubscription>> {
  if (external_ids.length === 0) return new Map();
  const t = q.use(subscriptionTable);
  const rows = await selectRows(q, t, {
    columns: meteredColumns(q),
    where: and(eq(t.company_id, company_id), textIn(t.external_subscription_id, external_ids)),
  });
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
