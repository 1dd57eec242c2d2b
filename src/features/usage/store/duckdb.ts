/**
 * The usage store on DuckDB: one file, one writing process. `duckdb/` holds its parts: writer.ts and the
 * files it uses are the way in, search.ts, aggregate.ts and totals.ts the questions.
 */
import { aggregate, type TimeRange } from "./duckdb/aggregate.ts";
import { prepareAppend } from "./duckdb/append_request.ts";
import { Compaction, type CompactionLimits } from "./duckdb/compaction.ts";
import { type Database, openDatabase } from "./duckdb/database.ts";
import { FingerprintIndex } from "./duckdb/fingerprints.ts";
import { Readers } from "./duckdb/readers.ts";
import { search } from "./duckdb/search.ts";
import { SipHash } from "./duckdb/siphash.ts";
import { takeInventory } from "./duckdb/stored_rows.ts";
import { totals } from "./duckdb/totals.ts";
import { Writer } from "./duckdb/writer.ts";
import type {
  AggregateQuery,
  AggregateRow,
  AppendResult,
  NewEvent,
  SearchQuery,
  SearchResult,
  TotalsOptions,
  UsageStore,
  UsageWindow,
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
  /** Questions that run at once. Default 4: fewer than UV_THREADPOOL_SIZE, or they hold up the writer. */
  readers?: number;
  /** Questions that may wait for those. Default 256. */
  readers_waiting?: number;
  /** Questions of one company that may wait. Default a quarter of all. */
  readers_waiting_company?: number;
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

const COMPACTION: CompactionLimits = { hot_rows: 500_000, run_rows: 8_000_000, move_rows: 500_000 };

/**
 * Opens the store; the time it takes grows with the events stored, whose ids it reads into memory.
 * Errors: unavailable when the file is open already, in this process or another.
 */
export async function openDuckDb(options: DuckDbOptions): Promise<UsageStore> {
  const { memory_limit = "1GB", threads = 2 } = options;
  return openStoreOn(await openDatabase(options.path, { memory_limit, threads }), options);
}

/** Pings that may wait for one another. */
const PINGS = 16;

/** Opens the store on a database, which it closes when it closes itself. */
export async function openStoreOn(
  database: Database,
  options: Omit<DuckDbOptions, "path">,
): Promise<UsageStore> {
  const { readers = 4, readers_waiting = 256 } = options;
  const { readers_waiting_company = Math.ceil(readers_waiting / 4) } = options;
  const { pending_events = 100_000, group_ms = 2, group_events = 4_096 } = options;
  const index = new FingerprintIndex();
  const hash = new SipHash(database.fingerprint_key);
  const connection = await database.instance.connect();
  try {
    const inventory = await takeInventory(connection, index, hash);
    const limits = { pending_events, group_ms, group_events };
    const writer = new Writer(connection, index, inventory, limits);
    const waiting = { waiting: readers_waiting, waiting_company: readers_waiting_company };
    const pool = await Readers.open(database.instance, { readers, ...waiting });
    // A place of its own: that questions take their time does not mean that the store is not ready.
    const pings = await Readers.open(database.instance, {
      readers: 1,
      waiting: PINGS,
      waiting_company: PINGS,
    });
    const { compaction = COMPACTION, on_failure = () => undefined } = options;
    const background = await database.instance.connect();
    const compactor = new Compaction(background, writer, compaction, on_failure);
    compactor.notice();
    return new DuckDbUsageStore({
      database,
      writer,
      compactor,
      readers: pool,
      pings,
      hash,
      range: inventory,
    });
  } catch (error) {
    connection.closeSync();
    database.close();
    throw error;
  }
}

/** What an open store is made of. */
interface Parts {
  database: Database;
  writer: Writer;
  compactor: Compaction;
  readers: Readers;
  pings: Readers;
  hash: SipHash;
  range: TimeRange;
}

class DuckDbUsageStore implements UsageStore {
  readonly #parts: Parts;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async append(company_id: number, events: readonly NewEvent[], now_ms: number): Promise<AppendResult> {
    const { hash, range, writer, compactor } = this.#parts;
    const prepared = prepareAppend(company_id, events, now_ms, hash);
    // Widened before the commit, so that no question finds an event outside of it.
    for (const { timestamp } of events) {
      if (timestamp < range.min_timestamp) range.min_timestamp = timestamp;
      if (timestamp > range.max_timestamp) range.max_timestamp = timestamp;
    }
    const result = await writer.append(prepared);
    compactor.notice();
    return result;
  }

  search(query: SearchQuery, timeout_ms: number): Promise<SearchResult> {
    return this.#parts.readers.run(query.company_id, timeout_ms, (connection) => search(connection, query));
  }

  aggregate(query: AggregateQuery, timeout_ms: number): Promise<AggregateRow[]> {
    return this.#parts.readers.run(query.company_id, timeout_ms, (connection) =>
      aggregate(connection, query, this.#parts.range),
    );
  }

  totals(
    company_id: number,
    windows: readonly UsageWindow[],
    { created_until_ms, timeout_ms }: TotalsOptions,
  ): Promise<WindowTotal[]> {
    return this.#parts.readers.run(company_id, timeout_ms, (connection) =>
      totals(connection, company_id, windows, created_until_ms),
    );
  }

  async ping(timeout_ms: number): Promise<void> {
    await this.#parts.pings.run(null, timeout_ms, (connection) => connection.run("SELECT 1"));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { database, writer, compactor, readers, pings } = this.#parts;
    await compactor.close();
    await writer.close();
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
