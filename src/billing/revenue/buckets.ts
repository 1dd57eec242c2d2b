import { invalid } from "../../core/errors.ts";
import { type Bounds, periodContaining, periodStartingIn, type ZoneTimeline } from "../../core/periods.ts";
import { earlier, later } from "../../core/time.ts";
import { currentZone } from "../../core/windows.ts";
import { LIMITS } from "../limits.ts";
import type { RevenueInterval } from "./model.ts";

const MONTHS = { month: 1, quarter: 3, year: 12 } as const;

/** The start of an interval and, for as long as it is asked, those after it. */
function* startsFrom(
  interval: RevenueInterval,
  from: Temporal.Instant,
  zones: ZoneTimeline,
): Generator<Temporal.Instant> {
  if (interval === "day" || interval === "week") {
    const zone = currentZone(zones);
    const date = from.toZonedDateTimeISO(zone).toPlainDate();
    const first = interval === "day" ? date : date.subtract({ days: date.dayOfWeek - 1 });
    const days = interval === "day" ? 1 : 7;
    for (let i = 0; ; i++)
      yield first
        .add({ days: i * days })
        .toZonedDateTime(zone)
        .toInstant();
  }
  const { year, month } = periodContaining(from, 1, zones).start_date;
  const count = MONTHS[interval];
  const first = Temporal.PlainYearMonth.from({ year, month: month - ((month - 1) % count) });
  for (let i = 0; ; i++) yield periodStartingIn(first.add({ months: i * count }).toString(), 1, zones).from;
}

/**
 * The parts of a range of time, cut at local midnights: months as bills of whole months were cut, days and weeks in the
 * company's zone of now. Errors: invalid where there would be too many.
 */
export function bucketsOf(
  interval: RevenueInterval,
  { from, to }: Bounds,
  zones: ZoneTimeline,
): [Bounds, ...Bounds[]] {
  const starts: Temporal.Instant[] = [];
  for (const start of startsFrom(interval, from, zones)) {
    starts.push(start);
    if (Temporal.Instant.compare(start, to) >= 0) break;
    if (starts.length > LIMITS.revenue_buckets)
      throw invalid(
        "/interval",
        `would give more than ${LIMITS.revenue_buckets} buckets: choose a longer one`,
      );
  }
  const [first = from, ...others] = starts;
  let start = later(first, from);
  const buckets = others.map((end) => {
    const bucket = { from: start, to: earlier(end, to) };
    start = end;
    return bucket;
  });
  const [one = { from, to }, ...more] = buckets;
  return [one, ...more];
}

/** The position of the bucket that an instant lies in, of buckets in their order. */
export function bucketAt(buckets: readonly Bounds[], at: Temporal.Instant): number {
  let [low, high] = [0, buckets.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const bucket = buckets[middle];
    if (bucket && Temporal.Instant.compare(bucket.from, at) <= 0) low = middle;
    else high = middle - 1;
  }
  return low;
}
