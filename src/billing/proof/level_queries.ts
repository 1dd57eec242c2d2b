import { and, asc, eq, gt, isNull, lt, ne, or } from "drizzle-orm";
import { idIn } from "../../store/expressions.ts";
import { findRow } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx } from "../../store/store.ts";
import { readsBefore } from "../../usage_store/meter.ts";
import { listAddOnsNaming } from "../add_ons/queries.ts";
import { billingModelChangeTable } from "../billing_model_changes/tables.ts";
import { listModelsNaming } from "../billing_models/queries.ts";
import { meterTable } from "../meters/tables.ts";
import { subscriptionAddOnTable } from "../subscription_add_ons/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";

/** A subscription, and when it started. */
export interface LevelStart {
  readonly subscription_id: number;
  readonly started_at: string;
}

/**
 * Of the subscriptions that did not end by an instant and are billed by a level (a meter of `weighted_sum`, or of `latest`
 * that carries over, of their models or add-ons) the one that started first. Its bills need its events from there on.
 */
export async function findLevelStart(tx: ReadTx, at: string): Promise<LevelStart | undefined> {
  const { q, scope } = tx;
  const meters = q.use(meterTable);
  const rows = await selectRows(q, meters, {
    columns: { id: meters.id, aggregation: meters.aggregation, carry_over: meters.carry_over },
    where: eq(meters.company_id, scope.company_id),
  });
  const levels = rows.filter(readsBefore);
  const [models, add_ons] = [new Set<number>(), new Set<number>()];
  for (const { id } of levels) {
    for (const model of await listModelsNaming(tx, id)) models.add(model.id);
    for (const add_on of await listAddOnsNaming(tx, id)) add_ons.add(add_on.id);
  }
  if (models.size + add_ons.size === 0) return undefined;
  const t = q.use(subscriptionTable);
  const changes = q.use(billingModelChangeTable);
  const bookings = q.use(subscriptionAddOnTable);
  const changed = await selectRows(q, changes, {
    columns: { id: changes.subscription_id },
    where: and(
      ne(changes.status, "cancelled"),
      or(idIn(changes.old_billing_model_id, [...models]), idIn(changes.new_billing_model_id, [...models])),
    ),
  });
  const booked = await selectRows(q, bookings, {
    columns: { id: bookings.subscription_id },
    where: idIn(bookings.add_on_id, [...add_ons]),
  });
  const others = [...new Set([...changed, ...booked].map(({ id }) => id))];
  return findRow(q, t, {
    columns: { subscription_id: t.id, started_at: t.started_at },
    where: and(
      eq(t.company_id, scope.company_id),
      lt(t.started_at, at),
      or(isNull(t.ends_at), gt(t.ends_at, at)),
      or(idIn(t.billing_model_id, [...models]), idIn(t.id, others)),
    ),
    order: [asc(t.started_at), asc(t.id)],
    limit: 1,
  });
}
