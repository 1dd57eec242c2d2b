/**
 * The usage store on DuckDB: one file, one writing process. `duckdb/` holds its parts: writer.ts and the
 * files it uses are the way in, search.ts, aggregate.ts and totals.ts the questions.
 */
import type { Write } from "../../../core/download.ts";
import { aggregate } from "./duckdb/aggregate.ts";
import { prepareAppend } from "./duckdb/append_request.ts";
import { Compaction, type CompactionLimits } from "./duckdb/compaction.ts";
import { type Database, openDatabase } from "./duckdb/database.ts";
import { type EventBlock, ROW } from "./duckdb/event_block.ts";
import { Exports } from "./duckdb/exports.ts";
import type { FingerprintIndex } from "./duckdb/fingerprints.ts";
import { checkHours } from "./duckdb/hour_sums.ts";
import { type IndexFile, openIndex, SnapshotKeeper, takeInventory } from "./duckdb/inventory.ts";
import { Loader } from "./duckdb/load.ts";
import { metadataKeys } from "./duckdb/metadata_keys.ts";
import { Readers, type ReadersLimits } from "./duckdb/readers.ts";
import { haveNewer } from "./duckdb/newer.ts";
import { type TimeRange, unbound } from "./duckdb/rollup.ts";
import { search } from "./duckdb/search.ts";
import { SipHash } from "./duckdb/siphash.ts";
import { lastSeq, totals } from "./duckdb/totals.ts";
import { WindowSums } from "./duckdb/window_sums.ts";
import { Writer } from "./duckdb/writer.ts";
import type {
  AggregateQuery,
  AggregateRow,
  AppendResult,
  EventFilter,
  ExportOptions,
  ExportQuery,
  KeysQuery,
  KeysResult,
  KnownWindow,
  LoadResult,
  NewEvent,
  SearchQuery,
  SearchResult,
  StoreStats,
  SumsCheck,
  TotalsOptions,
  UsageStore,
  UsageWindow,
  WindowSum,
  WindowTotal,
} from "./usage_store.ts";

/** Where the store is and what it may take. Every limit has a default for a machine of two cores. */
export interface DuckDbOptions {
  /** The file, made when missing; its folder must exist. */
  path: string;
  /** In DuckDB's spelling. Default `1GB`; the index of stored ids, about 18 bytes an event, comes on top. */
  memory_limit?: string;
  /** Threads for queries and checkpoints. Default 2. */
  threads?: number;
  /** Questions that run at once, of one company one fewer. Default 4: fewer than UV_THREADPOOL_SIZE, or they hold up the writer. */
  readers?: number;
  /** Questions that may wait for those. Default 256. */
  readers_waiting?: number;
  /** Questions of one company that may wait. Default a quarter of all. */
  readers_waiting_company?: number;
  /** Exports that run at once, of one company one fewer. Default 2. */
  exports?: number;
  /** Exports that may wait for those, and of one company. Default 8 and 2. */
  exports_waiting?: number;
  exports_waiting_company?: number;
  /** Events that may wait for their commit. Default 100,000. */
  pending_events?: number;
  /** How long a commit waits for more appends. Default 2. */
  group_ms?: number;
  /** Events after which it waits no longer. Default 4,096. */
  group_events?: number;
  /** When stored events are sorted. Default: 500,000 at a time, and again 8,000,000. */
  compaction?: CompactionLimits;
  /** Told when the background work failed; it is tried again. */
  on_failure?: (error: unknown) => void;
}

const COMPACTION: CompactionLimits = {
  hot_rows: 500_000,
  run_rows: 8_000_000,
  move_rows: 500_000,
  snapshot_rows: 1_000_000,
  retry_ms: 10_000,
};

/**
 * Opens the store; the time it takes grows with the events stored, whose ids it reads into memory.
 * Errors: unavailable when the file is open already, in this process or another.
 */
export async function openDuckDb(options: DuckDbOptions): Promise<CompactableStore> {
  const { memory_limit = "1GB", threads = 2 } = options;
  const database = await openDatabase(options.path, { memory_limit, threads });
  const { fingerprint_key } = database;
  return openStoreOn(database, options, { path: `${options.path}.ids`, fingerprint_key });
}

