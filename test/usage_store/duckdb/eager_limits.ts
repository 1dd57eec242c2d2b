/** Compaction at every commit, in parts as small as can be. */
export const EAGER = {
  hot_rows: 1,
  segment_rows: 300,
  move_rows: 100,
  snapshot_rows: 500,
  min_events: 1,
  max_share: 1,
  retry_ms: 10,
};
