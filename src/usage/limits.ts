/** Hard limits of usage: events, searches, imports and exports. */
export const LIMITS = {
  usage_batch: 1_000,
  usage_filter_ids: 1_000,
  usage_search_limit: 200,
  usage_search_limit_default: 50,
  usage_groups: 10_000,
  /** Groups by subscription that are read to be folded into groups by client or product. */
  usage_groups_folded: 100_000,
  usage_search_text_length: 200,
  usage_cursor_length: 500,
  /** A key of metadata by which groups are made, that is told of, or that is searched, and the value it must have. */
  usage_metadata_key_length: 200,
  usage_metadata_value_length: 1_000,
  /** Longer values are cut to make the key of a group. */
  usage_group_key_length: 500,
  /** How many of the newest events the list of metadata keys goes through, how deep, and what it tells of them. */
  usage_keys_events: 100_000,
  usage_keys_bytes: 16 * 1024 * 1024,
  usage_keys_depth: 5,
  usage_keys_elements: 3,
  usage_keys: 200,
  usage_keys_samples: 5,
  usage_keys_sample_length: 100,
  /** Broken rules named in the answer to one ingest request. */
  usage_problems: 100,
  usage_metadata_keys: 50,
  usage_metadata_bytes: 16_384,
  /** How long a stream of events waits, in all, for a store that takes no more just now. */
  usage_stream_wait_ms: 15_000,
  usage_future_ms: 3_600_000,
  /** Memory of the engine that reads an imported file. */
  usage_import_memory: "512MB",
  usage_import_threads: 2,
  /** What it reads ahead of what is stored. */
  usage_import_buffer: "64MB",
  /** Rows of a file that are stored at once, and that are read one by one at once. */
  usage_import_block: 500_000,
  usage_import_slice: 2_000,
  /** Imported files of a company that are known again, the newest. */
  usage_imports: 10_000,
  /** Rows whose keys are taken for those of the file. */
  usage_import_sample: 10_000,
  /** Events waiting for their commit before ingest answers "later". */
  usage_pending_events: 200_000,
  /** How long the comparison of sums with events may take. */
  usage_check_ms: 600_000,
  usage_readers: 4,
  usage_readers_waiting: 256,
  /** Exports that run at once, and that may wait for those. */
  usage_exports: 2,
  usage_exports_waiting: 8,
  usage_exports_waiting_company: 2,
  usage_export_link_characters: 6_000,
  /** How long an export may take, its wait included. */
  usage_export_ms: 1_800_000,
  /** Events that an export sorts at once, where it can't part them by time. */
  usage_export_sorted: 1_000_000,
  /** The largest Parquet file: it is on disk before it is sent. */
  usage_export_file_bytes: 4 * 1024 ** 3,
} as const;
