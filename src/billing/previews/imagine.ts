import { iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { type ChangeTimeline, nextDue } from "../billing_model_changes/change_timeline.ts";
import type { PlannedChange } from "../billing_model_changes/request_change.ts";
import { firstModel, relinkTimeline, type TimelineChange } from "../billing_model_changes/rules.ts";
import type { StoredBillingModel } from "../billing_models/model.ts";
import { findStoredModels, toBillingModel } from "../billing_models/queries.ts";
import type { BillableSubscription } from "../runs/billable.ts";

// Timelines as they would be: the same rules as those of real changes, on rows that nobody writes.

type Models = ReadonlyMap<number, StoredBillingModel>;

/** The billing models that a timeline names, and those of a planned change. */
export function findModelsOf(
  tx: ReadTx,
  { subscription, changes }: ChangeTimeline,
  more: readonly number[],
): Promise<Map<number, StoredBillingModel>> {
  const named = changes.flatMap((change) => [change.old_billing_model_id, change.new_billing_model_id]);
  return findStoredModels(tx, [...new Set([subscription.billing_model_id, ...named, ...more])]);
}

/** One that a timeline names. */
function modelOf(models: Models, id: number): StoredBillingModel {
  const model = models.get(id);
  if (!model) throw new Error(`Cannot imagine a timeline: billing model ${id} is not there`);
  return model;
}

/** A timeline with what is due applied: a change applies it first. */
export async function withDueApplied(tx: ReadTx, current: ChangeTimeline): Promise<ChangeTimeline> {
  if (!nextDue(current, tx.now)) return current;
  const models = await findModelsOf(tx, current, []);
  const changes = current.changes.map((change) =>
    change.status === "scheduled" && change.effective_at <= iso(tx.now)
      ? { ...change, status: "applied" as const }
      : change,
  );
  const last = changes.findLast(({ status }) => status === "applied");
  const { subscription } = current;
  const billing_model_id = last?.new_billing_model_id ?? subscription.billing_model_id;
  const billing_model = toBillingModel(modelOf(models, billing_model_id));
  return { ...current, changes, subscription: { ...subscription, billing_model_id, billing_model } };
}

/** The changes of a timeline after a planned one, and the ids of the scheduled ones that go. */
export function afterChange(
  { subscription, changes }: ChangeTimeline,
  planned: PlannedChange,
): { changes: TimelineChange[]; cancelled: number[] } {
  const { new_billing_model_id, old_billing_model_id, effective_at, kind, replaces, is_applied } = planned;
  // The id that it will have is not known: 0 is nobody's.
  const status = is_applied ? "applied" : "scheduled";
  const own = { id: 0, new_billing_model_id, old_billing_model_id, effective_at, kind, status } as const;
  const kept = changes.filter(({ id }) => !replaces.includes(id));
  const { redundant } = relinkTimeline(firstModel(subscription, changes), [...kept, own]);
  const remaining: TimelineChange[] = [...kept, own].filter(({ id }) => !redundant.includes(id));
  return {
    changes: remaining.toSorted((a, b) => (a.effective_at < b.effective_at ? -1 : 1)),
    cancelled: [...replaces, ...redundant].toSorted((a, b) => a - b),
  };
}

/** A subscription with other changes; `first_model_id` is in force before them. */
export function withChanges(
  subscription: BillableSubscription,
  models: Models,
  first_model_id: number,
  changes: readonly TimelineChange[],
): BillableSubscription {
  const first = { billing_model: modelOf(models, first_model_id), from: subscription.started_at };
  const later = changes.map(({ new_billing_model_id, effective_at }) => ({
    billing_model: modelOf(models, new_billing_model_id),
    from: effective_at,
  }));
  const in_force = changes.findLast(({ status }) => status === "applied")?.new_billing_model_id;
  return {
    ...subscription,
    billing_model: modelOf(models, in_force ?? first_model_id),
    timeline: [first, ...later],
  };
}
