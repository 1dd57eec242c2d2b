import type { ErrorDetail } from "../../core/errors.ts";
import { instant, type IsoInstant } from "../../core/time.ts";
import { LIMITS } from "../limits.ts";
import type { BookedAddOn } from "../rating/add_on_lines.ts";
import type { Booking } from "./model.ts";

/** The life of a subscription. */
interface Life {
  readonly started_at: IsoInstant;
  readonly ends_at: IsoInstant | null;
}

/** No billing period is longer, in ms. */
const LONGEST_PERIOD = 35 * 86_400_000;

/**
 * Whether others leave room for a booking: no billing period is touched by too many. Those that ended long before it
 * began do not count, so that a subscription may book for as long as it lives.
 */
export function hasRoom(
  { from, until }: Pick<Booking, "from" | "until">,
  others: readonly Booking[],
): boolean {
  const [start_ms, starts] = [msOf(from), others.map((other) => msOf(other.from)).toSorted(ascending)];
  // A period that begins before a booking ends is touched by both for so long.
  const lastOf = (end: IsoInstant | null) =>
    end === null ? Number.POSITIVE_INFINITY : msOf(end) + LONGEST_PERIOD;
  const ends = others.map((other) => lastOf(other.until)).toSorted(ascending);
  const moments = [start_ms, ...starts.filter((ms) => ms > start_ms && ms < lastOf(until))];
  let [begun, ended] = [0, 0];
  for (const ms of moments) {
    while ((starts[begun] ?? Number.POSITIVE_INFINITY) <= ms) begun++;
    while ((ends[ended] ?? Number.POSITIVE_INFINITY) <= ms) ended++;
    if (begun - ended >= LIMITS.subscription_add_ons) return false;
  }
  return true;
}

const msOf = (at: IsoInstant) => instant(at).epochMilliseconds;
const ascending = (a: number, b: number) => a - b;

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
