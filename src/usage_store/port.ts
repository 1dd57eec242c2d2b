/**
 * The port of the usage store, for any engine. It knows companies and subscriptions by their integer keys and nothing
 * else; filters by client or product are resolved to subscriptions before, and groups are folded after. Every
 * implementation passes the cases in `test/usage_store/conformance.ts`.
 */
import type { Write } from "../core/download.ts";
import type { Decimal } from "../core/money.ts";
import type { EventRows } from "./event_rows.ts";
import type { Measured, MeasureQuery } from "./meter.ts";
import type { UsageErasures } from "./erasures.ts";
import type { UsageRemovals } from "./removals.ts";
import type { RunningTotals } from "./running_totals.ts";
import type { EventFilter } from "./event_filter.ts";
import type { UsageSeries } from "./series.ts";
import type { CanonicalJson } from "./metadata.ts";

/** The last instant that a stored timestamp may have: the end of the year 9999. The first is 0. */
export const MAX_TIMESTAMP_MS = 253_402_300_799_999;

/** An event to store. `timestamp` is Unix time in ms, 0 to MAX_TIMESTAMP_MS. */
export interface NewEvent {
  /** A lower-case UUID, unique per company for all time: the idempotency key. */
  id: string;
  subscription_id: number;
  timestamp: number;
  /** False when the sender gave none and `timestamp` is a default: it is then not compared on a repeat. */
  timestamp_given: boolean;
  /** At most six decimals and under 1e12 in size; negative is a correction. */
  usage: Decimal;
  metadata: CanonicalJson | null;
  /**
   * The problem of its timestamp, for an event that may only repeat a stored one: its subscription may have ended since
   * then.
   */
  only_if_stored?: string;
}

/** `accepted` events were stored by this call, `duplicates` were stored before, or earlier in the call. */
export interface AppendResult {
  accepted: number;
  duplicates: number;
}

/**
 * `accepted` rows were stored by this call, `duplicates` were stored before with the same content, or earlier in
 * the block. `left` are the rows whose id may be stored with other content, ascending: `append` decides.
 */
export interface LoadResult extends AppendResult {
  left: number[];
}

export type { EventFilter } from "./event_filter.ts";

/** One page of events. Ties are ordered by id, in the direction of `sort_order`: the order is total. */
export interface SearchQuery extends EventFilter {
  sort_by: "timestamp" | "usage";
  sort_order: "asc" | "desc";
  limit: number;
  /** Events skipped before the page. */
  offset: number;
  /** The end of the previous page: only events after it are on the page. */
  after?: SearchPosition | undefined;
}

/** A place in the order of a search: an event's timestamp, in ms, or usage, as it is sorted by, and its id. */
export interface SearchPosition {
  value: Decimal;
  /** A lower-case UUID. */
  id: string;
}

/** A stored event. `timestamp` and `created_at` are Unix ms. */
export interface StoredEvent {
  id: string;
  subscription_id: number;
  timestamp: number;
  usage: Decimal;
  metadata: Record<string, unknown> | null;
  created_at: number;
}

/** A page and, of the same instant, the count of all matching events. */
export interface SearchResult {
  rows: StoredEvent[];
  total: number;
  /** The end of the page; null when nothing comes after it. */
  next: SearchPosition | null;
}

