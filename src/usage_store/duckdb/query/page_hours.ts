import { HOUR_MS } from "../../time_buckets.ts";
import type { SearchQuery } from "../../port.ts";

/** How many events of a search an hour holds; the hour is counted since 1970. */
export interface HourCount {
  hour: number;
  events: number;
}

/** The hours of a page in its order. */
export interface PageHours {
  /** How many events match the search, on all its pages. */
  total: number;
  /** Undefined: as far as the filter's window goes. */
  first: number | undefined;
  /** Undefined: there is nothing on the page. */
  last: number | undefined;
  /** Events in these hours before the page. */
  skip: number;
}

/**
 * Where a page lies, from the count of each hour (each once, in any order), with one event more, which tells
 * whether there is a next page. How much of a cursor's own hour comes after it is not known: as if nothing did.
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
