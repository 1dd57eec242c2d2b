import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import { LIMITS } from "../limits.ts";
import { AppError, invalid, notFound } from "../../core/errors.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import { recordSystemChange } from "../../audit/recorder.ts";
import type { BillingModel } from "../billing_models/model.ts";
import { findBillingModel, findStoredModels } from "../billing_models/queries.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import type { SubscriptionDetail } from "../subscriptions/detail.ts";
import { findSubscription, listZones, updateSubscription } from "../subscriptions/queries.ts";
import {
  type PlannedAdjustments,
  StaleRead,
  noAdjustments,
  rateClosed,
  recordAdjustments,
  type AdjustmentDeps,
  retryWhileStale,
} from "./adjust_closed_periods.ts";
import type { BillingModelChange } from "./model.ts";
import * as queries from "./queries.ts";
import { changeEvent, firstModel, nextAttempt, relinkTimeline } from "./rules.ts";

/**
 * How a change takes effect, whoever asks for it. What it costs in periods that are closed is rated before,
 * since the usage store is never asked inside a transaction; then one transaction applies the change, finds
 * that the facts are still those, and writes the adjustments. Decision 0066.
 */

/** A subscription as it stands, with the changes that are not cancelled, ascending. */
export interface ChangeTimeline {
  readonly subscription: SubscriptionDetail;
  readonly changes: readonly BillingModelChange[];
  readonly zones: ZoneTimeline;
}

/** Errors: not_found. */
export async function findTimeline(tx: ReadTx, subscription_id: number): Promise<ChangeTimeline> {
  const subscription = await findSubscription(tx, subscription_id);
  if (!subscription) throw notFound("Subscription", subscription_id);
  const changes = await queries.listTimelineChanges(tx, subscription_id);
  return { subscription, changes, zones: await listZones(tx) };
}

/** A step of the timeline: from when on which model is in force. */
type Step = Pick<BillingModelChange, "new_billing_model_id" | "effective_at">;

/** Rates the closed periods that a step reaches into as if it were made. */
async function rateStep(
  tools: AdjustmentDeps,
  scope: Scope,
  current: ChangeTimeline,
  { new_billing_model_id: id, effective_at }: Step,
): Promise<PlannedAdjustments> {
  const billing_model = (await findStoredModels({ q: tools.store.read, scope, now: tools.now }, [id])).get(
    id,
  );
  if (!billing_model) throw new StaleRead();
  return rateClosed(tools, scope, current, effective_at, ({ timeline }) => [
    ...timeline,
    { billing_model, from: effective_at },
  ]);
}

/** What a change that was applied means for its subscription, and for the changes after it. */
async function finishApply(
  tx: Tx,
  current: ChangeTimeline,
  applied: BillingModelChange,
  adjusting: PlannedAdjustments,
): Promise<BillingModelChange> {
  const { id } = current.subscription;
  await updateSubscription(tx, id, { billing_model_id: applied.new_billing_model_id });
  const ids = await recordAdjustments(tx, current, applied.effective_at, adjusting);
  const change = ids.length === 0 ? applied : await queries.setAdjustments(tx, applied.id, ids);
  await relinkChanges(tx, id);
  await recordEvents(tx, [changeEvent(change)]);
  return change;
}

/**
 * The billing model that a subscription may change to. Errors: invalid when it is none of the company's that may
 * be chosen, or in another currency, or when the subscription has too many changes.
 */
export async function findNewModel(
  tx: ReadTx,
  { subscription, changes }: ChangeTimeline,
  id: number,
): Promise<BillingModel> {
  const model = await findBillingModel(tx, id);
  if (!model) throw invalid("/new_billing_model_id", "names no active billing model of this company");
  const { currency } = subscription.billing_model;
  if (model.currency !== currency) {
    throw invalid("/new_billing_model_id", `must be in the subscription's currency, ${currency}`);
  }
  if (changes.length >= LIMITS.billing_model_changes) {
    throw invalid(
      "/new_billing_model_id",
      `can't be changed to: a subscription has at most ${LIMITS.billing_model_changes} changes`,
    );
  }
  return model;
}

