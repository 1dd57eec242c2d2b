import { AppError } from "../../core/errors.ts";
import { periodContaining, type ZoneTimeline } from "../../core/periods.ts";
import { type IsoInstant, instant, iso, later } from "../../core/time.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import type { CANCEL_TIMES, Subscription } from "./model.ts";

/** The life of a subscription, `[started_at, ends_at)`. */
export interface Life {
  started_at: IsoInstant;
  ends_at: IsoInstant | null;
}

/** The status of a subscription: active until it ends, never if it ends when it starts. Decision 0012. */
export function statusAt({ started_at, ends_at }: Life, now: Temporal.Instant): Subscription["status"] {
  return ends_at !== null && (ends_at <= iso(now) || ends_at <= started_at) ? "cancelled" : "active";
}

/** Adds the status that follows from a subscription's life, and leaves out what is not set. */
export function withStatus<R extends Life & { trial_days: number | null }>(
  { trial_days, ...row }: R,
  now: Temporal.Instant,
) {
  return { ...row, ...(trial_days === null ? {} : { trial_days }), status: statusAt(row, now) };
}

/** The end of a subscription; where the end of a billing period is meant, an instant of that period. */
export interface End {
  ends_at: IsoInstant;
  last_period_at: IsoInstant | null;
}

/**
 * The end of a subscription that is cancelled: at once, or with its running billing period. One that has not started
 * ends when it starts, or with its first period. `now` brings a later end forward. Errors: conflict when it has ended,
 * or an end is set already. Decisions 0012, 0133.
 */
export function cancellationTime(
  subscription: Pick<Subscription, "id" | "started_at" | "ends_at" | "billing_anchor_day">,
  at: (typeof CANCEL_TIMES)[number],
  now: Temporal.Instant,
  zones: ZoneTimeline,
): End {
  const { id, started_at, ends_at, billing_anchor_day } = subscription;
  if (statusAt(subscription, now) === "cancelled") {
    throw new AppError("conflict", `Cannot cancel subscription ${id}: it is cancelled already`);
  }
  if (ends_at !== null && at !== "now") {
    throw new AppError("conflict", `Cannot cancel subscription ${id}: it ends at ${ends_at} already`);
  }
  const live = later(instant(started_at), now);
  if (at === "now") return { ends_at: iso(live), last_period_at: null };
  const ends_with = periodContaining(live, billing_anchor_day, zones);
  return { ends_at: iso(ends_with.to), last_period_at: iso(live) };
}

/**
 * A monotonic timestamp for a row: never earlier than its last update. Concurrent calls may commit in another order
 * than they read the clock, and a cancellation must not undo an earlier one.
 */
export function monotonicNow(
  { updated_at }: { updated_at: IsoInstant },
  now: Temporal.Instant,
): Temporal.Instant {
  return later(instant(updated_at), now);
}

/** The domain event of a subscription. */
export function subscriptionEvent(type: NewEvent["type"], subscription: Subscription): NewEvent {
  const { id, status, ends_at, client_id, product_id, billing_model_id } = subscription;
  return { type, data: { id, status, ends_at, client_id, product_id, billing_model_id } };
}
