/**
 * The usage store on DuckDB: one file, one writing process. `duckdb/` holds its parts: writer.ts and the
 * files it uses are the way in, search.ts, aggregate.ts and totals.ts the questions.
 */
import type { DuckDBConnection } from "@duckdb/node-api";
import type { Write } from "../../core/download.ts";
import { aggregate } from "./query/aggregate.ts";
import { prepareAppend } from "./append/append_request.ts";
import type { CompactionLimits } from "./maintain/compaction.ts";
import { type Database, openDatabase } from "./engine/database.ts";
import { EngineLostError } from "./engine/engine.ts";
import { EventBlock } from "./append/event_block.ts";
import { checkHours } from "./append/hour_sums.ts";
import { admit, deleteOpeningsBefore } from "./engine/identity.ts";
import { type IndexFile, openIndex, SnapshotWriter } from "./index/inventory.ts";
import { metadataKeys } from "./query/metadata_keys.ts";
import { haveLateEvents } from "./query/late_events.ts";
import type { Parts, PartsLimits } from "./maintain/components.ts";
import type { ReadersLimits } from "./engine/readers.ts";
import { lostError, Recovery, type Report } from "./maintain/recovery.ts";
import { unbound } from "./query/rollup.ts";
import { search } from "./query/search.ts";
import { SipHash } from "./index/siphash.ts";
import { lastSeq } from "./engine/last_seq.ts";
import { totals } from "./query/totals.ts";
import type { QueueMember } from "./engine/fair_queue.ts";
import { PATIENCE_MS } from "./append/writer.ts";
import { type EventRows, ROW } from "../event_rows.ts";
import type { Admission, Opening, StoreFacts } from "../identity.ts";
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
} from "../port.ts";

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
  /** Decides whether a store of these facts may be used; it refuses by throwing. Default: whatever is there. */
  admit?: (facts: StoreFacts) => Promise<Admission>;
  /** When stored events are sorted. Default: 500,000 at a time, and again 8,000,000. */
  compaction?: CompactionLimits;
  /** Told when something failed that nobody waits for, and what becomes of it. */
  on_failure?: Report;
}

const COMPACTION: CompactionLimits = {
  hot_rows: 500_000,
  segment_rows: 8_000_000,
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
  if (options.admit) await admit(database, options.admit);
  const { fingerprint_key } = database;
  return openStoreOn(database, options, { path: `${options.path}.ids`, fingerprint_key });
}

/** Opens the store on a database, which it closes when it closes itself; `file` keeps the index of its ids. */
export async function openStoreOn(
  database: Database,
  options: Omit<DuckDbOptions, "path">,
  file?: IndexFile,
): Promise<CompactableStore> {
  const { on_failure = () => undefined } = options;
  const limits = limitsOf(options);
  const hash = new SipHash(database.fingerprint_key);
  try {
    const recovery = await Recovery.open(
      database,
      async (connection, inventory) => {
        const { index, snapshot_seq } = await openIndex(connection, hash, inventory.events, file, (error) =>
          on_failure(error, "usage store: the snapshot of its ids can't be used"),
        );
        const { snapshot_rows } = limits.compaction;
        const snapshots = file && new SnapshotWriter(file, index, snapshot_seq, snapshot_rows);
        return { limits, known: { hash, index, snapshots, range: inventory } };
      },
      on_failure,
    );
    return new DuckDbUsageStore(recovery);
  } catch (error) {
    database.close();
    throw error;
  }
}

