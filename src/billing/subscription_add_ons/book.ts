import { isDeepStrictEqual } from "node:util";
import type { Context } from "../../app/context.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { FieldErrors } from "../../core/field_errors.ts";
import { orNotFound } from "../../core/errors.ts";
import type { IsoInstant } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import type { EventType } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { findAddOnTerms } from "../add_ons/queries.ts";
import {
  noAdjustments,
  rateClosed,
  recordAdjustments,
  retryWhileStale,
  StaleRead,
} from "../billing_model_changes/adjust_closed_periods.ts";
import { findTimeline } from "../billing_model_changes/change_timeline.ts";
import type { BookedAddOn } from "../rating/add_on_lines.ts";
import type { SubscriptionDetail } from "../subscriptions/detail.ts";
import type { Booking, SubscriptionAddOn } from "./model.ts";
import * as queries from "./queries.ts";
import { bookingRules, differsFrom, orderOfBookings } from "./rules.ts";

// Changing what a subscription has booked: closed periods are rated before the transaction that writes the booking and
// their adjustments, as for plan changes. Decisions 0066, 0247.

/** A booking to write: a new one, or a change of `before`. */
export interface PlannedBooking {
  readonly before: SubscriptionAddOn | null;
  readonly after: Booking;
}

type Plan = (
  tx: ReadTx,
  subscription: SubscriptionDetail,
  bookings: readonly SubscriptionAddOn[],
) => Promise<PlannedBooking>;

/** A planned booking, the whole of what would then be booked, and from when on that differs. */
interface Checked extends PlannedBooking {
  readonly add_ons: readonly BookedAddOn[];
  readonly since: IsoInstant | null;
}

/**
 * Writes a booking and adjusts closed periods. `plan` is made before and again inside the transaction. Errors:
 * not_found, invalid, unavailable, those of `plan`.
 */
export async function writeBooking(
  ctx: Context,
  subscription_id: number,
  type: EventType,
  plan: Plan,
): Promise<SubscriptionAddOn> {
  return retryWhileStale(async () => {
    const owner = await findTimeline(readTx(ctx), subscription_id);
    const planned = await check(readTx(ctx), owner.subscription, plan);
    const { since, add_ons } = planned;
    const adjustments =
      since === null
        ? noAdjustments(ctx.now)
        : await rateClosed(ctx, owner, since, (subscription) => ({ ...subscription, add_ons }));
    return transaction(ctx, async (tx) => {
      const current = await findTimeline(tx, subscription_id);
      const { before, after, ...checked } = await check(tx, current.subscription, plan);
      if (!isDeepStrictEqual(checked, { since, add_ons })) throw new StaleRead();
      const { add_on_id: _fixed, ...change } = after;
      const written = before
        ? await queries.updateBooking(tx, before.id, change)
        : await queries.insertBooking(tx, subscription_id, after);
      const ids = since === null ? [] : await recordAdjustments(tx, current, since, adjustments);
      const { id, add_on_id, quantity, from, until } = written;
      await recordEvents(tx, [{ type, data: { id, subscription_id, add_on_id, quantity, from, until } }]);
      if (before) ctx.annotateAudit({ before, after: written });
      if (ids.length === 0) return written;
      const adjusted = [...written.adjustment_billing_record_ids, ...ids];
      return queries.updateBooking(tx, id, { adjustment_billing_record_ids: adjusted });
    });
  });
}

/** Errors: invalid, those of `plan`. */
async function check(tx: ReadTx, subscription: SubscriptionDetail, plan: Plan): Promise<Checked> {
  const bookings = await queries.allBookings(tx, subscription.id);
  const { before, after } = await plan(tx, subscription, bookings);
  const others = bookings.filter(({ id }) => id !== before?.id);
  const add_on_ids = [...new Set([...others, after].map(({ add_on_id }) => add_on_id))];
  const terms = await findAddOnTerms(tx, add_on_ids);
  const termsOf = (id: number) => orNotFound(terms.get(id), "Add-on", id);
  const errors = new FieldErrors();
  const is_metered = termsOf(after.add_on_id).charge.type !== "fixed";
  errors.add(...bookingRules(subscription, after, is_metered, others));
  errors.refuse();
  const add_ons = [...others, after]
    .map(({ add_on_id, quantity, from, until }) => ({ quantity, from, until, add_on: termsOf(add_on_id) }))
    .toSorted(orderOfBookings);
  return { before, after, add_ons, since: differsFrom(before, after) };
}
