import type { Context } from "../../app/context.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { LIMITS } from "../limits.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { periodContaining } from "../../core/periods.ts";
import { type IsoInstant, instant, iso, later } from "../../core/time.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import type { BillingModel } from "../billing_models/model.ts";
import { findBillingModel } from "../billing_models/queries.ts";
import { checkClient } from "../billing_models/rules.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { noAdjustments, retryWhileStale, StaleRead } from "./adjust_closed_periods.ts";
import { applyDueOf, finishApply, rateStep } from "./apply_change.ts";
import {
  cancelChanges,
  type ChangeTimeline,
  findTimeline,
  nextDue,
  relinkChanges,
} from "./change_timeline.ts";
import { type BillingModelChange, NEXT_PERIOD } from "./model.ts";
import * as queries from "./queries.ts";
import { changeEvent, validateChange } from "./rules.ts";

/** A requested change that is valid for the timeline it was planned on. */
export interface PlannedChange
  extends Pick<
    BillingModelChange,
    "new_billing_model_id" | "old_billing_model_id" | "effective_at" | "kind" | "credits_added"
  > {
  /** Where the end of a billing period is meant: an instant of it. `effective_at` then follows the time zone. */
  readonly after_period_at?: IsoInstant | undefined;
  /** Scheduled changes that it replaces. */
  readonly replaces: readonly number[];
  /** Whether it is applied at once; else it is scheduled. */
  readonly is_applied: boolean;
  /** Who wants it, where that is not the caller. */
  readonly requested_by?: number | null;
}

/** Validates a requested change against a timeline. Errors: invalid. */
export type Planner = (tx: ReadTx, current: ChangeTimeline) => Promise<PlannedChange>;

/**
 * Makes a requested change, after applying what is due before it: applied with closed periods adjusted, or scheduled.
 * `plan` validates it against the timeline, before and again inside the transaction, where `afterwards` may record
 * more. Errors: not_found, unavailable, those of `plan`.
 */
export async function requestChange(
  ctx: Context,
  subscription_id: number,
  plan: Planner,
  afterwards: (tx: Tx, change: BillingModelChange) => Promise<void> = async () => undefined,
): Promise<BillingModelChange> {
  const { now, actor } = ctx;
  const caller = actor.kind === "user" ? actor.user_id : null;
  return retryWhileStale(async () => {
    await applyBefore(ctx, subscription_id);
    const before = await findTimeline(readTx(ctx), subscription_id);
    const planned = await plan(readTx(ctx), before);
    const adjustments = planned.is_applied ? await rateStep(ctx, before, planned) : noAdjustments(now);
    return transaction(ctx, async (tx) => {
      const current = await findTimeline(tx, subscription_id);
      // Another call, with a later clock, may have scheduled what is due by this one's.
      if (nextDue(current, now)) throw new StaleRead();
      const { replaces, is_applied, requested_by = caller, ...fields } = await plan(tx, current);
      if (fields.effective_at !== planned.effective_at) throw new StaleRead();
      await cancelChanges(tx, subscription_id, replaces);
      const status = is_applied ? "applied" : "scheduled";
      const change = await queries.insertChange(tx, { ...fields, subscription_id, status, requested_by });
      if (is_applied) {
        const applied = await finishApply(tx, current, change, adjustments);
        await afterwards(tx, applied);
        return applied;
      }
      await relinkChanges(tx, subscription_id);
      await recordEvents(tx, [changeEvent(change)]);
      await afterwards(tx, change);
      return change;
    });
  });
}

/**
 * Applies what is due before a requested change; it stays applied when the request is refused, and so is no part of
 * its audit entry. Errors: conflict when it can't be applied, unavailable.
 */
export async function applyBefore(ctx: Context, subscription_id: number): Promise<void> {
  try {
    await applyDueOf({ ...ctx, store: ctx.unaudited_store }, subscription_id);
  } catch (error) {
    if (error instanceof AppError && error.kind === "unavailable") throw error;
    const message = `Cannot change subscription ${subscription_id}: a change that is due before can't be applied`;
    throw new AppError("conflict", message, { cause: error });
  }
}

/** Plans a change to any billing model, now, in the past or in the future. */
export function planChange({
  new_billing_model_id,
  effective_at: requested_at,
}: {
  new_billing_model_id: number;
  effective_at: string;
}): Planner {
  return async (tx, current) => {
    await findNewModel(tx, current, new_billing_model_id);
    const instants =
      requested_at === NEXT_PERIOD
        ? nextPeriodOf(current, tx.now)
        : { effective_at: iso(instant(requested_at)) };
    const change = { new_billing_model_id, ...instants };
    checkAhead(change.effective_at, tx.now);
    const valid = validateChange(current.subscription, current.changes, change);
    if ("field" in valid) throw invalid(`/${valid.field}`, valid.message);
    const is_applied = change.effective_at <= iso(tx.now);
    return { ...valid, ...change, kind: "change", credits_added: null, replaces: [], is_applied };
  };
}

/** The end of the billing period that runs, or of the first one, and an instant of it. */
export function nextPeriodOf(
  { subscription, zones }: Pick<ChangeTimeline, "subscription" | "zones">,
  now: Temporal.Instant,
): { effective_at: IsoInstant; after_period_at: IsoInstant } {
  const live = later(now, instant(subscription.started_at));
  const period = periodContaining(live, subscription.billing_anchor_day, zones);
  return { effective_at: iso(period.to), after_period_at: iso(live) };
}

function checkAhead(effective_at: IsoInstant, now: Temporal.Instant): void {
  const latest = now.toZonedDateTimeISO("UTC").add({ years: LIMITS.change_years_ahead }).toInstant();
  if (effective_at > iso(latest)) {
    throw invalid("/effective_at", `must be at most ${LIMITS.change_years_ahead} years from now`);
  }
}

/**
 * The billing model that a subscription may change to. Errors: invalid when it is not an active one of the company,
 * for another client or in another currency, or when the subscription has too many changes.
 */
export async function findNewModel(
  tx: ReadTx,
  { subscription, changes }: ChangeTimeline,
  id: number,
): Promise<BillingModel> {
  const path = "/new_billing_model_id";
  const model = await findBillingModel(tx, id);
  if (!model) throw invalid(path, "names no active billing model of this company");
  checkClient(path, model, subscription.client_id);
  const { currency } = subscription.billing_model;
  if (model.currency !== currency) throw invalid(path, `must be in the subscription's currency, ${currency}`);
  const limit = LIMITS.billing_model_changes;
  if (changes.length >= limit) {
    throw invalid(path, `can't be changed to: a subscription has at most ${limit} changes`);
  }
  return model;
}
