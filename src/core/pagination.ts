import { SHARED_LIMITS } from "./limits.ts";
import type { Sums } from "./schema.ts";

/** A requested page: 1-based number, `limit` rows. */
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

/** A list response; `meta` is there when a page was requested or the list is always paged. */
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
 * Reads a list that is returned whole unless a page is requested, which then comes with `meta`. A whole list is
 * bounded; where the bound cuts it, `meta` has the total.
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

/** Answers one page of a list that always has pages, with `meta`, and the sums of all rows where `find` has them. */
export async function pagedList<T>(
  query: PageQuery,
  default_limit: number,
  find: (slice: Slice) => Promise<{ rows: T[]; total: number; sums?: Sums }>,
): Promise<{ data: T[]; meta: PageMeta & { sums?: Sums } }> {
  const { page = 1, limit = default_limit } = query;
  const { rows, total, sums } = await find({ limit, offset: (page - 1) * limit });
  const meta = pageMeta(page, limit, total);
  return { data: rows, meta: sums === undefined ? meta : { ...meta, sums } };
}

function pageMeta(page: number, limit: number, total: number): PageMeta {
  return { page, limit, total, total_pages: Math.ceil(total / limit) };
}
