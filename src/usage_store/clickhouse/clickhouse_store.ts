/** The usage store on ClickHouse: several processes, each of which stores the events of some companies. */
import type { Write } from "../../core/download.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { closedProblem, refuseClosed } from "../closed_usage.ts";
import type { ErasureQuery } from "../erasures.ts";
import { type EventRows, ROW } from "../event_rows.ts";
import { earliestRead, type Measured, type MeasureQuery } from "../meter.ts";
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
  MonthDigest,
  NewEvent,
  SearchQuery,
  SearchResult,
  SegmentRange,
  StoreStats,
  StoredId,
  SumsCheck,
  TotalsOptions,
  UsageStore,
  UsageWindow,
  WindowSum,
  WindowTotal,
  WrittenSegment,
} from "../port.ts";
import type { QueueMember } from "../query/fair_queue.ts";
import type { KeptSince } from "../removals.ts";
import type { RunningTotals } from "../running_totals.ts";
import type { SeriesFrame, SeriesOptions, SeriesQuery, SeriesResult } from "../series.ts";
import { minimum } from "../windows.ts";
import { eventOf, loads } from "./append/loaded_rows.ts";
import { type Bounds, ClickHouse } from "./engine/engine.ts";
import { Gate } from "./engine/gate.ts";
import { readFacts } from "./engine/identity.ts";
import { openSchema } from "./engine/schema.ts";
import type { OwnedLanes } from "./lanes.ts";
import { checkSums, rebuildSums } from "./maintain/check_sums.ts";
import { findUnerased } from "./maintain/erase.ts";
import { exportKept, type RemovedRange, Removals } from "./maintain/removals.ts";
import { reachesBack, RemovingStore, type StoreParts, visibleOf } from "./maintain/removing_store.ts";
import type { ClickHouseOptions } from "./options.ts";
import { aggregate, EVENT_SUMS, type Source } from "./query/aggregate.ts";
import { exportEvents, findSegment, segmentSql, writeFile } from "./query/export.ts";
import { whereSql } from "./query/filters.ts";
import { aggregateWithKept, seriesSourceWithKept, sumsWithKept } from "./query/kept_sums.ts";
import { measure } from "./query/measure.ts";
import { metadataKeys } from "./query/metadata_keys.ts";
import { search } from "./query/search.ts";
import { filterOf, hoursOf, series } from "./query/series.ts";
import { seriesFrames } from "./query/series_frames.ts";
import { findStored, lastSeq, lastSeqOfAll } from "./query/stored.ts";
import { haveLateEvents, monthDigests, sums, totals } from "./query/totals.ts";

/**
 * Opens the store, and makes its tables where there are none. Appends wait until the lanes are owned, whose ids are read
 * into memory first. Errors: unavailable when the server can't be reached.
 */
