import { invalid, notFound } from "../../core/errors.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import type { ChangeTimeline } from "../billing_model_changes/change_timeline.ts";
import {
  findNewModel,
  nextPeriodOf,
  type PlannedChange,
  type Planner,
} from "../billing_model_changes/request_change.ts";
import { earliestEffectiveAt, validateChange } from "../billing_model_changes/rules.ts";
import { priceTermsOf } from "../billing_models/price_terms.ts";
import { timelineOf } from "../runs/billable.ts";
import { listBillable } from "../runs/billable_queries.ts";
import { monthOf } from "./credit_months.ts";
import { checkPlans, creditsAdded } from "./rules.ts";

/** Plans an upgrade, at once: the difference is added to the running month, prorated by the days left. Decision 0067. */
export function planUpgrade(subscription_id: number, new_billing_model_id: number): Planner {
  return async (tx, current) => {
    const model = await findNewModel(tx, current, new_billing_model_id);
    checkPlans("upgrade", current.subscription.billing_model, model);
    const from = earliestEffectiveAt(current.changes, tx.now);
    const planned = planSwitch(current, "upgrade", new_billing_model_id, iso(from));
    // What is due is applied before an upgrade; a preview of one counts it as applied.
    const found = await listBillable(tx, { ids: [subscription_id], limit: 1, due_by: iso(tx.now) });
    const [billable] = found;
    if (!billable) throw notFound("Subscription", subscription_id);
    const { started_at, ends_at } = billable;
    const life = { timeline: timelineOf(billable), started_at, ends_at };
    const { period } = monthOf(billable, from, current.zones);
    const credits_added = creditsAdded(life, period, { model: priceTermsOf(model), from });
    return { ...planned, credits_added };
  };
}

/** Plans a downgrade from the next billing month on, in place of one that waits. Decision 0067. */
export function planDowngrade(new_billing_model_id: number): Planner {
  return async (tx, current) => {
    const model = await findNewModel(tx, current, new_billing_model_id);
    checkPlans("downgrade", current.subscription.billing_model, model);
    const { effective_at, after_period_at } = nextPeriodOf(current, tx.now);
    const planned = planSwitch(current, "downgrade", new_billing_model_id, effective_at);
    return { ...planned, after_period_at };
  };
}

/** Plans a switch between credit plans; it replaces waiting downgrades. Errors: invalid. */
function planSwitch(
  { subscription, changes }: ChangeTimeline,
  kind: "upgrade" | "downgrade",
  new_billing_model_id: number,
  effective_at: IsoInstant,
): PlannedChange {
  const waiting = changes.filter((change) => change.status === "scheduled" && change.kind === "downgrade");
  const path = "/new_billing_model_id";
  const is_repeated = waiting.some((change) => change.new_billing_model_id === new_billing_model_id);
  if (kind === "downgrade" && is_repeated) {
    throw invalid(path, "is a duplicate schedule: the downgrade to it waits already");
  }
  const others = changes.filter((change) => !waiting.includes(change));
  const valid = validateChange(subscription, others, { new_billing_model_id, effective_at });
  if ("field" in valid) {
    const is_model = valid.field === "new_billing_model_id";
    const message = `can't be changed to at ${effective_at}: the instant ${valid.message}`;
    throw invalid(path, is_model ? valid.message : message);
  }
  const replaces = waiting.map(({ id }) => id);
  const is_applied = kind === "upgrade";
  return { ...valid, new_billing_model_id, effective_at, kind, credits_added: null, replaces, is_applied };
}
