import type { IsoInstant } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { listAppliedChanges } from "../billing_model_changes/queries.ts";
import { findStoredModels, type StoredBillingModel } from "../billing_models/queries.ts";

/** What a subscription is billed by. */
export interface BillableSubscription {
  id: number;
  started_at: IsoInstant;
  ends_at: IsoInstant | null;
  billing_anchor_day: number;
  /** The model in force now. */
  billing_model: StoredBillingModel;
  /** Every model that was in force, ascending by the instants from which. */
  timeline: readonly { readonly billing_model: StoredBillingModel; readonly from: IsoInstant }[];
}

/**
 * Adds to each subscription the models that its applied changes put in force, and with `due_by` those that are
 * still scheduled and due by then: two statements, however many.
 */
export async function withTimelines(
  tx: ReadTx,
  rows: readonly Omit<BillableSubscription, "timeline">[],
  due_by?: IsoInstant,
): Promise<BillableSubscription[]> {
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
