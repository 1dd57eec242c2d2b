/** A run goes on until it is finished; one that a crash ended is interrupted, and the next makes it good. */
export const COLLECTION_STATUSES = ["running", "finished", "interrupted"] as const;

/** What a run has done so far. */
export interface CollectionCounts {
  due: number;
  scheduled: number;
  skipped: number;
  submitted: number;
  refused: number;
}