function limitsOf(options: Omit<DuckDbOptions, "path">): PartsLimits {
  const { readers = 4, readers_waiting = 256 } = options;
  const { readers_waiting_company = Math.ceil(readers_waiting / 4) } = options;
  const { pending_events = 100_000, group_ms = 2, group_events = 4_096 } = options;
  const { compaction = COMPACTION } = options;
  return {
    readers: {
      readers,
      waiting: readers_waiting,
      waiting_company: readers_waiting_company,
      running_company: belowAll(readers),
    },
    exports: exportLimits(options),
    writer: { pending_events, group_ms, group_events },
    compaction,
  };
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

/** The store, with what only its owner asks of it. */
export interface CompactableStore extends UsageStore {
  /** Answers when every event that was stored before is sorted. It happens by itself, sooner or later. */
  compact(): Promise<void>;
  /** As `lastSeq`, for the store's keeper, whom no company's questions hold up. */
  progress(timeout_ms: number): Promise<number>;
  /** Says that the database has heard of this opening: those before it need not be remembered. */
  confirm(opening: Opening): Promise<void>;
}

class DuckDbUsageStore implements CompactableStore {
  readonly #recovery: Recovery;
  /** A number that is stored; every event that is stored later than one asks has a higher one. */
  #last_seq = 0;
  #closing: Promise<void> | undefined;

  constructor(recovery: Recovery) {
    this.#recovery = recovery;
  }

  async append(company_id: number, events: readonly NewEvent[], now_ms: number): Promise<AppendResult> {
    const { known } = this.#recovery;
    const prepared = prepareAppend(company_id, events, now_ms, known.hash);
    this.#recovery.checkWrites();
    for (const { timestamp } of events) this.#widen(timestamp);
    return this.#recovery.run(async ({ writer, compactor }) => {
      const result = await writer.append(prepared);
      compactor.notice();
      return result;
    });
  }

  async load(company_id: number, block: EventRows, now_ms: number): Promise<LoadResult> {
    // Its chunks are appended as they are.
    if (!(block instanceof EventBlock)) throw new TypeError("Cannot load rows that another engine holds");
    this.#recovery.checkWrites();
    for (let row = 0; row < block.rows; row++) {
      if (!block.is(row, ROW.skipped)) this.#widen(block.timestamps[row] ?? 0);
    }
    let stored = 0;
    const { accepted, ...result } = await this.#recovery.run(async ({ loader, compactor, engine }) => {
      try {
        return await loader.load(company_id, block, now_ms, (rows) => {
          stored += rows;
          compactor.notice(rows);
        });
      } catch (error) {
        const is_own = error instanceof EngineLostError && error.is_own_commit;
        if (is_own && (await engine.isStored(PATIENCE_MS))) stored += error.loss.commit?.rows ?? 0;
        throw error;
      }
    });
    // What an earlier attempt stored is no duplicate.
    return { ...result, accepted: stored, duplicates: result.duplicates - (stored - accepted) };
  }

  /** To be called before a commit, so that no question finds an event outside of the range. */
  #widen(timestamp: number): void {
    const { range } = this.#recovery.known;
    if (timestamp < range.min_timestamp) range.min_timestamp = timestamp;
    if (timestamp > range.max_timestamp) range.max_timestamp = timestamp;
  }

  search(query: SearchQuery, timeout_ms: number): Promise<SearchResult> {
    return this.#query(query.company_id, timeout_ms, (connection) =>
      this.#inRange(query, (asked) => search(connection, asked)),
    );
  }

  aggregate(query: AggregateQuery, timeout_ms: number): Promise<AggregateRow[]> {
    const { range } = this.#recovery.known;
    return this.#queryOnce(query.company_id, timeout_ms, (connection) =>
      this.#inRange(query, (asked) => aggregate(connection, asked, range)),
    );
  }

  metadataKeys(query: KeysQuery, timeout_ms: number): Promise<KeysResult> {
    return this.#query(query.company_id, timeout_ms, (connection) =>
      this.#inRange(query, (asked) => metadataKeys(connection, asked)),
    );
  }

  /** Asks without the bounds of time that leave nothing out. */
  async #inRange<Q extends EventFilter, A>(query: Q, ask: (query: Q) => Promise<A>): Promise<A> {
    const { range } = this.#recovery.known;
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
    return this.#queryOnce(company_id, timeout_ms, (connection) =>
      totals(connection, company_id, windows, stored_by),
    );
  }

  async lastSeq(company_id: number, timeout_ms: number): Promise<number> {
    const known = this.#last_seq;
    const seq = await this.#queryOnce(company_id, timeout_ms, (connection) => lastSeq(connection, known));
    this.#last_seq = Math.max(this.#last_seq, seq);
    return this.#last_seq;
  }

  haveLateEvents(
    company_id: number,
    windows: readonly KnownWindow[],
    timeout_ms: number,
  ): Promise<boolean[]> {
    return this.#queryOnce(company_id, timeout_ms, (connection) =>
      haveLateEvents(connection, company_id, windows),
    );
  }

  sums(company_id: number, windows: readonly UsageWindow[], timeout_ms: number): Promise<WindowSum[]> {
    return this.#queryOnce(company_id, timeout_ms, (connection, parts) =>
      parts.sums.ask(connection, company_id, windows),
    );
  }

  async export(query: ExportQuery, write: Write, options: ExportOptions): Promise<void> {
    this.#recovery.checkQuestions(query.company_id);
    const { exports } = await this.#recovery.parts(options.timeout_ms);
    try {
      await exports.run(query, write, options);
    } catch (error) {
      // What was written can't be written again.
      throw error instanceof EngineLostError ? lostError(error) : error;
    }
  }

  check(company_id: number | null, timeout_ms: number): Promise<SumsCheck> {
    return this.#query(company_id, timeout_ms, (connection) => checkHours(connection, company_id));
  }

  /** Asks statements that see one instant. */
  #query<T>(
    member: QueueMember,
    timeout_ms: number,
    read: (connection: DuckDBConnection) => Promise<T>,
  ): Promise<T> {
    return this.#recovery.ask(member, ({ readers }) => readers.run(member, timeout_ms, read), timeout_ms);
  }

  /** Asks one statement. */
  #queryOnce<T>(
    member: QueueMember,
    timeout_ms: number,
    read: (connection: DuckDBConnection, parts: Parts) => Promise<T>,
  ): Promise<T> {
    return this.#recovery.ask(
      member,
      (parts) => parts.readers.runStatement(member, timeout_ms, (connection) => read(connection, parts)),
      timeout_ms,
    );
  }

  stats(): StoreStats {
    const { known, is_open, losses } = this.#recovery;
    return {
      index_entries: known.index.size,
      index_bytes: known.index.bytes,
      is_open,
      engine_losses: losses,
    };
  }

  async ping(timeout_ms: number): Promise<void> {
    this.#recovery.checkWrites();
    const { pings } = await this.#recovery.parts(timeout_ms);
    await pings.runStatement(null, timeout_ms, (connection) => connection.run("SELECT 1"));
  }

  async progress(timeout_ms: number): Promise<number> {
    const { pings } = await this.#recovery.parts(timeout_ms);
    return pings.runStatement(null, timeout_ms, (connection) => lastSeq(connection, this.#last_seq));
  }

  confirm(opening: Opening): Promise<void> {
    return this.#recovery.run(({ writer, engine }) =>
      writer.exclusive(async (connection) => {
        await engine.transact(connection, "background", () => deleteOpeningsBefore(connection, opening));
        return { rows: 0, value: undefined };
      }),
    );
  }

  compact(): Promise<void> {
    return this.#recovery.run(({ compactor }) => compactor.compact());
  }

  rebuildSums(): Promise<void> {
    return this.#recovery.run(({ compactor }) => compactor.rebuildSums());
  }

  close(): Promise<void> {
    this.#closing ??= this.#recovery.close();
    return this.#closing;
  }
}
