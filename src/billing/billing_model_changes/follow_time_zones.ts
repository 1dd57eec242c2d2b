import { periodContaining } from "../../core/periods.ts";
import { instant, iso } from "../../core/time.ts";
import type { Reads, Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import {
  listCompaniesWithPeriodEnds,
  listPeriodEnds,
  listZones,
  updateSubscription,
} from "../subscriptions/queries.ts";
import { monotonicNow, subscriptionEvent } from "../subscriptions/rules.ts";
import { relinkChanges } from "./change_timeline.ts";
import * as queries from "./queries.ts";
import { changeEvent } from "./rules.ts";
import { listChangesAfterPeriods, listCompaniesWaitingForPeriods } from "./scheduled_queries.ts";

/**
 * Moves subscription ends and downgrades that wait for the end of a billing period to where that period ends by the
 * company's current zones and their rules. Records an event of each. Decision 0133.
 */
export async function followZones(tx: Tx): Promise<void> {
  const ended = await moveEnds(tx);
  const changed = await moveChanges(tx);
  for (const { id, ends_at } of ended) {
    const cancelled = await queries.cancelScheduledChanges(tx, id, { from: ends_at });
    await recordEvents(tx, cancelled.map(changeEvent));
  }
  for (const id of new Set([...ended.map((subscription) => subscription.id), ...changed])) {
    await relinkChanges(tx, id);
  }
}

/** The companies with ends or changes that wait for the end of a billing period. */
export async function listFollowingCompanies(q: Reads, now: Temporal.Instant): Promise<number[]> {
  const with_ends = await listCompaniesWithPeriodEnds(q, now);
  return [...new Set([...with_ends, ...(await listCompaniesWaitingForPeriods(q))])];
}

/** Returns the subscriptions whose ends were moved. */
async function moveEnds(tx: Tx): Promise<{ id: number; ends_at: string }[]> {
  const zones = await listZones(tx);
  const moved: { id: number; ends_at: string }[] = [];
  for (const { last_period_at, ...subscription } of await listPeriodEnds(tx)) {
    const { id, billing_anchor_day } = subscription;
    const ends_at = iso(periodContaining(instant(last_period_at), billing_anchor_day, zones).to);
    if (ends_at === subscription.ends_at) continue;
    const write = { ...tx, now: monotonicNow(subscription, tx.now) };
    await updateSubscription(write, id, { ends_at });
    await recordEvents(write, [subscriptionEvent("subscription.updated", { ...subscription, ends_at })]);
    moved.push({ id, ends_at });
  }
  return moved;
}

/** Returns the subscriptions whose changes were moved. */
async function moveChanges(tx: Tx): Promise<number[]> {
  const zones = await listZones(tx);
  const moved: number[] = [];
  for (const { change, after_period_at, billing_anchor_day } of await listChangesAfterPeriods(tx)) {
    const { id, subscription_id } = change;
    let at = periodContaining(instant(after_period_at), billing_anchor_day, zones).to;
    const siblings = await queries.listTimelineChanges(tx, subscription_id);
    const taken = new Set(siblings.filter((other) => other.id !== id).map((other) => other.effective_at));
    // No two changes of a subscription take effect at the same instant.
    while (taken.has(iso(at))) at = at.add({ milliseconds: 1 });
    if (iso(at) === change.effective_at) continue;
    const after = await queries.updateChange(tx, id, { effective_at: iso(at) });
    if (!after) continue;
    await recordEvents(tx, [changeEvent(after)]);
    moved.push(subscription_id);
  }
  return moved;
}
