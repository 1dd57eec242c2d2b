import type { ErrorDetail } from "../../core/errors.ts";
import type { IsoInstant } from "../../core/time.ts";
import type { BookedAddOn } from "../rating/add_on_lines.ts";
import type { Booking } from "./model.ts";

/** The life of a subscription. */
interface Life {
  readonly started_at: IsoInstant;
  readonly ends_at: IsoInstant | null;
}

/** The broken rules of a booking: within the subscription's life, and no two that count the same events. */
export function bookingRules(
  { started_at, ends_at }: Life,
  { quantity, from, until, add_on_id }: Booking,
  is_metered: boolean,
  others: readonly Booking[],
): ErrorDetail[] {
  const errors: ErrorDetail[] = [];
  if (from < started_at) {
    errors.push({ path: "/from", message: `must not be before the subscription's start, ${started_at}` });
  }
  if (ends_at !== null && from >= ends_at && !isEmpty({ from, until })) {
    errors.push({ path: "/from", message: `must be before the subscription's end, ${ends_at}` });
  }
  if (until !== null && until < from)
    errors.push({ path: "/until", message: `must not be before from, ${from}` });
  if (!is_metered) return errors;
  if (quantity !== "1") {
    errors.push({
      path: "/quantity",
      message: "must be 1: what this add-on charges is what its meter counts",
    });
  }
  const overlapping = others.find(
    (other) => other.add_on_id === add_on_id && overlaps(other, { from, until }),
  );
  if (overlapping) {
    const { from: start, until: end } = overlapping;
    const message = `must not overlap the booking from ${start}${end === null ? "" : ` to ${end}`}: both would charge the same events`;
    errors.push({ path: "/from", message });
  }
  return errors;
}

function overlaps(a: Pick<Booking, "from" | "until">, b: Pick<Booking, "from" | "until">): boolean {
  if (isEmpty(a) || isEmpty(b)) return false;
  return (a.until === null || b.from < a.until) && (b.until === null || a.from < b.until);
}

/** Whether a booking ends where it begins: it was taken back. */
function isEmpty({ from, until }: Pick<Booking, "from" | "until">): boolean {
  return until !== null && until <= from;
}

/** The instant from which a changed booking differs from what it was; null where nothing does. */
export function differsFrom(before: Booking | null, after: Booking): IsoInstant | null {
  if (!before) return after.from;
  const starts = [before.from, after.from].toSorted();
  const ends = [before.until, after.until].filter((end) => end !== null).toSorted();
  if (before.from !== after.from || before.quantity !== after.quantity) return starts[0] ?? null;
  return before.until === after.until ? null : (ends[0] ?? null);
}

/** Bookings in an order that only what is charged decides. */
export function orderOfBookings(a: BookedAddOn, b: BookedAddOn): number {
  const [one, two] = [a, b].map(({ add_on, quantity, from, until }) =>
    [from, String(add_on.id).padStart(16, "0"), until ?? "", quantity].join(" "),
  );
  return (one ?? "") < (two ?? "") ? -1 : 1;
}
