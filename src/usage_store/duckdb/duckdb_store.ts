/** The usage store on DuckDB: one file, one writing process. */
import type { DuckDBConnection } from "@duckdb/node-api";
import type { Write } from "../../core/download.ts";
import { type DuckDbOptions, limitsOf } from "./options.ts";
import { prepareAppend } from "../append/append_request.ts";
import { type Database, openDatabase } from "./engine/database.ts";
import { EngineLostError } from "./engine/engine.ts";
import { EventBlock } from "./append/event_block.ts";
import { checkSums } from "./maintain/check_sums.ts";
import { Companies } from "./index/companies.ts";
import { admit, deleteOpeningsBefore } from "./engine/identity.ts";
import { type IndexFile, openIndex, SnapshotWriter } from "./index/inventory.ts";
import { measure } from "./query/measure.ts";
import { metadataKeys } from "./query/metadata_keys.ts";
import { haveLateEvents } from "./query/late_events.ts";
import type { Parts } from "./maintain/components.ts";
import { lostError, Recovery } from "./maintain/recovery.ts";
import { RemovingStore } from "./maintain/removing_store.ts";
import { openTotals } from "./maintain/totals_snapshots.ts";
import { sumsWithKept } from "./query/kept_hours.ts";
import { newestPage } from "./query/newest.ts";
import { inRange } from "./query/in_range.ts";
import { askAggregate } from "./query/ask_aggregate.ts";
import { search } from "./query/search.ts";
import { askFrames, askSeries } from "./query/series.ts";
import { monthDigests } from "./query/month_digests.ts";
import { exportSegment } from "./query/segment.ts";
import { smallPage, WEIGHT } from "./query/small_page.ts";
import { totalsSource } from "./query/totals_source.ts";
import { SipHash } from "../index/siphash.ts";
import { lastSeq } from "./engine/last_seq.ts";
import { totals } from "./query/totals.ts";
import { minimum } from "../windows.ts";
import type { QueueMember } from "../query/fair_queue.ts";
import { PATIENCE_MS } from "./append/writer.ts";
import type { EventRows } from "../event_rows.ts";
import type { Opening } from "../identity.ts";
import type { RunningTotals } from "../running_totals.ts";
import { earliestRead, type Measured, type MeasureQuery } from "../meter.ts";
import type { SeriesOptions, SeriesQuery, SeriesResult } from "../series.ts";
import type {
  AggregateQuery,
  AggregateRow,
  AppendResult,
  ExportOptions,
  ExportQuery,
  KeysQuery,
  KeysResult,
  KnownWindow,
  LoadResult,
  MonthDigest,
  NewEvent,
  SearchQuery,
  SearchResult,
  SegmentRange,
  StoreStats,
  SumsCheck,
  TotalsOptions,
  UsageStore,
  UsageWindow,
  WindowSum,
  WindowTotal,
  WrittenSegment,
} from "../port.ts";

/**
 * Opens the store; the time it takes grows with the stored events, whose ids are read into memory.
 * Errors: unavailable when the file is open already, in this process or another.
 */
export async function openDuckDb(options: DuckDbOptions): Promise<CompactableStore> {
  const { memory_limit = "1GB", threads = 2 } = options;
  const database = await openDatabase(options.path, { memory_limit, threads });
  if (options.admit) await admit(database, options.admit);
  const { fingerprint_key } = database;
  return openStoreOn(database, options, { path: `${options.path}.ids`, fingerprint_key });
}

