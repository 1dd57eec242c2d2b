import { SHARED_LIMITS } from "./limits.ts";

/** A page asked for: 1-based page, `limit` rows. */
export interface PageQuery {
  page?: number | undefined;
  limit?: number | undefined;
}

/** What comes with a page. */
export interface PageMeta {
  page: number;
  limit: number;
  total: number;
  total_pages: number;
}

/** A list as answered; `meta` is there when a page was asked for or the list is always paged. */
export interface Listed<T> {
  data: T[];
  meta?: PageMeta;
}

/** Where a page starts and how far it goes, in rows. */
export interface Slice {
  limit: number;
  offset: number;
}

/**
 * Answers a list that the interface shows without pages: whole unless a page is asked for, which then comes
 * with `meta`. A whole list stops at a bound, and then `meta` tells how much there is.
 */
export async function listPage<T>(
  query: PageQuery,
  find: (slice: Slice) => Promise<{ rows: T[]; total: number }>,
): Promise<Listed<T>> {
  if (query.page === undefined && query.limit === undefined) {
    const { rows, total } = await find({ limit: SHARED_LIMITS.list_rows, offset: 0 });
    return total <= rows.length
      ? { data: rows }
      : { data: rows, meta: pageMeta(1, SHARED_LIMITS.list_rows, total) };
  }
  return pagedList(query, SHARED_LIMITS.page_limit_default, find);
}

/** Answers one page of a list that always has pages, with `meta`. */
export async function pagedList<T>(
  query: PageQuery,
  default_limit: number,
  find: (slice: Slice) => Promise<{ rows: T[]; total: number }>,
): Promise<{ data: T[]; meta: PageMeta }> {
  const { page = 1, limit = default_limit } = query;
  const { rows, total } = await find({ limit, offset: (page - 1) * limit });
  return { data: rows, meta: pageMeta(page, limit, total) };
}

function pageMeta(page: number, limit: number, total: number): PageMeta {
  return { page, limit, total, total_pages: Math.ceil(total / limit) };
}