/** Pings that may wait for one another. */
const PINGS = 16;

/** Opens the store on a database, which it closes when it closes itself; `file` keeps the index of its ids. */
export async function openStoreOn(
  database: Database,
  options: Omit<DuckDbOptions, "path">,
  file?: IndexFile,
): Promise<CompactableStore> {
  const { readers = 4, readers_waiting = 256 } = options;
  const { readers_waiting_company = Math.ceil(readers_waiting / 4) } = options;
  const { pending_events = 100_000, group_ms = 2, group_events = 4_096 } = options;
  const { compaction = COMPACTION, on_failure = () => undefined } = options;
  const hash = new SipHash(database.fingerprint_key);
  const connection = await database.instance.connect();
  try {
    const inventory = await takeInventory(connection);
    const { index, snapshot_seq } = await openIndex(connection, hash, inventory.events, file, on_failure);
    const limits = { pending_events, group_ms, group_events };
    const writer = new Writer(connection, index, inventory, limits);
    const waiting = {
      waiting: readers_waiting,
      waiting_company: readers_waiting_company,
      running_company: belowAll(readers),
    };
    const pool = await Readers.open(database.instance, { readers, ...waiting });
    // A place of its own: that questions take their time does not mean that the store is not ready.
    const pings = await Readers.open(database.instance, {
      readers: 1,
      waiting: PINGS,
      waiting_company: PINGS,
    });
    const exporting = await Exports.open(database.instance, exportLimits(options));
    const keeper = file && new SnapshotKeeper(file, index, snapshot_seq, compaction.snapshot_rows);
    const compactor = await Compaction.open(database.instance, writer, keeper, {
      limits: compaction,
      run_rows: inventory.run_rows,
      onFailure: on_failure,
    });
    compactor.notice();
    return new DuckDbUsageStore({
      database,
      index,
      writer,
      compactor,
      readers: pool,
      pings,
      exports: exporting,
      loader: new Loader({ instance: database.instance, writer, index, hash }),
      hash,
      range: inventory,
    });
  } catch (error) {
    connection.closeSync();
    database.close();
    throw error;
  }
}

function exportLimits(options: Omit<DuckDbOptions, "path">): ReadersLimits {
  const { exports = 2, exports_waiting = 8, exports_waiting_company = 2 } = options;
  return {
    readers: exports,
    waiting: exports_waiting,
    waiting_company: exports_waiting_company,
    running_company: belowAll(exports),
  };
}

/** How many of a pool one company may have, so that another finds one free. */
const belowAll = (pool: number): number => Math.max(1, pool - 1);

/** What an open store is made of. */
interface Parts {
  database: Database;
  index: FingerprintIndex;
  writer: Writer;
  compactor: Compaction;
  readers: Readers;
  pings: Readers;
  exports: Exports;
  loader: Loader;
  hash: SipHash;
  range: TimeRange;
}

/** The store, with what only its owner asks of it. */
export interface CompactableStore extends UsageStore {
  /** Answers when every event that was stored before is sorted. It happens by itself, sooner or later. */
  compact(): Promise<void>;
}

