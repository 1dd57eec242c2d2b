import { useLocation } from "preact-iso";
import type { Input } from "../api/call.ts";

/** The filters, page and order of a page, which are its address's: Back and links work. */
export interface QueryState {
  values: Record<string, string | undefined>;
  /** Changes some; undefined or "" takes one away. A step in the history unless `replace`. */
  set: (changes: Record<string, string | undefined>, replace?: boolean) => void;
  /** Whether anything but page and order is set. */
  is_filtered: boolean;
  clear: () => void;
  /** What a list is asked: the filters of these names, and its page and order. */
  input: (names: readonly string[], limit?: number) => Input;
}

/** What is no filter. */
const OTHERS = new Set(["page", "sort", "cursor", "new"]);
const ROWS = 20;

export function useQuery(): QueryState {
  const { path, query, route } = useLocation();
  const go = (values: Record<string, string | undefined>, replace = false) => {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(values))
      if (value !== undefined && value !== "") search.set(name, value);
    const text = search.toString();
    if (`?${text}` !== location.search && (text !== "" || location.search !== ""))
      route(text === "" ? path : `${path}?${text}`, replace);
  };
  return {
    values: query,
    // From the address as it is now: what was drawn may be a change behind.
    set: (changes, replace) =>
      go({ ...Object.fromEntries(new URLSearchParams(location.search)), ...changes }, replace),
    is_filtered: Object.keys(query).some((name) => !OTHERS.has(name)),
    clear: () => go({}),
    input: (names, limit = ROWS) => ({
      ...Object.fromEntries(names.map((name) => [name, query[name]])),
      ...(query.cursor === undefined ? { page: query.page ?? "1" } : { cursor: query.cursor }),
      limit,
      sort: query.sort,
    }),
  };
}

/** Whether the page's dialog for a new record is open: `?new` in its address, which the palette and links lead to. */
export function useNew(query: QueryState): { is_open: boolean; open: () => void; close: () => void } {
  return {
    is_open: query.values.new !== undefined,
    open: () => query.set({ new: "1" }),
    close: () => query.set({ new: undefined }, true),
  };
}
