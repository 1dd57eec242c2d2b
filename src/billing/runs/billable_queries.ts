import { and, asc, eq, gt, inArray } from "drizzle-orm";
import type { IsoInstant } from "../../core/time.ts";
import { filterOnly, idIn } from "../../store/expressions.ts";
import { matching } from "../../store/list_rows.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import type { ReadTx } from "../../store/store.ts";
import { selectRows } from "../../store/select_rows.ts";
import { listAppliedChanges } from "../billing_model_changes/queries.ts";
import type { StoredBillingModel } from "../billing_models/model.ts";
import { billingModelColumns, findStoredModels } from "../billing_models/queries.ts";
import { billingModelTable } from "../billing_models/tables.ts";
import { listBooked } from "../subscription_add_ons/queries.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import type { BillableSubscription } from "./billable.ts";

interface BillableFilter {
  /** Only these. */
  ids: readonly number[] | undefined;
  /** The last id of the previous batch. */
  after_id?: number;
  limit: number;
  /** For dry runs: scheduled changes that are due by then count as applied. */
  due_by?: IsoInstant | undefined;
}

const billableColumns = oncePerDialect((q) => {
  const { id, started_at, ends_at, billing_anchor_day, trial_days } = q.use(subscriptionTable);
  return { id, started_at, ends_at, billing_anchor_day, trial_days, billing_model: billingModelColumns(q) };
});

/** Subscriptions by id, ended ones too, with the models they are billed by, in at most four statements. */
export async function listBillable(
  tx: ReadTx,
  { ids, after_id = 0, limit, due_by }: BillableFilter,
): Promise<BillableSubscription[]> {
  const t = tx.q.use(subscriptionTable);
  const billing_models = tx.q.use(billingModelTable);
  const { company_id, client_id } = tx.scope;
  const owned = matching(t, { company_id, client_id });
  const rows = await selectRows(tx.q, t, {
    columns: billableColumns(tx.q),
    joins: [[billing_models, eq(billing_models.id, t.billing_model_id)]],
    where: and(gt(t.id, after_id), ids === undefined ? owned : and(idIn(t.id, ids), filterOnly(owned))),
    order: asc(t.id),
    limit,
  });
  const booked = await listBooked(
    tx,
    rows.map((row) => row.id),
  );
  const with_timelines = await withTimelines(tx, rows, due_by);
  return with_timelines.map((row) => ({ ...row, add_ons: booked.get(row.id) ?? [] }));
}

/**
 * Adds to each subscription the models that its applied changes put in force, and with `due_by` those that are
 * still scheduled and due by then: two statements, however many.
 */
async function withTimelines(
  tx: ReadTx,
  rows: readonly Omit<BillableSubscription, "timeline" | "add_ons">[],
  due_by: IsoInstant | undefined,
): Promise<Omit<BillableSubscription, "add_ons">[]> {
  const ids = rows.map(({ id }) => id);
  const changes = rows.length === 0 ? [] : await listAppliedChanges(tx, ids, due_by);
  const named = changes.flatMap((change) => [change.old_billing_model_id, change.new_billing_model_id]);
  const models = named.length === 0 ? new Map() : await findStoredModels(tx, [...new Set(named)]);
  const modelOf = (id: number): StoredBillingModel => {
    const model = models.get(id);
    if (!model) throw new Error(`Cannot read a timeline: billing model ${id} is not there`);
    return model;
  };
  const groups = Map.groupBy(changes, ({ subscription_id }) => subscription_id);
  return rows.map((row) => {
    const entries = groups.get(row.id) ?? [];
    const first = entries[0] ? modelOf(entries[0].old_billing_model_id) : row.billing_model;
    const later = entries.map((change) => ({
      billing_model: modelOf(change.new_billing_model_id),
      from: change.effective_at,
    }));
    return { ...row, timeline: [{ billing_model: first, from: row.started_at }, ...later] };
  });
}

/** Which of the ids are subscriptions of the company. */
export async function existingSubscriptions(
  { q, scope }: ReadTx,
  ids: readonly number[],
): Promise<Set<number>> {
  const t = q.use(subscriptionTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id },
    where: and(eq(t.company_id, scope.company_id), inArray(t.id, [...ids])),
  });
  return new Set(rows.map(({ id }) => id));
}
