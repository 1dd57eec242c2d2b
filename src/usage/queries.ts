import { and, asc, eq, gt, type SQL } from "drizzle-orm";
import { nextTurn } from "../core/chunk.ts";
import { selectRows } from "../store/select_rows.ts";
import type { ReadTx } from "../store/store.ts";
import { subscriptionTable } from "../billing/subscriptions/tables.ts";

/** The condition of the subscriptions in the scope: of a company, or of one of its clients. */
export function subscriptionInScope({ q, scope }: ReadTx): SQL | undefined {
  const subscriptions = q.use(subscriptionTable);
  return and(
    eq(subscriptions.company_id, scope.company_id),
    scope.client_id === undefined ? undefined : eq(subscriptions.client_id, scope.client_id),
  );
}

/** Subscriptions of one page: so many are read in about a millisecond. */
const PAGE = 1_000;

/** The external ids of all subscriptions in the scope, page by page, with a turn for everything else in between. */
export async function* listExternalIds(
  tx: ReadTx,
): AsyncGenerator<{ id: number; external_subscription_id: string }[]> {
  const { id, external_subscription_id } = tx.q.use(subscriptionTable);
  let last: string | undefined;
  do {
    const rows = await selectRows(tx.q, tx.q.use(subscriptionTable), {
      columns: { id, external_subscription_id },
      // The index that keeps them unique has them in this order.
      where: and(
        subscriptionInScope(tx),
        last === undefined ? undefined : gt(external_subscription_id, last),
      ),
      order: asc(external_subscription_id),
      limit: PAGE,
    });
    yield rows;
    last = rows.at(PAGE - 1)?.external_subscription_id;
    await nextTurn();
  } while (last !== undefined);
}