/**
 * Brings the scheduled changes of a subscription in order after one of them came or went, and cancels those
 * that would change nothing any more.
 */
export async function relinkChanges(tx: Tx, subscription_id: number): Promise<void> {
  const { subscription, changes } = await findTimeline(tx, subscription_id);
  const { relinked, redundant } = relinkTimeline(firstModel(subscription, changes), changes);
  for (const { id, old_billing_model_id } of relinked) {
    await queries.updateChange(tx, id, { old_billing_model_id });
  }
  await cancelChanges(tx, subscription_id, redundant);
}

/** Cancels the changes with these ids that are still scheduled, and tells of them. */
export async function cancelChanges(
  tx: Tx,
  subscription_id: number,
  ids: readonly number[],
): Promise<BillingModelChange[]> {
  if (ids.length === 0) return [];
  const cancelled = await queries.cancelScheduledChanges(tx, subscription_id, { ids });
  await recordEvents(tx, cancelled.map(changeEvent));
  return cancelled;
}

/** A change that is asked for, as it may be made by what stands. */
export interface PlannedChange
  extends Pick<
    BillingModelChange,
    "new_billing_model_id" | "old_billing_model_id" | "effective_at" | "kind" | "credits_added"
  > {
  /** An instant of the billing period whose end is meant, where that is: `effective_at` then follows the zone. */
  readonly after_period_at?: IsoInstant | undefined;
  /** Scheduled changes that it takes the place of. */
  readonly replaces: readonly number[];
  /** Whether it is applied at once; else it is scheduled. */
  readonly is_applied: boolean;
}

/**
 * Makes a change that is asked for: applied in this call, closed periods adjusted, or scheduled. What is due
 * before it is applied first. `decide` says what the change is by what stands, or throws why it can't be
 * made; it is asked again in the transaction that makes the change, where `note` may tell of it.
 * Errors: not_found, unavailable, those of `decide`.
 */
export async function requestChange(
  ctx: Context,
  scope: Scope,
  subscription_id: number,
  decide: (q: Reads, current: ChangeTimeline) => Promise<PlannedChange>,
  note: (q: Queries, change: BillingModelChange) => Promise<void> = async () => undefined,
): Promise<BillingModelChange> {
  const { store, now, actor } = ctx;
  const requested_by = actor.kind === "user" ? actor.user_id : null;
  return retryWhileStale(async () => {
    // Not what was asked for: it stays, also when that is refused.
    await applyBefore({ ...ctx, store: ctx.unaudited_store }, scope, subscription_id);
    const before = await findTimeline({ q: store.read, scope, now }, subscription_id);
    const planned = await decide(store.read, before);
    const adjusting = planned.is_applied ? await rateStep(ctx, scope, before, planned) : noAdjustments(now);
    return store.tx(async (q) => {
      const current = await findTimeline({ q, scope, now }, subscription_id);
      // Another call, with a later clock, may have scheduled what is due by this one's.
      if (nextOf(current, now)) throw new StaleRead();
      const { replaces, is_applied, ...change_fields } = await decide(q, current);
      if (change_fields.effective_at !== planned.effective_at) throw new StaleRead();
      await cancelChanges({ q, scope, now }, subscription_id, replaces);
      const status = is_applied ? "applied" : "scheduled";
      const row = { ...change_fields, subscription_id, status, requested_by } as const;
      const written = await queries.insertChange({ q, scope, now }, row);
      if (is_applied) {
        const change = await finishApply({ q, scope, now }, current, written, adjusting);
        await note(q, change);
        return change;
      }
      await relinkChanges({ q, scope, now }, subscription_id);
      await recordEvents({ q, scope, now }, [changeEvent(written)]);
      await note(q, written);
      return written;
    });
  });
}