/** Opens the store on a database, which closes with it; `file` holds the snapshot of the index. */
export async function openStoreOn(
  database: Database,
  options: Omit<DuckDbOptions, "path">,
  file?: IndexFile,
): Promise<CompactableStore> {
  const { on_failure = () => undefined, check_room } = options;
  const limits = limitsOf(options);
  const hash = new SipHash(database.fingerprint_key);
  try {
    const recovery = await Recovery.open(
      database,
      async (connection, inventory) => {
        const { index, snapshot_size } = await openIndex(connection, hash, inventory.events, file, (error) =>
          on_failure(error, "usage store: the snapshot of its ids can't be used"),
        );
        const { snapshot_rows } = limits.compaction;
        const snapshots = file && new SnapshotWriter(file, index, snapshot_size, snapshot_rows);
        const companies = await Companies.read(connection, limits.few_events);
        const opened = await openTotals(connection, inventory.last_seq, { snapshot_rows, file, on_failure });
        return { limits, known: { hash, index, snapshots, companies, ...opened } };
      },
      on_failure,
      check_room,
    );
    return new DuckDbUsageStore(recovery);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The store with what only its owner calls. */
export interface CompactableStore extends UsageStore {
  /** Resolves when every event stored before is sorted. It happens in the background anyway. */
  compact(): Promise<void>;
  /** As `lastSeq`, on a connection that no company's queries block. */
  progress(timeout_ms: number): Promise<number>;
  /** Confirms that the database recorded this opening; earlier ones are deleted. */
  confirm(opening: Opening): Promise<void>;
}

class DuckDbUsageStore extends RemovingStore implements CompactableStore {
  readonly #recovery: Recovery;
  /** A stored sequence number; events stored later have higher ones. */
  #last_seq = 0;
  #closing: Promise<void> | undefined;

  constructor(recovery: Recovery) {
    super(recovery);
    this.#recovery = recovery;
    recovery.known.totals.begin(totalsSource(recovery));
  }

  get #companies(): Companies {
    return this.#recovery.known.companies;
  }

  get running_totals(): RunningTotals {
    return this.#recovery.known.totals;
  }

  async append(company_id: number, events: readonly NewEvent[], now_ms: number): Promise<AppendResult> {
    const { known } = this.#recovery;
    const prepared = prepareAppend(company_id, events, now_ms, known.hash);
    this.#recovery.checkAppends();
    this.checkTimes(company_id, events);
    known.companies.widenBy(company_id, events);
    return this.whileStoring(
      this.#recovery.run(async ({ writer, compactor }) => {
        const result = await writer.append(prepared);
        known.companies.count(company_id, result.accepted);
        compactor.notice();
        return result;
      }),
    );
  }

  async stage(company_id: number, rows: EventRows): Promise<void> {
    const block = EventBlock.of(rows);
    this.#recovery.checkAppends();
    await this.#recovery.run(({ loader }) => loader.stage(company_id, block));
  }

  async load(company_id: number, rows: EventRows, now_ms: number): Promise<LoadResult> {
    const block = EventBlock.of(rows);
    this.#recovery.checkAppends();
    this.checkSpan(company_id, block.span);
    return this.whileStoring(this.#load(company_id, block, now_ms));
  }

  async #load(company_id: number, block: EventBlock, now_ms: number): Promise<LoadResult> {
    const companies = this.#companies;
    for (const timestamp of block.span) companies.widen(company_id, timestamp);
    let stored = 0;
    const { accepted, ...result } = await this.#recovery.run(async ({ loader, compactor, engine }) => {
      try {
        return await loader.load(company_id, block, now_ms, (count) => {
          stored += count;
          companies.count(company_id, count);
          compactor.notice(count);
        });
      } catch (error) {
        const is_own = error instanceof EngineLostError && error.is_own_commit;
        if (is_own && (await engine.isStored(PATIENCE_MS))) stored += error.loss.commit?.rows ?? 0;
        throw error;
      }
    });
    // Rows stored by an earlier attempt are not duplicates.
    return { ...result, accepted: stored, duplicates: result.duplicates - (stored - accepted) };
  }

  search(query: SearchQuery, timeout_ms: number): Promise<SearchResult> {
    const { company_id } = query;
    return this.#recovery.query(
      company_id,
      async ({ readers, newest, writer }) => {
        const { next_seq } = writer;
        const byStatement = this.#pageStatement(query, newest.sinceOf(query, next_seq));
        const found =
          (byStatement && (await readers.runStatement(company_id, timeout_ms, byStatement))) ??
          (await readers.run(company_id, timeout_ms, (connection) =>
            inRange(this.#companies, connection, query, (reduced, has_few) =>
              search(connection, reduced, has_few),
            ),
          ));
        newest.remember(query, found, next_seq);
        return found;
      },
      timeout_ms,
    );
  }

  /** Finds a page by one statement, if it can be; `since_ms`: as of `NewestEvents`. */
  #pageStatement(
    query: SearchQuery,
    since_ms: number | undefined,
  ): ((connection: DuckDBConnection) => Promise<SearchResult | undefined>) | undefined {
    if (since_ms !== undefined) return (connection) => newestPage(connection, query, since_ms);
    if (!this.#companies.haveFew(query, WEIGHT)) return undefined;
    return (connection) =>
      inRange(this.#companies, connection, query, (reduced) => smallPage(connection, reduced));
  }

  aggregate(query: AggregateQuery, timeout_ms: number): Promise<AggregateRow[]> {
    return askAggregate(this.#recovery, query, timeout_ms);
  }

  metadataKeys(query: KeysQuery, timeout_ms: number): Promise<KeysResult> {
    return this.#query(query.company_id, timeout_ms, (connection) =>
      inRange(this.#companies, connection, query, (reduced, has_few) =>
        metadataKeys(connection, reduced, has_few),
      ),
    );
  }

  series(query: SeriesQuery, options: SeriesOptions): Promise<SeriesResult> {
    return askSeries(this.#recovery, query, options);
  }

  seriesFrames(...asked: Parameters<UsageStore["seriesFrames"]>): Promise<void> {
    return askFrames(this.#recovery, ...asked);
  }

  async totals(
    company_id: number,
    windows: readonly UsageWindow[],
    { timeout_ms, ...stored_by }: TotalsOptions,
  ): Promise<WindowTotal[]> {
    this.needEvents(company_id, minimum(windows.map(({ start_ms }) => start_ms)));
    return this.#queryOnce(company_id, timeout_ms, (connection) =>
      totals(connection, company_id, windows, stored_by),
    );
  }

  async measure(wanted: MeasureQuery, timeout_ms: number): Promise<Measured[][]> {
    this.needEvents(wanted.company_id, earliestRead(wanted));
    return this.#queryOnce(wanted.company_id, timeout_ms, (connection) => measure(connection, wanted));
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
    const since_ms = this.sinceOf(company_id);
    if (windows.some(({ start_ms }) => start_ms < since_ms))
      return this.#query(company_id, timeout_ms, (connection) =>
        sumsWithKept(connection, company_id, windows, since_ms),
      );
    return this.#queryOnce(company_id, timeout_ms, (connection, parts) =>
      parts.sums.find(connection, company_id, windows),
    );
  }

  async export(query: ExportQuery, write: Write, options: ExportOptions): Promise<void> {
    this.#recovery.checkQueries(query.company_id);
    const { exports } = await this.#recovery.parts(options.timeout_ms);
    try {
      await exports.run(query, write, options);
    } catch (error) {
      // What was sent can't be sent again.
      throw error instanceof EngineLostError ? lostError(error) : error;
    }
  }

  exportSegment(path: string, range: SegmentRange, timeout_ms: number): Promise<WrittenSegment> {
    return this.runExport(timeout_ms, (connection) => exportSegment(connection, path, range));
  }

  monthDigests(last_seq: number, timeout_ms: number): Promise<MonthDigest[]> {
    return this.runExport(timeout_ms, (connection) => monthDigests(connection, last_seq));
  }

  check(company_id: number | null, timeout_ms: number): Promise<SumsCheck> {
    return this.#query(company_id, timeout_ms, (connection) => checkSums(connection, company_id));
  }

  /** Runs several statements that see one instant. */
  #query<T>(
    member: QueueMember,
    timeout_ms: number,
    read: (connection: DuckDBConnection) => Promise<T>,
  ): Promise<T> {
    return this.#recovery.query(member, ({ readers }) => readers.run(member, timeout_ms, read), timeout_ms);
  }

  /** Runs one statement. */
  #queryOnce<T>(
    member: QueueMember,
    timeout_ms: number,
    read: (connection: DuckDBConnection, parts: Parts) => Promise<T>,
  ): Promise<T> {
    return this.#recovery.query(
      member,
      (parts) => parts.readers.runStatement(member, timeout_ms, (connection) => read(connection, parts)),
      timeout_ms,
    );
  }

  stats(): StoreStats {
    const { known, is_open, losses, load } = this.#recovery;
    return {
      index_entries: known.index.size,
      index_bytes: known.index.bytes,
      is_open,
      engine_losses: losses,
      ...load,
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
    // Together: the store breaks off a counting that the totals wait for.
    this.#closing ??= Promise.all([this.#recovery.known.totals.close(), this.#recovery.close()]).then(
      () => undefined,
    );
    return this.#closing;
  }
}
