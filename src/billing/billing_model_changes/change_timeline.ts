import { notFound } from "../../core/errors.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { iso } from "../../core/time.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import type { SubscriptionDetail } from "../subscriptions/detail.ts";
import { findSubscription, listZones } from "../subscriptions/queries.ts";
import type { BillingModelChange } from "./model.ts";
import * as queries from "./queries.ts";
import { changeEvent, firstModel, relinkTimeline } from "./rules.ts";

/** A subscription with its active (not cancelled) plan changes, ascending. */
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

/** The first scheduled change of a timeline, if it is due. */
export function nextDue({ changes }: ChangeTimeline, now: Temporal.Instant): BillingModelChange | undefined {
  const next = changes.find(({ status }) => status === "scheduled");
  return next && next.effective_at <= iso(now) ? next : undefined;
}

/** Relinks a subscription's changes after one came or went, and cancels scheduled ones that became redundant. */
export async function relinkChanges(tx: Tx, subscription_id: number): Promise<void> {
  const { subscription, changes } = await findTimeline(tx, subscription_id);
  const { relinked, redundant } = relinkTimeline(firstModel(subscription, changes), changes);
  await queries.updateOldModels(tx, relinked);
  await cancelChanges(tx, subscription_id, redundant);
}

/** Cancels those of the changes that are still scheduled, and records their events. */
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
