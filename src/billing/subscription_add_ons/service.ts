import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { AppError, invalid, orNotFound } from "../../core/errors.ts";
import { compare, type Decimal, readDecimal } from "../../core/money.ts";
import { listPage } from "../../core/pagination.ts";
import { listed } from "../../core/schema.ts";
import { type IsoInstant, instant, iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { findAddOn } from "../add_ons/queries.ts";
import { LIMITS } from "../limits.ts";
import type { SubscriptionDetail } from "../subscriptions/detail.ts";
import { findSubscription } from "../subscriptions/queries.ts";
import { writeBooking } from "./book.ts";
import {
  AddSubscriptionAddOn,
  type Booking,
  ChangeSubscriptionAddOn,
  ListSubscriptionAddOns,
  RemoveSubscriptionAddOn,
  SubscriptionAddOn,
} from "./model.ts";
import * as queries from "./queries.ts";
import { hasRoom } from "./rules.ts";

/**
 * Lists what a subscription has booked, ended bookings too, by their beginning; whole when no page is asked for.
 * Errors: not_found, for a client user also when it is another client's.
 */
export const listSubscriptionAddOns = operation({
  name: "list_subscription_add_ons",
  permission: "subscriptions:read",
  input: ListSubscriptionAddOns,
  output: listed(SubscriptionAddOn),
  async run(ctx, { id, ...page }) {
    orNotFound(await findSubscription(readTx(ctx), id), "Subscription", id);
    return listPage(page, (slice) => queries.listBookings(readTx(ctx), id, slice));
  },
});

/**
 * Books an add-on for a subscription, from now or from an instant of its life on; closed periods are adjusted. Errors:
 * not_found; invalid for an add-on in another currency, an instant outside the subscription's life, or a metered add-on
 * that is booked already; unavailable.
 */
export const addSubscriptionAddOn = operation({
  name: "add_subscription_add_on",
  permission: "subscriptions:write",
  target: "subscription_add_on",
  input: AddSubscriptionAddOn,
  output: SubscriptionAddOn,
  run: (ctx, { id, add_on_id, quantity = "1", from, until = null }) =>
    writeBooking(ctx, id, "subscription.add_on_added", async (tx, subscription, bookings) => {
      await checkAddOn(tx, subscription, add_on_id);
      const after = {
        add_on_id,
        quantity: readQuantity(quantity),
        from: from === undefined ? iso(ctx.now) : readBeginning(from, ctx.now),
        until: readEnd(until),
      };
      refuseCrowded("/add_on_id", after, bookings);
      return { before: null, after };
    }),
});

/**
 * Changes a booking from its beginning on; what is left out stays. Closed periods are adjusted. Errors: as for a new
 * one.
 */
export const changeSubscriptionAddOn = operation({
  name: "change_subscription_add_on",
  permission: "subscriptions:write",
  input: ChangeSubscriptionAddOn,
  output: SubscriptionAddOn,
  run: (ctx, { id, bookingId, quantity, from, until }) =>
    writeBooking(ctx, id, "subscription.add_on_changed", async (_tx, _subscription, bookings) => {
      const before = findBooking(bookings, bookingId);
      const after: Booking = {
        add_on_id: before.add_on_id,
        quantity: quantity === undefined ? before.quantity : readQuantity(quantity),
        from: from === undefined ? before.from : readBeginning(from, ctx.now),
        until: until === undefined ? before.until : readEnd(until),
      };
      const others = bookings.filter((other) => other.id !== bookingId);
      refuseCrowded(from === undefined ? "/until" : "/from", after, others);
      return { before, after };
    }),
});

/**
 * Ends a booking now; one that has not begun never does. Errors: not_found, conflict when it has ended, unavailable.
 */
export const removeSubscriptionAddOn = operation({
  name: "remove_subscription_add_on",
  permission: "subscriptions:write",
  input: RemoveSubscriptionAddOn,
  output: SubscriptionAddOn,
  run: (ctx, { id, bookingId }) =>
    writeBooking(ctx, id, "subscription.add_on_removed", async (_tx, _subscription, bookings) => {
      const before = findBooking(bookings, bookingId);
      const { add_on_id, quantity, from } = before;
      const until = from > iso(ctx.now) ? from : iso(ctx.now);
      if (before.until !== null && before.until <= until) {
        const message = `Cannot remove booking ${bookingId}: it ended at ${before.until}`;
        throw new AppError("conflict", message);
      }
      return { before, after: { add_on_id, quantity, from, until } };
    }),
});

/** Errors: invalid. */
async function checkAddOn(
  tx: ReadTx,
  { billing_model: { currency } }: SubscriptionDetail,
  id: number,
): Promise<void> {
  const add_on = await findAddOn(tx, id);
  if (!add_on) throw invalid("/add_on_id", "names no active add-on of this company");
  if (add_on.currency !== currency) {
    throw invalid("/add_on_id", `must be in the subscription's currency, ${currency}`);
  }
}

/** Errors: invalid. */
function refuseCrowded(path: string, booking: Booking, others: readonly Booking[]): void {
  if (hasRoom(booking, others)) return;
  const message = `must leave at most ${LIMITS.subscription_add_ons} bookings in each billing period`;
  throw invalid(path, message);
}

function findBooking(bookings: readonly SubscriptionAddOn[], id: number): SubscriptionAddOn {
  const found = bookings.find((booking) => booking.id === id);
  return orNotFound(found, "Booking", id);
}

function readQuantity(given: string | number): Decimal {
  const quantity = readDecimal(given, "/quantity");
  if (compare(quantity, "0") <= 0) throw invalid("/quantity", "must be more than 0");
  return quantity;
}

function readBeginning(from: string, now: Temporal.Instant): IsoInstant {
  const latest = now.toZonedDateTimeISO("UTC").add({ years: LIMITS.change_years_ahead }).toInstant();
  if (Temporal.Instant.compare(instant(from), latest) > 0) {
    throw invalid("/from", `must be at most ${LIMITS.change_years_ahead} years from now`);
  }
  return iso(instant(from));
}

const readEnd = (until: string | null) => (until === null ? null : iso(instant(until)));
