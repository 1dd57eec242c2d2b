import type { Static } from "@sinclair/typebox";
import { invalid } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { type Bounds, periodContaining, periodStartingIn, type ZoneTimeline } from "../../core/periods.ts";
import { instant, iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { listZones } from "../subscriptions/queries.ts";
import { bucketsOf } from "./buckets.ts";
import type { ReportRevenue, Revenue, RevenueGroup, RevenueRow, RevenueTotal } from "./model.ts";
import * as queries from "./queries.ts";
import { sumGroups, withBuckets } from "./sums.ts";

/** How many months it is of where no range is given. */
const USUAL_MONTHS = 12;

/** What was billed for the periods that begin in a range of time. Errors: invalid. Decision 0272. */
export async function revenueOf(
  tx: ReadTx,
  { interval = "month", group_by, page = 1, limit, ...given }: Static<typeof ReportRevenue>,
): Promise<Static<typeof Revenue>> {
  const zones = await listZones(tx);
  const range = rangeOf(given, tx.now, zones);
  const buckets = bucketsOf(interval, range, zones);
  const billed = await queries.listBilled(tx, range, group_by);
  const groups = group_by === undefined ? [] : sumGroups(billed);
  const totals = sumGroups(billed.map((row) => ({ ...row, key: null })));
  const size = limit ?? SHARED_LIMITS.page_limit_default;
  const page_rows = groups.slice((page - 1) * size, page * size);
  const keys = page_rows.map(({ key }) => key);
  return {
    from: iso(range.from),
    to: iso(range.to),
    interval,
    buckets: buckets.map(({ from, to }) => ({ from: iso(from), to: iso(to) })),
    totals: withBuckets(totals, buckets),
    groups: groups.length,
    rows: group_by === undefined ? [] : await namedRows(tx, group_by, keys, withBuckets(page_rows, buckets)),
  };
}

/** The range of a report that is given none: twelve months, the running one counted. */
export async function usualRange(tx: ReadTx): Promise<Bounds> {
  return rangeOf({}, tx.now, await listZones(tx));
}

/** Errors: invalid for a range that ends before it begins. */
function rangeOf(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  now: Temporal.Instant,
  zones: ZoneTimeline,
): Bounds {
  const running = periodContaining(now, 1, zones);
  const until = to === undefined ? running.to : instant(to);
  const last = to === undefined ? running : periodContaining(until.subtract({ milliseconds: 1 }), 1, zones);
  const first = last.start_date.toPlainYearMonth().subtract({ months: USUAL_MONTHS - 1 });
  const since = from === undefined ? periodStartingIn(first.toString(), 1, zones).from : instant(from);
  if (Temporal.Instant.compare(since, until) >= 0) throw invalid("/to", "must be after from");
  return { from: since, to: until };
}

async function namedRows(
  tx: ReadTx,
  group_by: RevenueGroup,
  keys: readonly (string | number | null)[],
  sums: readonly RevenueTotal[],
): Promise<RevenueRow[]> {
  const ids = keys.filter((key) => typeof key === "number");
  const names =
    group_by === "kind" ? new Map<number, string>() : await queries.listGroupNames(tx, group_by, ids);
  return sums.map((row, i) => {
    const key = keys[i] ?? "";
    return typeof key === "number"
      ? { id: key, name: names.get(key) ?? "", ...row }
      : { id: null, name: key, ...row };
  });
}