class DuckDbUsageStore implements CompactableStore {
  readonly #parts: Parts;
  readonly #sums = new WindowSums();
  /** A number that is stored; every event that is stored later than one asks has a higher one. */
  #last_seq = 0;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async append(company_id: number, events: readonly NewEvent[], now_ms: number): Promise<AppendResult> {
    const { hash, writer, compactor } = this.#parts;
    const prepared = prepareAppend(company_id, events, now_ms, hash);
    for (const { timestamp } of events) this.#widen(timestamp);
    const result = await writer.append(prepared);
    compactor.notice();
    return result;
  }

  async load(company_id: number, block: EventBlock, now_ms: number): Promise<LoadResult> {
    for (let row = 0; row < block.rows; row++) {
      if (!block.is(row, ROW.left_out)) this.#widen(block.timestamps[row] ?? 0);
    }
    const { loader, compactor } = this.#parts;
    const result = await loader.load(company_id, block, now_ms);
    compactor.notice(result.accepted);
    return result;
  }

  /** To be called before a commit, so that no question finds an event outside of the range. */
  #widen(timestamp: number): void {
    const { range } = this.#parts;
    if (timestamp < range.min_timestamp) range.min_timestamp = timestamp;
    if (timestamp > range.max_timestamp) range.max_timestamp = timestamp;
  }

  search(query: SearchQuery, timeout_ms: number): Promise<SearchResult> {
    const { readers } = this.#parts;
    return readers.run(query.company_id, timeout_ms, (connection) =>
      this.#inRange(query, (asked) => search(connection, asked)),
    );
  }

  aggregate(query: AggregateQuery, timeout_ms: number): Promise<AggregateRow[]> {
    const { readers, range } = this.#parts;
    return readers.runStatement(query.company_id, timeout_ms, (connection) =>
      this.#inRange(query, (asked) => aggregate(connection, asked, range)),
    );
  }

  metadataKeys(query: KeysQuery, timeout_ms: number): Promise<KeysResult> {
    const { readers } = this.#parts;
    return readers.run(query.company_id, timeout_ms, (connection) =>
      this.#inRange(query, (asked) => metadataKeys(connection, asked)),
    );
  }

  /** Asks without the bounds of time that leave nothing out. */
  async #inRange<Q extends EventFilter, A>(query: Q, ask: (query: Q) => Promise<A>): Promise<A> {
    const { range } = this.#parts;
    const asked = unbound(query, range);
    const answer = await ask(asked);
    const { start_ms, end_ms } = unbound(query, range);
    // What widened the range meanwhile may be in the answer, and outside of the query's bounds.
    return start_ms === asked.start_ms && end_ms === asked.end_ms ? answer : ask(query);
  }

  totals(
    company_id: number,
    windows: readonly UsageWindow[],
    { timeout_ms, ...stored_by }: TotalsOptions,
  ): Promise<WindowTotal[]> {
    return this.#parts.readers.runStatement(company_id, timeout_ms, (connection) =>
      totals(connection, company_id, windows, stored_by),
    );
  }

  async lastSeq(company_id: number, timeout_ms: number): Promise<number> {
    const { readers } = this.#parts;
    const known = this.#last_seq;
    const seq = await readers.runStatement(company_id, timeout_ms, (c) => lastSeq(c, known));
    this.#last_seq = Math.max(this.#last_seq, seq);
    return this.#last_seq;
  }

  haveNewer(company_id: number, windows: readonly KnownWindow[], timeout_ms: number): Promise<boolean[]> {
    return this.#parts.readers.runStatement(company_id, timeout_ms, (connection) =>
      haveNewer(connection, company_id, windows),
    );
  }

  sums(company_id: number, windows: readonly UsageWindow[], timeout_ms: number): Promise<WindowSum[]> {
    return this.#parts.readers.runStatement(company_id, timeout_ms, (connection) =>
      this.#sums.ask(connection, company_id, windows),
    );
  }

  export(query: ExportQuery, write: Write, options: ExportOptions): Promise<void> {
    return this.#parts.exports.run(query, write, options);
  }

  check(company_id: number | null, timeout_ms: number): Promise<SumsCheck> {
    return this.#parts.readers.run(company_id, timeout_ms, (connection) =>
      checkHours(connection, company_id),
    );
  }

  stats(): StoreStats {
    const { index } = this.#parts;
    return { index_entries: index.size, index_bytes: index.bytes };
  }

  async ping(timeout_ms: number): Promise<void> {
    await this.#parts.pings.runStatement(null, timeout_ms, (connection) => connection.run("SELECT 1"));
  }

  compact(): Promise<void> {
    return this.#parts.compactor.compact();
  }

  rebuildSums(): Promise<void> {
    return this.#parts.compactor.rebuildSums();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { database, writer, compactor, readers, pings, exports, loader } = this.#parts;
    await exports.close();
    await compactor.close();
    await writer.close();
    loader.close();
    await readers.close();
    await pings.close();
    // Empties the log into the file, so that the next opening need not replay it.
    const connection = await database.instance.connect();
    try {
      await connection.run("CHECKPOINT");
    } finally {
      connection.closeSync();
      database.close();
    }
  }
}
