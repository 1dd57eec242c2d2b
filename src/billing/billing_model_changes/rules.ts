import { type IsoInstant, instant, iso, later } from "../../core/time.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import type { BillingModelChange } from "./model.ts";

/** A change of a timeline: one that is not cancelled. */
export type TimelineChange = Pick<
  BillingModelChange,
  "id" | "old_billing_model_id" | "new_billing_model_id" | "effective_at" | "status" | "kind"
>;

/** The subscription of a timeline; `billing_model_id` is the model in force after its applied changes. */
export interface TimelineOwner {
  readonly billing_model_id: number;
  readonly started_at: IsoInstant;
  readonly ends_at: IsoInstant | null;
}

/** A valid change: the model that it takes over from. */
export interface ValidChange {
  readonly old_billing_model_id: number;
}

/** An invalid change: the rule that it breaks, by field. */
export interface InvalidChange {
  readonly field: "effective_at" | "new_billing_model_id";
  readonly message: string;
}

const ascending = (a: TimelineChange, b: TimelineChange) => (a.effective_at < b.effective_at ? -1 : 1);

/** The model of a subscription before any change. */
export function firstModel(owner: TimelineOwner, changes: readonly TimelineChange[]): number {
  const first_applied = changes.toSorted(ascending).find(({ status }) => status === "applied");
  return first_applied?.old_billing_model_id ?? owner.billing_model_id;
}

/**
 * Validates a new change against the timeline: within the subscription's life, not before the last applied change, at
 * an instant of its own, and to another model than its neighbours'. Decision 0065.
 */
export function validateChange(
  owner: TimelineOwner,
  changes: readonly TimelineChange[],
  { new_billing_model_id, effective_at }: Pick<TimelineChange, "new_billing_model_id" | "effective_at">,
): ValidChange | InvalidChange {
  const ordered = changes.toSorted(ascending);
  const last_applied = ordered.findLast(({ status }) => status === "applied");
  if (effective_at < owner.started_at) {
    return atInstant(`must not be before the subscription's start, ${owner.started_at}`);
  }
  if (owner.ends_at !== null && effective_at >= owner.ends_at) {
    return atInstant(`must be before the subscription's end, ${owner.ends_at}`);
  }
  if (last_applied && effective_at < last_applied.effective_at) {
    return atInstant(`must not be before the last applied change, ${last_applied.effective_at}`);
  }
  if (ordered.some((change) => change.effective_at === effective_at)) {
    return atInstant("is a duplicate schedule: another change takes effect at that instant");
  }
  const before = ordered.findLast((change) => change.effective_at < effective_at);
  const after = ordered.find((change) => change.effective_at > effective_at);
  const old_billing_model_id = before?.new_billing_model_id ?? firstModel(owner, ordered);
  if (old_billing_model_id === new_billing_model_id) {
    return toModel("is the same model as the one in force at that time");
  }
  if (after?.new_billing_model_id === new_billing_model_id) {
    return toModel(`is the same model as the next scheduled change's, at ${after.effective_at}`);
  }
  return { old_billing_model_id };
}

function atInstant(message: string): InvalidChange {
  return { field: "effective_at", message };
}

function toModel(message: string): InvalidChange {
  return { field: "new_billing_model_id", message };
}

/** A timeline after a change entered or left it. */
export interface RelinkedTimeline {
  /** Changes that now take over from another model. */
  readonly relinked: readonly { readonly id: number; readonly old_billing_model_id: number }[];
  /** Changes that would change nothing any more, or no longer hold. */
  readonly redundant: readonly number[];
  /** The model in force after the applied ones. */
  readonly in_force: number;
}

/**
 * Relinks a timeline after a change entered or left it: every change takes over from its neighbour, and adjacent
 * models differ. `first_model_id` comes from `firstModel`; `holds` says whether a change is still valid after the
 * model before it. Decisions 0065, 0132.
 */
export function relinkTimeline(
  first_model_id: number,
  changes: readonly TimelineChange[],
  holds: (change: TimelineChange, before: number) => boolean = () => true,
): RelinkedTimeline {
  const relinked: { id: number; old_billing_model_id: number }[] = [];
  const redundant: number[] = [];
  let before = first_model_id;
  let in_force = first_model_id;
  for (const change of changes.toSorted(ascending)) {
    const { id, status, old_billing_model_id, new_billing_model_id } = change;
    if (new_billing_model_id === before || !holds(change, before)) {
      redundant.push(id);
      continue;
    }
    if (old_billing_model_id !== before) relinked.push({ id, old_billing_model_id: before });
    before = new_billing_model_id;
    if (status === "applied") in_force = before;
  }
  return { relinked, redundant, in_force };
}

/** The earliest effective time: now, but strictly after the last applied change, whose clock may have been ahead. */
export function earliestEffectiveAt(
  changes: readonly TimelineChange[],
  now: Temporal.Instant,
): Temporal.Instant {
  const last = changes.toSorted(ascending).findLast(({ status }) => status === "applied");
  return last ? later(now, instant(last.effective_at).add({ milliseconds: 1 })) : now;
}

const FIRST_PAUSE_S = 2;
const LONGEST_PAUSE_S = 3_600;

/** When a change that has failed `attempts` times is tried again: pauses double up to an hour. */
export function nextAttempt(attempts: number, now: Temporal.Instant): IsoInstant {
  const pause_s = Math.min(FIRST_PAUSE_S * 2 ** Math.max(0, attempts - 1), LONGEST_PAUSE_S);
  return iso(now.add({ seconds: pause_s }));
}

/** The domain event of a change that was scheduled, applied, cancelled or voided. */
export function changeEvent(change: BillingModelChange): NewEvent {
  const { id, subscription_id, old_billing_model_id, new_billing_model_id, kind, status, effective_at } =
    change;
  const models = { old_billing_model_id, new_billing_model_id };
  return {
    type: `billing_model_change.${change.voided_at === null ? status : "voided"}`,
    data: { id, subscription_id, ...models, kind, status, effective_at },
  };
}
