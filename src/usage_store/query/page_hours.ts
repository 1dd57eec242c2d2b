import { HOUR_MS } from "../time_buckets.ts";
import type { SearchQuery } from "../port.ts";

/** The number of matching events in an hour, counted since 1970. */
export interface HourCount {
  hour: number;
  events: number;
}

/** The hours of a page, in its order. */
export interface PageHours {
  /** The number of matching events, on all pages. */
  total: number;
  /** Undefined: as far as the filter's window. */
  first: number | undefined;
  /** Undefined: the page is empty. */
  last: number | undefined;
  /** Events in these hours before the page. */
  skip: number;
}

/**
 * Locates a page by the count of each hour (each once, in any order), with one event more, which shows whether there is
 * a next page. How many events of a cursor's own hour come after it is unknown, and counted as none.
 */
export function pageHours(
  counts: readonly HourCount[],
  { after, offset, limit, sort_order }: Pick<SearchQuery, "after" | "offset" | "limit" | "sort_order">,
): PageHours {
  const total = counts.reduce((sum, { events }) => sum + events, 0);
  const start = after && Math.floor(Number(after.value) / HOUR_MS);
  const direction = sort_order === "asc" ? 1 : -1;
  const ahead = start === undefined ? counts : counts.filter(({ hour }) => direction * (hour - start) >= 0);
  const found: PageHours = { total, first: start, last: undefined, skip: offset };
  let before = 0;
  for (const { hour, events } of ahead.toSorted((a, b) => direction * (a.hour - b.hour))) {
    if (before > offset + limit) break;
    found.last = hour;
    if (after === undefined && before <= offset) {
      found.first = offset === 0 ? undefined : hour;
      found.skip = offset - before;
    }
    if (hour !== start) before += events;
  }
  return offset < total ? found : { ...found, last: undefined };
}