/** Applies what is due before a change that is asked for. Errors: conflict when it can't be applied. */
export async function applyBefore(ctx: Context, scope: Scope, subscription_id: number): Promise<void> {
  try {
    await applyDueOf(ctx, scope, subscription_id);
  } catch (error) {
    if (error instanceof AppError && error.kind === "unavailable") throw error;
    const message = `Cannot change subscription ${subscription_id}: a change that is due before can't be applied`;
    throw new AppError("conflict", message, { cause: error });
  }
}

/** The change that is due by now, before all others of the subscription. */
export function nextOf({ changes }: ChangeTimeline, now: Temporal.Instant): BillingModelChange | undefined {
  const next = changes.find(({ status }) => status === "scheduled");
  return next && next.effective_at <= iso(now) ? next : undefined;
}

/** Applies what is due of a subscription, in order. Errors: those of the first change that can't be applied. */
export async function applyDueOf(ctx: Context, scope: Scope, subscription_id: number): Promise<number> {
  const { store, now } = ctx;
  for (let applied = 0; ; applied++) {
    const next = await queries.findNextChange({ q: store.read, scope, now }, subscription_id);
    if (!next || next.effective_at > iso(now)) return applied;
    try {
      await applyNext(ctx, scope, subscription_id);
    } catch (error) {
      await saveFailure(ctx, scope, next, error);
      throw error;
    }
  }
}

/** What a change that failed says of it: our own rules' words; a database's are only logged. */
async function saveFailure(
  { store, now }: AdjustmentDeps,
  scope: Scope,
  { id, attempts: before }: BillingModelChange,
  error: unknown,
): Promise<void> {
  const attempts = before + 1;
  const last_error = error instanceof AppError ? error.message : "Internal error";
  const failure = { last_error, attempts, next_attempt_at: nextAttempt(attempts, now) };
  // Where the database is what failed, the change stays due and is tried again at once.
  await store.tx((q) => queries.recordFailure({ q, scope, now }, id, failure)).catch(() => undefined);
}

/** Applies the next due change of a subscription, if there still is one. */
function applyNext(ctx: Context, scope: Scope, subscription_id: number): Promise<void> {
  const { store, now } = ctx;
  return retryWhileStale(async () => {
    const before = await findTimeline({ q: store.read, scope, now }, subscription_id);
    const next = nextOf(before, now);
    if (!next) return;
    const adjusting = await rateStep(ctx, scope, before, next);
    await store.tx((q) => applyNextIn(ctx, q, scope, subscription_id, next.id, adjusting));
  });
}

/**
 * Applies one due change of each subscription, all in one transaction, where no closed period comes with it.
 * Returns false, and has applied none, when that is not so.
 */
export async function applyBatch(
  ctx: Context,
  scope: Scope,
  subscription_ids: readonly number[],
): Promise<boolean> {
  const { store, now } = ctx;
  try {
    await store.tx(async (q) => {
      for (const id of subscription_ids) {
        const next = await queries.findNextChange({ q, scope, now }, id);
        if (next && next.effective_at <= iso(now)) {
          await applyNextIn(ctx, q, scope, id, next.id, noAdjustments(now));
        }
      }
    });
    return true;
  } catch (error) {
    if (error instanceof StaleRead) return false;
    throw error;
  }
}

/** Errors: FactsChanged when the change is not the next one any more, or reaches into other closed periods. */
async function applyNextIn(
  ctx: Context,
  q: Queries,
  scope: Scope,
  subscription_id: number,
  change_id: number,
  adjusting: PlannedAdjustments,
): Promise<void> {
  const { now } = ctx;
  const current = await findTimeline({ q, scope, now }, subscription_id);
  const next = nextOf(current, now);
  if (next?.id !== change_id) throw new StaleRead();
  const old_model_id = current.subscription.billing_model_id;
  const applied = await queries.applyScheduledChange({ q, scope, now }, change_id, old_model_id);
  if (!applied) throw new StaleRead();
  await finishApply({ q, scope, now }, current, applied, adjusting);
  const target = { type: "billing_model_change", id: change_id };
  await recordSystemChange(ctx, q, scope, "apply_billing_model_change", target);
}
