import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { type Scope, scopeOf } from "../../core/access.ts";
import { LIMITS } from "../limits.ts";
import { invalid, notFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { type IsoInstant, instant, iso } from "../../core/time.ts";
import { findSubscription } from "../subscriptions/queries.ts";
import {
  applyDueOf,
  applyBatch,
  cancelChanges,
  findNewModel,
  findTimeline,
  relinkChanges,
  requestChange,
} from "./apply_change.ts";
import { followZones } from "./follow_time_zones.ts";
import {
  AppliedChanges,
  BillingModelChange,
  ChangePath,
  CreateBillingModelChange,
  ListBillingModelChanges,
} from "./model.ts";
import { listSubscriptionsWithDueChanges } from "./due_queries.ts";
import * as queries from "./queries.ts";
import { validateChange } from "./rules.ts";
import { voidChange } from "./void_change.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/**
 * Lists all changes of a subscription, whatever their status, in the order in which they take effect; whole
 * when no page is asked for. Errors: not_found, for a client user also when it is another client's.
 */
export const listBillingModelChanges = operation({
  name: "list_billing_model_changes",
  permission: "subscriptions:read",
  input: ListBillingModelChanges,
  output: listed(BillingModelChange),
  async run(ctx, { id, ...page }) {
    if (!(await findSubscription(readTx(ctx), id))) throw notFound("Subscription", id);
    return listPage(page, (slice) => queries.listChanges(readTx(ctx), id, slice));
  },
});

/**
 * Changes a subscription's billing model from `effective_at` on. Now or past: it is applied in this call, and
 * periods that are closed already are adjusted. Future: it is scheduled. Errors: not_found; invalid for a model
 * that is none of the company's, in another currency or the same, or an instant that the timeline does not
 * take. Decisions 0065, 0066.
 */
export const createBillingModelChange = operation({
  name: "create_billing_model_change",
  permission: "subscriptions:write",
  input: CreateBillingModelChange,
  output: BillingModelChange,
  run(ctx, { id, new_billing_model_id, effective_at: requested_at }) {
    const scope = scopeOf(ctx.actor);
    const effective_at = iso(instant(requested_at));
    return requestChange(ctx, scope, id, async (q, current) => {
      await findNewModel({ q, scope, now: ctx.now }, current, new_billing_model_id);
      checkAhead(effective_at, ctx.now);
      const placed = validateChange(current.subscription, current.changes, {
        new_billing_model_id,
        effective_at,
      });
      if ("field" in placed) throw invalid(`/${placed.field}`, placed.message);
      const is_applied = effective_at <= iso(ctx.now);
      const facts = { kind: "change", credits_added: null, replaces: [], is_applied } as const;
      return { ...placed, ...facts, new_billing_model_id, effective_at };
    });
  },
});

/**
 * Cancels a change that is still scheduled; changes after it that would then change nothing go with it.
 * Errors: not_found, also when it has been applied or cancelled. Decision 0065.
 */
export const cancelBillingModelChange = operation({
  name: "cancel_billing_model_change",
  permission: "subscriptions:write",
  input: ChangePath,
  output: BillingModelChange,
  run(ctx, { id, changeId }) {
    return transaction(ctx, async (tx) => {
      await findTimeline(tx, id);
      const [cancelled] = await cancelChanges(tx, id, [changeId]);
      if (!cancelled) throw notFound("Scheduled billing model change", changeId);
      await relinkChanges(tx, id);
      return cancelled;
    });
  },
});

/**
 * Takes an applied change back: the timeline is as if it had not been, and periods that are closed already are
 * adjusted. Changes after it that would then change nothing go with it. It reads as cancelled, with `voided_at`.
 * Errors: not_found; conflict when it is not applied, or a model that was deleted would be in force; unavailable.
 * Decision 0132.
 */
export const voidBillingModelChange = operation({
  name: "void_billing_model_change",
  permission: "subscriptions:write",
  input: ChangePath,
  output: BillingModelChange,
  run: (ctx, { id, changeId }) => voidChange(ctx, scopeOf(ctx.actor), id, changeId),
});

/**
 * Applies every scheduled change whose time has come, those of one subscription in order. One that fails stays
 * scheduled with its error, keeps those after it waiting and is tried again, after pauses that double up to an
 * hour. May run twice at once: each change is applied once. Decision 0066.
 */
export const applyDueChanges = operation({
  name: "apply_due_changes",
  permission: "subscriptions:write",
  unaudited: true,
  input: Nothing,
  output: AppliedChanges,
  async run(ctx) {
    const scope = scopeOf(ctx.actor);
    const counts = { applied: 0, failed: 0 };
    let after_id = 0;
    while (!ctx.background.is_stopping) {
      const batch = { after_id, limit: LIMITS.changes_batch };
      const ids = await listSubscriptionsWithDueChanges(readTx(ctx), batch);
      const last = ids.at(-1);
      if (last === undefined) break;
      const { applied, failed } = await applyEach(ctx, scope, ids);
      counts.applied += applied;
      counts.failed += failed;
      after_id = last;
      // An embedded database answers without ever leaving the process: requests get their turn here.
      await Bun.sleep(0);
    }
    return counts;
  },
});

/**
 * Moves ends and downgrades that wait for the end of a billing period to where it ends by the zones' rules of this
 * program, which may be newer than those that they were made by. Decision 0133.
 */
export const followZoneRules = operation({
  name: "follow_zone_rules",
  permission: "subscriptions:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    await transaction(ctx, (tx) => followZones(tx));
    return {};
  },
});

async function applyEach(
  ctx: Context,
  scope: Scope,
  ids: readonly number[],
): Promise<{ applied: number; failed: number }> {
  const counts = { applied: 0, failed: 0 };
  const ready: number[] = [];
  for (const id of ids) if (await isReady(ctx, scope, id)) ready.push(id);
  const together = ready.length > 1 && (await applyBatch(ctx, scope, ready).catch(() => false));
  if (together) counts.applied += ready.length;
  for (const id of ready) {
    try {
      counts.applied += await applyDueOf(ctx, scope, id);
    } catch (error) {
      counts.failed += 1;
      ctx.log.warn(
        { err: error, request_id: ctx.request_id, subscription_id: id },
        "cannot apply a billing model change",
      );
    }
  }
  return counts;
}

/** Whether the first change of a subscription may be tried: a later one never goes before it. */
async function isReady({ store, now }: Context, scope: Scope, subscription_id: number): Promise<boolean> {
  const next = await queries.findNextChange({ q: store.read, scope, now }, subscription_id);
  return next !== undefined && (next.next_attempt_at === null || next.next_attempt_at <= iso(now));
}

function checkAhead(effective_at: IsoInstant, now: Temporal.Instant): void {
  const latest = now.toZonedDateTimeISO("UTC").add({ years: LIMITS.change_years_ahead }).toInstant();
  if (effective_at > iso(latest)) {
    throw invalid("/effective_at", `must be at most ${LIMITS.change_years_ahead} years from now`);
  }
}
