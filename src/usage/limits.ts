/** Hard limits of usage: events, searches, imports and exports. */
export const LIMITS = {
  usage_batch: 1_000,
  usage_filter_ids: 1_000,
  usage_search_limit: 200,
  usage_search_limit_default: 50,
  /** Groups that have rows of their own in a table of sums, unless its limit says otherwise. */
  usage_table_groups: 50,
  usage_groups: 10_000,
  /** Groups by subscription that are read to be folded into groups by client or product. */
  usage_groups_folded: 100_000,
  /** Buckets of a series: at most so many by itself, and as asked for. */
  usage_series_buckets_auto: 400,
  usage_series_buckets: 1_500,
  /** Groups of a series that are named; the others are one. */
  usage_series_groups: 50,
  usage_series_groups_default: 8,
  usage_filters: 20,
  usage_filter_values: 100,
  /** Events that a frame of a streamed series reads more than the one before. */
  usage_series_slice: 1_000_000,
  usage_values: 100,
  usage_values_default: 20,
  /** Saved views of one user, and of a company for all. */
  usage_views: 200,
  usage_search_text_length: 200,
  usage_cursor_length: 500,
  /** A metadata key that groups, lists or filters, and the value to filter by. */
  usage_metadata_key_length: 200,
  usage_metadata_value_length: 1_000,
  /** Longer values are cut to make the key of a group. */
  usage_group_key_length: 500,
  /** The list of metadata keys: how many of the newest events it reads, how deep, and what it reports. */
  usage_keys_events: 100_000,
  usage_keys_bytes: 16 * 1024 * 1024,
  usage_keys_depth: 5,
  usage_keys_elements: 3,
  usage_keys: 200,
  usage_keys_samples: 5,
  usage_keys_sample_length: 100,
  /** Problems named in the response to one ingest request. */
  usage_problems: 100,
  usage_metadata_keys: 50,
  usage_metadata_bytes: 16_384,
  /** How long a stream of events waits in all while the store is full. */
  usage_stream_wait_ms: 15_000,
  usage_future_ms: 3_600_000,
  /** Memory of the engine that reads an imported file. */
  usage_import_memory: "512MB",
  usage_import_threads: 2,
  /** What it reads ahead of what is stored. */
  usage_import_buffer: "64MB",
  /** Rows of a file that are stored at once: two groups of rows of the engine, one for each of its threads. */
  usage_import_block: 2 * 122_880,
  /** Rows that are read one by one at once: a few milliseconds, then everything else has a turn. */
  usage_import_slice: 2_000,
  /** Imported files of a company that are recognized when imported again, the newest. */
  usage_imports: 10_000,
  /** A block that a command or a program sends (POST /usage/import): Parquet, five columns of text. */
  usage_block_rows: 500_000,
  usage_block_bytes: 64 * 1024 * 1024,
  /** Its texts, unpacked; one of them; its Parquet footer. */
  usage_block_text_bytes: 256 * 1024 * 1024,
  usage_block_value_bytes: 128 * 1024,
  usage_block_footer_bytes: 1024 * 1024,
  /** How long it may take to arrive, what must come within each of these times meanwhile, and how long it is read. */
  usage_block_ms: 300_000,
  usage_block_pace_ms: 10_000,
  usage_block_pace_bytes: 256 * 1024,
  usage_block_read_ms: 60_000,
  /** Blocks on disk at once: in all, and of one company; the last half is for companies that have none. One is read at a time. */
  usage_blocks: 8,
  usage_blocks_company: 2,
  /** Of a block's rows, as many are stored at once: what else the service does waits no longer. */
  usage_block_slice: 24 * 2_048,
  /** Rejected rows that its answer names. */
  usage_block_rejects: 100_000,
  /** What an import by a command sends at once: every rejected row is named. */
  usage_sent_rows: 100_000,
  usage_sent_text_bytes: 32 * 1024 * 1024,
  /** A file that is uploaded to be imported; all of those on disk; how many a company keeps, and for how long. */
  usage_upload_bytes: 256 * 1024 * 1024,
  usage_uploads_bytes: 8 * 1024 ** 3,
  usage_uploads_kept: 20,
  usage_upload_days: 7,
  /** Uploads that arrive at once: in all, and of one company. */
  usage_uploads: 6,
  usage_uploads_company: 2,
  /** How long one may take to arrive, and what must come within each 10 s meanwhile. */
  usage_upload_ms: 3_600_000,
  usage_upload_pace_bytes: 64 * 1024,
  /** Its columns, their names, and the rows and texts that are shown of it. */
  usage_upload_columns: 100,
  usage_upload_column_length: 200,
  usage_upload_sample: 50,
  usage_upload_sample_length: 100,
  /** How its columns are matched. */
  usage_upload_constant_length: 200,
  usage_upload_factors: 4,
  usage_upload_summands: 10,
  /** Memory of the engine that reads it. */
  usage_upload_memory: "256MB",
  /** How long one is read before others have their turn, and how often a step is tried. */
  usage_upload_turn_ms: 15_000,
  usage_upload_attempts: 5,
  /** Its rejected rows that are named. */
  usage_upload_rejects: 10_000,
  /** How long an upload whose file another instance has waits for that. */
  usage_upload_patience_ms: 600_000,
  /** Rows sampled for the keys of a file. */
  usage_import_sample: 10_000,
  /** Events of an erasure that are looked for at once, which reads all that are erased already. */
  usage_erasure_found: 100_000,
  /** Those that lose their metadata at once. */
  usage_erasure_events: 10_000,
  /** Events that are removed at once when they are older than USAGE_RETENTION_MONTHS. */
  usage_removal_events: 50_000,
  /** Bills that are proved between two notes of how far that is. */
  usage_retention_bills: 500,
  /** Events that may wait for their commit; beyond, ingest answers 503. */
  usage_pending_events: 200_000,
  /** How long the comparison of sums with events may take. */
  usage_check_ms: 600_000,
  usage_readers: 4,
  usage_readers_waiting: 256,
  /** Exports that run at once, and that may wait: in all, and of one company. */
  usage_exports: 2,
  usage_exports_waiting: 8,
  usage_exports_waiting_company: 2,
  usage_export_link_characters: 6_000,
  /** How long an export may take, its wait included. */
  usage_export_ms: 1_800_000,
  /** Events that an export sorts at once, where time does not divide them. */
  usage_export_sorted: 1_000_000,
  /** The largest Parquet file: it is on disk before it is sent. */
  usage_export_file_bytes: 4 * 1024 ** 3,
} as const;
