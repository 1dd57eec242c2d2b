/** Where a company's events begin, Unix ms, once earlier ones were removed. */
export interface KeptSince {
  company_id: number;
  since_ms: number;
}

/** The part of the port that removes events and keeps sums of them. Decision 0215. */
export interface UsageRemovals {
  /** Where the company's events begin, Unix ms: earlier ones were removed, or are about to be. 0: no bound was set. */
  sinceOf(company_id: number): number;

  /**
   * Refuses the company's events before `since_ms`, a whole hour of UTC, from now on: `append` and `load` with invalid,
   * naming `/3/timestamp`. Durable when it resolves, and no earlier event is being stored then. The bound never falls.
   */
  closeBefore(company_id: number, since_ms: number): Promise<void>;

  /**
   * Removes about `limit` of the company's oldest events before that bound, or an hour's if these are more, and resolves
   * with their number when that is durable: 0 when there are none. What stays of them is their sums by subscription and
   * hour. `aggregate` and `sums` count these where whole hours suffice, and are refused with invalid and conflict where
   * they don't; so is `totals`, with conflict, for every window that begins before the bound. An id of a removed event is
   * not known any more. Numbers stay: `lastSeq` does not fall. Errors: unavailable when nothing was removed.
   */
  removeClosed(company_id: number, limit: number): Promise<number>;

  /** Resolves when no event is being removed, and none is until the result is called. */
  holdRemovals(): Promise<() => void>;

  /**
   * Writes the sums that were kept of removed events into a new Parquet file at `path`, and answers where the events of
   * each such company begin, by company. The columns: company_id, subscription_id, hour INTEGER (of UTC, since 1970),
   * total DECIMAL(38,6), events BIGINT, low, high DECIMAL(18,6), corrections BIGINT.
   */
  exportKept(path: string, timeout_ms: number): Promise<KeptSince[]>;
}