export async function openClickHouse(options: ClickHouseOptions): Promise<ClickHouseUsage> {
  const engine = ClickHouse.connect(options.url);
  try {
    await reach(engine, options.url);
    const meta = await openSchema(engine, options.lanes ?? 8);
    const rows = await options.openRows(await readFacts(engine, meta));
    const removals = await Removals.open(engine);
    return new ClickHouseStore({ engine, removals, meta, rows, options });
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** The usage store on ClickHouse, and the lanes that it has. */
export interface ClickHouseUsage extends UsageStore {
  readonly lanes: OwnedLanes;
}

/** How long a server may take to greet. */
const GREETING_MS = 10_000;

/** Errors: throws one that names the server, without its user. */
async function reach(engine: ClickHouse, url: string): Promise<void> {
  try {
    await engine.ask("SELECT 1", { timeout_ms: GREETING_MS });
  } catch (error) {
    const cause = error instanceof AppError ? (error.cause ?? error) : error;
    const { host, pathname } = new URL(url);
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot open ClickHouse at ${host}${pathname}: ${reason}`, { cause: error });
  }
}

class ClickHouseStore extends RemovingStore implements ClickHouseUsage {
  readonly #folder: string;
  readonly #questions: Gate;
  readonly #exports: Gate;
  #closing: Promise<void> | undefined;

  constructor(parts: StoreParts) {
    super(parts);
    const { options } = parts;
    this.#folder = options.folder;
    const { questions = 16, questions_waiting = 256 } = options;
    const { questions_waiting_company = Math.ceil(questions_waiting / 4) } = options;
    const { exports = 2, exports_waiting = 8, exports_waiting_company = 2 } = options;
    this.#questions = gateOf(questions, questions_waiting, questions_waiting_company);
    this.#exports = gateOf(exports, exports_waiting, exports_waiting_company);
  }

  get running_totals(): RunningTotals {
    return this.lanes.totals;
  }

  async append(company_id: number, events: readonly NewEvent[], now_ms: number): Promise<AppendResult> {
    const since_ms = this.sinceOf(company_id);
    if (since_ms > 0) refuseClosed(events, since_ms);
    if (events.length === 0) return { accepted: 0, duplicates: 0 };
    return this.lanes.atOwner("append", { company_id, events, now_ms });
  }

  async load(company_id: number, rows: EventRows, now_ms: number): Promise<LoadResult> {
    let first_ms = Number.MAX_SAFE_INTEGER;
    for (let row = 0; row < rows.rows; row++)
      if (!rows.is(row, ROW.skipped)) first_ms = Math.min(first_ms, rows.timestamps[row] ?? 0);
    const problem = closedProblem(first_ms, this.sinceOf(company_id));
    if (problem !== undefined) throw invalid("/timestamp", problem);
    const all = Array.from({ length: rows.rows }, (_, row) => row).filter(
      (row) => !rows.is(row, ROW.skipped),
    );
    const result: LoadResult = { accepted: 0, duplicates: 0, left: [] };
    for (const some of loads(rows, all)) {
      const events = some.map((row) => eventOf(rows, row));
      const loaded = await this.lanes.atOwner("load", { company_id, events, now_ms });
      result.accepted += loaded.accepted;
      result.duplicates += loaded.duplicates;
      result.left.push(...loaded.left.map((position) => some[position] ?? 0));
    }
    return result;
  }

  /** Rows are looked up when they are loaded. */
  async stage(): Promise<void> {}

  search(query: SearchQuery, timeout_ms: number): Promise<SearchResult> {
    return this.#ask(query, { timeout_ms }, (visible, bounds) => search(this.engine, visible, bounds));
  }

  aggregate(query: AggregateQuery, timeout_ms: number): Promise<AggregateRow[]> {
    return this.#ask(query, { timeout_ms }, (visible, bounds, removed) =>
      removed !== undefined && reachesBack(query, removed)
        ? aggregateWithKept(this.engine, query, removed, bounds)
        : aggregate(this.engine, visible, bounds),
    );
  }

  metadataKeys(query: KeysQuery, timeout_ms: number): Promise<KeysResult> {
    return this.#ask(query, { timeout_ms }, (visible, bounds) => metadataKeys(this.engine, visible, bounds));
  }

  series(query: SeriesQuery, options: SeriesOptions): Promise<SeriesResult> {
    return this.#ask(filterOf(query), options, async (visible, bounds, removed) => {
      const source = await this.#seriesSource(query, visible, bounds, removed);
      return series(this.engine, query, source, bounds);
    });
  }

  /** What a series is added up from: the same for several statements. */
  async #seriesSource(
    query: SeriesQuery,
    visible: EventFilter,
    bounds: Bounds,
    removed: RemovedRange | undefined,
  ): Promise<Source> {
    if (removed !== undefined && reachesBack(filterOf(query), removed))
      return seriesSourceWithKept(this.engine, query, removed, bounds);
    const hours = removed === undefined ? hoursOf(query) : undefined;
    if (hours !== undefined) return hours;
    return eventsUpTo(visible, await this.#lastSeq(query.company_id, bounds));
  }

  seriesFrames(
    query: SeriesQuery,
    { slice_events, ...options }: SeriesOptions & { slice_events: number },
    send: (frame: SeriesFrame) => Promise<void>,
  ): Promise<void> {
    const { company_id } = query;
    return this.#questions.run(company_id, options, async (bounds) => {
      for (;;) {
        const removed = this.removals.rangeOf(company_id);
        const frames = this.#frames(query, slice_events, removed, bounds);
        let are_whole = true;
        for await (const frame of frames) {
          are_whole = await this.isStill(company_id, removed);
          if (!are_whole) break;
          await send(frame);
        }
        if (are_whole) return;
      }
    });
  }

  async *#frames(
    query: SeriesQuery,
    slice_events: number,
    removed: RemovedRange | undefined,
    bounds: Bounds,
  ): AsyncGenerator<SeriesFrame> {
    const filter = filterOf(query);
    if (hoursOf(query) !== undefined || (removed !== undefined && reachesBack(filter, removed))) {
      const source = await this.#seriesSource(query, visibleOf(filter, removed), bounds, removed);
      yield { from_ms: filter.start_ms, result: await series(this.engine, query, source, bounds) };
      return;
    }
    const last_seq = await this.#lastSeq(query.company_id, bounds);
    const sourceOf = (part: EventFilter) => eventsUpTo(visibleOf(part, removed), last_seq);
    yield* seriesFrames(this.engine, query, { slice_events, sourceOf }, bounds);
  }

  async totals(
    company_id: number,
    windows: readonly UsageWindow[],
    { timeout_ms, ...stored_by }: TotalsOptions,
  ): Promise<WindowTotal[]> {
    return this.askWhole(company_id, minimum(windows.map(({ start_ms }) => start_ms)), () =>
      this.#run(company_id, { timeout_ms }, (bounds) =>
        totals(this.engine, company_id, windows, stored_by, bounds),
      ),
    );
  }

  async measure(query: MeasureQuery, timeout_ms: number): Promise<Measured[][]> {
    const { company_id } = query;
    return this.askWhole(company_id, earliestRead(query), () =>
      this.#run(company_id, { timeout_ms }, (bounds) => measure(this.engine, query, bounds)),
    );
  }

  async lastSeq(company_id: number, timeout_ms: number): Promise<number> {
    if (company_id !== 0)
      return this.#run(company_id, { timeout_ms }, (bounds) => this.#lastSeq(company_id, bounds));
    const last_seq = await this.#run(null, { timeout_ms }, (bounds) => lastSeqOfAll(this.engine, bounds));
    return this.lanes.frontier(last_seq, timeout_ms);
  }

  #lastSeq(company_id: number, bounds: Bounds): Promise<number> {
    return lastSeq(this.engine, { company_id, lane: this.lanes.laneOf(company_id) }, bounds);
  }

  haveLateEvents(
    company_id: number,
    windows: readonly KnownWindow[],
    timeout_ms: number,
  ): Promise<boolean[]> {
    return this.#run(company_id, { timeout_ms }, (bounds) =>
      haveLateEvents(this.engine, company_id, windows, bounds),
    );
  }

  sums(company_id: number, windows: readonly UsageWindow[], timeout_ms: number): Promise<WindowSum[]> {
    const start_ms = minimum(windows.map((window) => window.start_ms));
    return this.#ask({ company_id, start_ms }, { timeout_ms }, (_, bounds, removed) =>
      removed !== undefined && reachesBack({ company_id, start_ms }, removed)
        ? sumsWithKept(this.engine, company_id, windows, removed, bounds)
        : sums(this.engine, company_id, windows, bounds),
    );
  }

  export(query: ExportQuery, write: Write, options: ExportOptions): Promise<void> {
    return this.#exports.run(query.company_id, options, async (bounds) => {
      const limits = { ...options, ...bounds, signal: bounds.signal ?? options.signal };
      const place = { folder: this.#folder, readVisible: this.readVisible.bind(this) };
      await exportEvents(this.engine, query, place, write, limits);
    });
  }

  exportSegment(path: string, range: SegmentRange, timeout_ms: number): Promise<WrittenSegment> {
    return this.#exports.run(null, { timeout_ms }, async (bounds) => {
      const segment = await findSegment(this.engine, range, bounds);
      const { from } = range;
      await writeFile(path, this.engine.bytes(segmentSql({ from, to: segment.to }), bounds));
      return segment;
    });
  }

  monthDigests(last_seq: number, timeout_ms: number): Promise<MonthDigest[]> {
    return this.#exports.run(null, { timeout_ms }, (bounds) => monthDigests(this.engine, last_seq, bounds));
  }

  check(company_id: number | null, timeout_ms: number): Promise<SumsCheck> {
    return this.#run(company_id, { timeout_ms }, (bounds) => checkSums(this.engine, company_id, bounds));
  }

  rebuildSums(): Promise<void> {
    return rebuildSums(this.engine);
  }

  findStored(company_id: number, ids: readonly string[], timeout_ms: number): Promise<StoredId[]> {
    const hours = (some: readonly string[]) => this.lanes.hoursOf(company_id, some);
    return this.#run(company_id, { timeout_ms }, (bounds) =>
      findStored(this.engine, company_id, ids, hours, bounds),
    );
  }

  findUnerased(query: ErasureQuery, limit: number, timeout_ms: number): Promise<string[]> {
    return this.#ask(query, { timeout_ms }, (visible, bounds) =>
      findUnerased(this.engine, visible, limit, bounds),
    );
  }

  exportKept(path: string, timeout_ms: number): Promise<KeptSince[]> {
    return this.#exports.run(null, { timeout_ms }, async (bounds) => {
      await writeFile(path, exportKept(this.engine, bounds));
      return this.removals.all();
    });
  }

  stats(): StoreStats {
    const { entries, bytes } = this.lanes.index;
    return {
      index_entries: entries,
      index_bytes: bytes,
      is_open: this.#closing === undefined,
      engine_losses: 0,
      pending_events: this.lanes.pending_events,
      waiting_queries: this.#questions.waiting,
    };
  }

  async ping(timeout_ms: number): Promise<void> {
    await this.#run(null, { timeout_ms }, (bounds) => this.engine.ask("SELECT 1", bounds));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.stopFollowing();
    this.#questions.close();
    this.#exports.close();
    await this.lanes.close();
    await this.engine.close();
  }

  #run<T>(member: QueueMember, bounds: Bounds, ask: (bounds: Bounds) => Promise<T>): Promise<T> {
    return this.#questions.run(member, bounds, ask);
  }

  /** Asks about the events that were not removed; once more where some were removed meanwhile. */
  #ask<Q extends EventFilter, T>(
    query: Q,
    within: Bounds,
    ask: (visible: Q, bounds: Bounds, removed: RemovedRange | undefined) => Promise<T>,
  ): Promise<T> {
    const { company_id } = query;
    return this.#run(company_id, within, async (bounds) => {
      for (;;) {
        const removed = this.removals.rangeOf(company_id);
        const answer = await ask(visibleOf(query, removed), bounds, removed);
        if (await this.isStill(company_id, removed)) return answer;
      }
    });
  }
}

/** The events of a filter up to a number. */
function eventsUpTo(filter: EventFilter, last_seq: number): Source {
  return {
    from: `usage_events WHERE ${whereSql(filter)} AND seq <= ${last_seq}`,
    at: "timestamp",
    sums: EVENT_SUMS,
  };
}

/** One company may have all but one, so that another finds one free. */
function gateOf(running: number, waiting: number, waiting_company: number): Gate {
  return new Gate({ running, waiting, waiting_company, running_company: Math.max(1, running - 1) });
}
