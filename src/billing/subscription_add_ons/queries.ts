import { and, asc, eq, gt, isNull, or } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { filterOnly, idIn } from "../../store/expressions.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { columnsOf, findRow, listRows } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { addOnTermColumns } from "../add_ons/queries.ts";
import { addOnTable } from "../add_ons/tables.ts";
import type { BookedAddOn } from "../rating/add_on_lines.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import { type Booking, SubscriptionAddOn } from "./model.ts";
import { orderOfBookings } from "./rules.ts";
import { subscriptionAddOnTable } from "./tables.ts";

const bookingColumns = (q: Reads) => columnsOf(q.use(subscriptionAddOnTable), SubscriptionAddOn);

/** A subscription's bookings by their beginning, and how many there are in all. */
export function listBookings(
  { q, scope }: ReadTx,
  subscription_id: number,
  slice: Slice,
): Promise<{ rows: SubscriptionAddOn[]; total: number }> {
  const t = q.use(subscriptionAddOnTable);
  const where = and(eq(t.subscription_id, subscription_id), filterOnly(eq(t.company_id, scope.company_id)));
  return listRows(q, t, { columns: bookingColumns(q), where, order: [asc(t.from), asc(t.id)], slice });
}

/** All bookings of a subscription by id. */
export function allBookings({ q, scope }: ReadTx, subscription_id: number): Promise<SubscriptionAddOn[]> {
  const t = q.use(subscriptionAddOnTable);
  const where = and(eq(t.subscription_id, subscription_id), filterOnly(eq(t.company_id, scope.company_id)));
  return selectRows(q, t, { columns: bookingColumns(q), where, order: asc(t.id) });
}

/** What subscriptions have booked, by their ids, in the order of `orderOfBookings`. */
export async function listBooked(
  { q, scope }: ReadTx,
  subscription_ids: readonly number[],
): Promise<Map<number, BookedAddOn[]>> {
  if (subscription_ids.length === 0) return new Map();
  const t = q.use(subscriptionAddOnTable);
  const add_ons = q.use(addOnTable);
  const rows = await selectRows(q, t, {
    columns: {
      subscription_id: t.subscription_id,
      booked: { quantity: t.quantity, from: t.from, until: t.until },
      add_on: addOnTermColumns(q),
    },
    joins: [[add_ons, eq(add_ons.id, t.add_on_id)]],
    where: and(idIn(t.subscription_id, subscription_ids), filterOnly(eq(t.company_id, scope.company_id))),
  });
  const groups = Map.groupBy(rows, (row) => row.subscription_id);
  return new Map(
    [...groups].map(([id, own]) => [
      id,
      own.map(({ booked, add_on }) => ({ ...booked, add_on })).toSorted(orderOfBookings),
    ]),
  );
}

/** Whether any subscription has ever booked the add-on. */
export async function isBooked({ q, scope }: ReadTx, add_on_id: number): Promise<boolean> {
  const t = q.use(subscriptionAddOnTable);
  const found = await findRow(q, t, {
    columns: { id: t.id },
    where: and(eq(t.add_on_id, add_on_id), eq(t.company_id, scope.company_id)),
    limit: 1,
  });
  return found !== undefined;
}

/** How many active subscriptions have the add-on, now or later. */
export async function countBookingSubscriptions(
  { q, scope, now }: ReadTx,
  add_on_id: number,
): Promise<number> {
  const t = q.use(subscriptionAddOnTable);
  const subscriptions = q.use(subscriptionTable);
  const at = iso(now);
  const rows = await q
    .selectDistinct({ id: t.subscription_id })
    .from(t)
    .innerJoin(subscriptions, eq(subscriptions.id, t.subscription_id))
    .where(
      and(
        eq(t.add_on_id, add_on_id),
        eq(t.company_id, scope.company_id),
        or(isNull(t.until), and(gt(t.until, at), gt(t.until, t.from))),
        or(isNull(subscriptions.ends_at), gt(subscriptions.ends_at, at)),
      ),
    );
  return rows.length;
}

export function insertBooking(
  { q, scope, now }: Tx,
  subscription_id: number,
  booking: Booking,
): Promise<SubscriptionAddOn> {
  const row = {
    ...booking,
    subscription_id,
    company_id: scope.company_id,
    adjustment_billing_record_ids: [],
    ...stamped(now),
  };
  return insertRow(q, q.use(subscriptionAddOnTable), row, bookingColumns(q));
}

export async function updateBooking(
  { q, scope, now }: Tx,
  id: number,
  change: Partial<Pick<SubscriptionAddOn, "quantity" | "from" | "until" | "adjustment_billing_record_ids">>,
): Promise<SubscriptionAddOn> {
  const t = q.use(subscriptionAddOnTable);
  const [row] = await q
    .update(t)
    .set({ ...change, updated_at: iso(now) })
    .where(and(eq(t.id, id), eq(t.company_id, scope.company_id)))
    .returning(bookingColumns(q));
  if (!row) throw new Error(`Cannot update booking ${id}: it is not there`);
  return row;
}