/** The formats of exports. */
export const EXPORT_FORMATS = ["csv", "ndjson", "parquet"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** An export of all matching events. Without `sort` they come in no particular order. */
export interface ExportQuery extends EventFilter {
  format: ExportFormat;
  sort?: Pick<SearchQuery, "sort_by" | "sort_order"> | undefined;
  /** The text written for each subscription; events of others are left out. */
  keys: ReadonlyMap<number, string>;
}

/** Bounds of `export`. It ends when `signal` is aborted. */
export interface ExportOptions {
  timeout_ms: number;
  /** Events sorted at once: by usage and for Parquet all are; one with long metadata counts as several. */
  max_sorted: number;
  /** The size of a Parquet file. */
  max_file_bytes: number;
  /** Reads the bytes that are left of the disk beside its reserve: the file may be as large as what is left then. */
  readRoom: () => Promise<number>;
  signal: AbortSignal;
}

/** The groupings of sums. Times are local in the query's `time_zone`; `metadata:` is followed by a key. */
export type GroupKind = "subscription" | "day" | "hour" | "month" | MetadataGroup;
export type MetadataGroup = `${typeof METADATA}${string}`;
const METADATA = "metadata:";

/** The key of `metadata:<key>`; undefined for any other word. */
export function metadataKeyOf(kind: string): string | undefined {
  return kind.startsWith(METADATA) ? kind.slice(METADATA.length) : undefined;
}

/** Whether a grouping is by time. */
export function isTime(kind: GroupKind | undefined): kind is "day" | "hour" | "month" {
  return kind === "day" || kind === "hour" || kind === "month";
}

/** A sum by none, one or two different groupings; by none the result is the one row of the total. */
export interface AggregateQuery extends EventFilter {
  group_by: readonly GroupKind[];
  /** An IANA zone name. */
  time_zone: string;
  /** More groups than this are refused. */
  max_groups: number;
  /** Longer metadata values are truncated to so many characters and `…`: those with the same beginning are one group. */
  max_key_length: number;
}

/**
 * One group. `keys` follow `group_by`: subscription → its integer key, day → `2026-11-21`, month →
 * `2026-11`, hour → `2026-11-21T13:00+08:00` with the offset of its events, so that the hour that a clock
 * change repeats is two groups. Metadata → the value that the key has in a filter: a string, or the JSON text
 * of a number or boolean; null where there is no such key, or it holds null, an object or an array.
 * `min_usage` and `max_usage` are null only in the total of no events.
 */
export interface AggregateRow {
  keys: (number | string | null)[];
  total_usage: Decimal;
  event_count: number;
  min_usage: Decimal | null;
  max_usage: Decimal | null;
}

/** A query for the metadata keys of the newest matching events, within these bounds. */
export interface KeysQuery extends EventFilter {
  max_events: number;
  /** Of their metadata, as JSON text. */
  max_bytes: number;
  max_keys: number;
  /** Longer keys are left out. */
  max_key_length: number;
  /** The keys of a path, and the elements of an array that are sampled. */
  max_depth: number;
  max_elements: number;
  max_samples: number;
  /** Longer samples are truncated to so many characters and `…`. */
  max_sample_length: number;
}

/**
 * A key or dot path that holds a string, number, boolean or null, as filters take it. `count`: in how many of
 * the events; `samples`: its most frequent values, as filters take them.
 */
export interface KeyUse {
  key: string;
  count: number;
  samples: string[];
}

/** The keys, the most frequent first. `all_events`, `all_keys`: whether the bounds excluded none. */
export interface KeysResult {
  keys: KeyUse[];
  /** The number of sampled events. */
  events: number;
  all_events: boolean;
  all_keys: boolean;
}

/** The events of a subscription from `start_ms` (inclusive) to `end_ms` (exclusive), Unix ms. */
export interface UsageWindow {
  subscription_id: number;
  start_ms: number;
  end_ms: number;
}

/**
 * The total of a window. `digest` identifies the set of its events, whatever their order:
 *
 * 1. an event's text is `<id>|<timestamp>|<usage>`: the id as a lower-case UUID, the timestamp in decimal
 *    ms, the usage with exactly six decimals (`-0.500000`);
 * 2. the MD5 of its UTF-8 bytes is cut into two halves of eight bytes, each read as a little-endian
 *    unsigned integer;
 * 3. the first halves of all events are summed modulo 2^64, and so are the second halves;
 * 4. the digest is both sums as 16 lower-case hex digits each, first halves first. No events: 32 zeros.
 */
export interface WindowTotal {
  units: Decimal;
  event_count: number;
  /** How many of the events have a negative usage: each takes another one back. */
  corrections: number;
  digest: string;
}

/** The events of a company with a timestamp in a month of UTC, such as `2026-11`; the digest is as of `WindowTotal`. */
export interface MonthDigest {
  company_id: number;
  month: string;
  events: number;
  units: Decimal;
  digest: string;
}

/** Which events a segment gets, of all companies: those with `from` < number <= `to`. */
export interface SegmentRange {
  from: number;
  to: number;
  /** About how many it has at most: it ends before `to`, where a commit ends, if there are more. */
  limit?: number;
}

/** A segment that was written, up to the number `to`. */
export interface WrittenSegment {
  to: number;
  events: number;
}

/** The total of a window without its digest. */
export type WindowSum = Pick<WindowTotal, "units" | "event_count" | "corrections">;

/**
 * Bounds of `totals`. Only events stored before `created_until_ms` (exclusive, Unix ms) count, and of those only
 * the ones with a number up to `last_seq`.
 */
export interface TotalsOptions {
  created_until_ms?: number | undefined;
  /** A result of `lastSeq`: the events stored by then, even if one with an earlier created_at came later. */
  last_seq?: number | undefined;
  timeout_ms: number;
}

/**
 * A window of which all events are known that were stored before `created_until_ms` (exclusive, Unix ms) and have
 * a number up to `last_seq`.
 */
export interface KnownWindow extends UsageWindow {
  created_until_ms: number;
  last_seq: number;
}

/** The id of a stored event, and its subscription. */
export type StoredId = Pick<StoredEvent, "id" | "subscription_id">;

/** The size of the index, which has an entry for every stored event, and the state of the engine. */
export interface StoreStats {
  index_entries: number;
  index_bytes: number;
  /** False while it is being opened again after a failure. */
  is_open: boolean;
  /** How often it failed and was opened again. */
  engine_losses: number;
  /** Events whose commit is under way or waited for. */
  pending_events: number;
  /** Queries that wait for a connection. */
  waiting_queries: number;
}

/** `different`: hours whose sum, count, smallest or largest usage is not that of their events; 0 when consistent. */
export interface SumsCheck {
  hours: number;
  events: number;
  different: number;
}

/**
 * The port. A query sees every append that resolved before it. Errors of every query: unavailable when it ran longer
 * than `timeout_ms`, its wait for a connection included, or the store is closed; rate_limited when too many queries wait
 * already, in all or of the company. Both have `retry_after_s`. Waiting companies are served in turn: one with many
 * queries delays no other.
 */
export interface UsageStore extends UsageRemovals, UsageErasures, UsageSeries {
  /** Totals in memory, for limits. */
  readonly running_totals: RunningTotals;

  /**
   * Stores events, all or none, and resolves when they are durable: they survive the kill of the
   * process and a power cut. An id that the company has already, stored or earlier in the same call, is a
   * duplicate when the content is the same (subscription, usage by value, metadata unless that was erased, and
   * timestamp unless the repeat has `timestamp_given: false`). `now_ms` becomes their created_at.
   * Errors: invalid when events with `only_if_stored` are new, with `details` naming each as `/3/timestamp`
   * with that text; else conflict when the content is other, with `details` naming each as `/3/id`; unavailable when too many events are pending, the commit failed (sending the same ids again is
   * safe), or the store lacks memory or disk; too_large when the call alone is over the bound on pending events.
   */
  append(company_id: number, events: readonly NewEvent[], now_ms: number): Promise<AppendResult>;

  /**
   * Stores the rows that are not skipped, by the rules of `append` but row by row: one that can't be stored spoils
   * no other. They must have their subscription_ids, ids and canonical metadata. Made for many thousands of rows.
   * Errors: unavailable when the commit failed: sending the same ids again is safe.
   */
  load(company_id: number, rows: EventRows, now_ms: number): Promise<LoadResult>;

  /** Does what `load` of these rows can do before it stores them, while earlier rows are loaded. They must not change after. */
  stage(company_id: number, rows: EventRows): Promise<void>;

  /** One page of the events that match, and how many there are. */
  search(query: SearchQuery, timeout_ms: number): Promise<SearchResult>;

  /**
   * Exact sums of the events that match, by group, in no particular order; groups without events are left out.
   * Errors: invalid when there are more than `max_groups`.
   */
  aggregate(query: AggregateQuery, timeout_ms: number): Promise<AggregateRow[]>;

  /** The metadata keys of the newest events, for writing filters. */
  metadataKeys(query: KeysQuery, timeout_ms: number): Promise<KeysResult>;

  /**
   * The number up to which all of the company's events are stored: every one that is stored later has a higher
   * one. It never falls, also not by a restart or `rebuildSums`. 0 where nothing is stored.
   */
  lastSeq(company_id: number, timeout_ms: number): Promise<number>;

  /** The totals of many windows by one query, in the order of `windows`, which may overlap. */
  totals(company_id: number, windows: readonly UsageWindow[], options: TotalsOptions): Promise<WindowTotal[]>;

  /**
   * What meters measure, by window. Errors: conflict when events are needed that were removed; invalid when there are more
   * than `max_parts`.
   */
  measure(query: MeasureQuery, timeout_ms: number): Promise<Measured[][]>;

  /** Whether each window has events beyond the known ones, by one query. */
  haveLateEvents(company_id: number, windows: readonly KnownWindow[], timeout_ms: number): Promise<boolean[]>;

  /** As `totals`, without digests, which take most of its time: for display. */
  sums(company_id: number, windows: readonly UsageWindow[], timeout_ms: number): Promise<WindowSum[]>;

  /**
   * Writes all matching events, of one instant, and resolves when all is taken: it produces no more than `write`
   * takes. The columns are id, subscription_id (its key), timestamp (Unix ms), usage (exact), metadata (JSON
   * text, `{}` for none) and created_at (ISO 8601). CSV: RFC 4180 with a header. NDJSON: one object a line, whose
   * metadata is an object. Parquet: text, text, BIGINT, DECIMAL(18,6), text and an instant in UTC.
   * Errors, besides those of every query: invalid when there is too much to sort or for a file, those of `write`, and the
   * reason of `signal`.
   */
  export(query: ExportQuery, write: Write, options: ExportOptions): Promise<void>;

  /**
   * Writes the events of a range of numbers into a new Parquet file at `path`. `to` is a result of `lastSeq`, so that none
   * of them is missing. The columns: seq BIGINT, company_id, subscription_id INTEGER, timestamp BIGINT (Unix ms), id UUID,
   * usage DECIMAL(18,6), metadata VARCHAR (canonical JSON or null), created_at BIGINT (Unix ms); sorted by seq.
   */
  exportSegment(path: string, range: SegmentRange, timeout_ms: number): Promise<WrittenSegment>;

  /** The digests of the events of all companies up to a number, by company and month, both ascending. */
  monthDigests(last_seq: number, timeout_ms: number): Promise<MonthDigest[]>;

  /** Compares the sums with their events, of one company or of all (null). */
  check(company_id: number | null, timeout_ms: number): Promise<SumsCheck>;

  /** Rebuilds the sums from the events; appends wait meanwhile. */
  rebuildSums(): Promise<void>;

  /** Which of these ids (lower-case UUIDs) the company has stored, erased or not, and of which subscriptions; in no order. */
  findStored(company_id: number, ids: readonly string[], timeout_ms: number): Promise<StoredId[]>;

  stats(): StoreStats;

  /** Resolves when the store can run queries. */
  ping(timeout_ms: number): Promise<void>;

  /** Refuses new calls, waits for those under way and closes the store. A second call does nothing. */
  close(): Promise<void>;
}
