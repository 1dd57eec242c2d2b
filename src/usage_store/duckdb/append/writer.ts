import type { DuckDBConnection } from "@duckdb/node-api";
import type { AppError } from "../../../core/errors.ts";
import type { AppendResult } from "../../port.ts";
import { type AppendRequest, FINGERPRINT, type PreparedAppend, WORDS } from "../../append/append_request.ts";
import { appendRows } from "./event_chunks.ts";
import { feedTotals } from "../../append/feed_totals.ts";
import { FEW_EVENTS, FewEventsInsert } from "./few_events.ts";
import { type Engine, EngineLostError, unavailable } from "../engine/engine.ts";
import type { FingerprintIndex } from "../../index/fingerprints.ts";
import { type AppendDecision, decideGroup, settle } from "../../append/deduplicate.ts";
import { PendingAppends, type PendingLimits } from "../../append/pending_appends.ts";
import { findRows } from "./stored_rows.ts";
import { hourSums, insertSums, insertSumsOf } from "./hour_sums.ts";
import { cutOff } from "../engine/readers.ts";
import { closedError } from "../../query/closed_error.ts";
import { commitEvents, commitSeconds } from "../../metrics.ts";
import type { TotalsKeeper } from "../../running/keeper.ts";
import { HOT_TABLES, type HotTable } from "../engine/schema.ts";

/** The bounds of group commit. */
export interface WriterLimits extends PendingLimits {
  /** How long a first append waits for others to share its commit. */
  group_ms: number;
  /**
   * A group of this many requests is committed without waiting. Of more senders that wait for their answers only some
   * share a commit then, and the next requests of the others are read while it is written.
   */
  ready_requests: number;
}

/** Work with exclusive use of the writer's connection; its rows are numbered from `first_seq`. */
export type ExclusiveWork<T> = (
  connection: DuckDBConnection,
  first_seq: number,
) => Promise<{ rows: number; value: T }>;

/** The longest pause between two groups. */
const MAX_REST_MS = 10;

/** More numbers than any exclusive work uses. */
const FAILED_SEQS = 2 ** 27;

/** Group commit: a durable commit costs the same for one event and for thousands, so appends share it. */
export class Writer {
  readonly #engine: Engine;
  readonly #connection: DuckDBConnection;
  readonly #few_events: FewEventsInsert;
  readonly #index: FingerprintIndex;
  readonly #totals: TotalsKeeper;
  readonly #limits: WriterLimits;
  #next_seq: number;
  #hot = 0;
  #hot_rows = 0;
  #exclusive: (() => Promise<void>)[] = [];
  readonly #queue: PendingAppends;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running = false;
  /** When the next group may begin, by performance.now(). */
  #rests_until = 0;
  #drained = Promise.resolve();
  #closed = false;
  #closing_error: Error = closedError();

  /** `stored`: the rows in the tables. */
  constructor(
    engine: Engine,
    connection: DuckDBConnection,
    { index, totals }: { index: FingerprintIndex; totals: TotalsKeeper },
    stored: { last_seq: number; hot_rows: number },
    limits: WriterLimits,
  ) {
    this.#engine = engine;
    this.#connection = connection;
    this.#few_events = new FewEventsInsert(connection);
    this.#index = index;
    this.#totals = totals;
    this.#next_seq = stored.last_seq + 1;
    this.#hot_rows = stored.hot_rows;
    this.#limits = limits;
    this.#queue = new PendingAppends(limits);
  }

  /** Queues an append and resolves after its commit. Errors: as `UsageStore.append`; EngineLostError. */
  async append(prepared: PreparedAppend): Promise<AppendResult> {
    if (this.#closed) throw this.#closing_error;
    if (prepared.events.length === 0) return { accepted: 0, duplicates: 0 };
    return this.#queue.add(prepared, () => this.#schedule());
  }

  /** The number of the next row. */
  get next_seq(): number {
    return this.#next_seq;
  }

  /** Events whose commit is under way or waited for. */
  get pending_events(): number {
    return this.#queue.pending_events;
  }

  /** Rows in the hot tables at the opening, or written to the present one since the last rotation. */
  get hot_rows(): number {
    return this.#hot_rows;
  }

  /** Runs `work` while appends wait. Errors: those of `work`. */
  exclusive<T>(work: ExclusiveWork<T>): Promise<T> {
    if (this.#closed) return Promise.reject(this.#closing_error);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#exclusive.push(async () => {
      try {
        this.#engine.check();
        const { rows, value } = await work(this.#connection, this.#next_seq);
        this.#next_seq += rows;
        resolve(value);
      } catch (error) {
        // It may have stored rows: their numbers must not be used again. Gaps do no harm.
        this.#next_seq += FAILED_SEQS;
        reject(error);
      }
    });
    this.#drain();
    return promise;
  }

  /** Switches to the next hot table. All rows of the others are committed, with numbers up to `last_seq`. */
  rotate(): Promise<{ hot: HotTable; last_seq: number }> {
    return this.exclusive(async (_, first_seq) => {
      this.#hot = (this.#hot + 1) % HOT_TABLES.length;
      this.#hot_rows = 0;
      return { rows: 0, value: { hot: this.#hotTable(), last_seq: first_seq - 1 } };
    });
  }

  /** Refuses new appends and resolves when those queued are done. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#drain();
    await this.#drained;
    this.#few_events.close();
    this.#engine.disconnect(this.#connection);
  }

  /** Rejects queued work and interrupts the commit under way: the engine is lost. */
  async abandon(reason: Error): Promise<void> {
    this.#closing_error = reason;
    this.#closed = true;
    this.#queue.rejectAll(reason);
    await cutOff([this.#connection], this.close());
  }

  #schedule(): void {
    if (this.#isReady) return this.#drain();
    if (this.#running || this.#timer !== undefined) return;
    const rest_ms = this.#rests_until - performance.now();
    this.#timer = setTimeout(() => this.#drain(), Math.max(this.#limits.group_ms, rest_ms));
  }

  #drain(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#running) return;
    this.#running = true;
    this.#rests_until = 0;
    this.#drained = this.#commitGroups();
  }

  /** Commits one group after the other; appends queued during a commit form the next group. */
  async #commitGroups(): Promise<void> {
    for (;;) {
      const exclusive = this.#exclusive.shift();
      if (exclusive) await exclusive();
      else if (this.#queue.requests > 0 && this.#isRested()) await this.#commitGroup(this.#queue.takeGroup());
      else break;
    }
    // In the same turn as the last look at the queue: an append in between would wait forever.
    this.#running = false;
    if (this.#queue.requests > 0) this.#schedule();
  }

  get #isReady(): boolean {
    const { ready_requests, group_events } = this.#limits;
    return this.#queue.requests >= ready_requests || this.#queue.queued_events >= group_events;
  }

  /** Whether the next group may begin: a ready one at once, and when the store is closing. */
  #isRested(): boolean {
    return this.#isReady || this.#closed || performance.now() >= this.#rests_until;
  }

  /** Commits a group and settles its requests; never throws. */
  async #commitGroup(group: AppendRequest[]): Promise<void> {
    let decisions: AppendDecision[] = [];
    const began_ms = performance.now();
    try {
      this.#engine.check();
      decisions = await decideGroup(group, this.#index, (found) => findRows(this.#connection, found));
      await this.#write(decisions);
      // Commits that follow one another without a pause would take the whole processor for few events each.
      const now_ms = performance.now();
      commitSeconds.observe((now_ms - began_ms) / 1_000);
      commitEvents.observe(decisions.reduce((sum, { fresh }) => sum + fresh.length, 0));
      this.#rests_until = now_ms + Math.min(now_ms - began_ms, MAX_REST_MS);
      for (const decision of decisions) settle(decision);
    } catch (cause) {
      const sure = decisions.filter((decision) => decision.refusal && !decision.depends_on_batch);
      for (const decision of sure) settle(decision);
      const settled = new Set(sure.map(({ request }) => request));
      const open = group.filter((request) => !settled.has(request));
      const error = this.#engine.judge(cause, "commit");
      if (error instanceof EngineLostError && error.is_own_commit) {
        // Not awaited: the engine closes only after this call.
        void this.#settleWhenKnown(decisions, new Set(open), error);
        return;
      }
      const refusal = error instanceof EngineLostError ? error : notStoredError(cause);
      for (const request of open) request.reject(refusal);
    }
  }

  /** Settles the requests of a failed commit, once it is known whether it is stored. */
  async #settleWhenKnown(
    decisions: readonly AppendDecision[],
    open: ReadonlySet<AppendRequest>,
    cause: EngineLostError,
  ): Promise<void> {
    const is_stored = await this.#engine.isStored(PATIENCE_MS);
    for (const decision of decisions) {
      if (!open.has(decision.request)) continue;
      if (is_stored === true) settle(decision);
      else decision.request.reject(is_stored === false ? notStoredError(cause) : unknownError(cause));
    }
  }

  /** Commits the new events of all decisions in one transaction, and adds them to the index and the totals. */
  async #write(decisions: AppendDecision[]): Promise<void> {
    const count = decisions.reduce((sum, decision) => sum + decision.fresh.length, 0);
    if (count === 0) return;
    const first_seq = this.#next_seq;
    this.#next_seq += count;
    this.#hot_rows += count;
    const rows = { first_seq, last_seq: this.#next_seq - 1, rows: count };
    const table = this.#hotTable();
    const sums = insertSums(hourSums(decisions), rows.last_seq);
    const insert = async (): Promise<void> => {
      if (count <= FEW_EVENTS) await this.#few_events.run(table, decisions, first_seq);
      else await appendRows(this.#connection, table, decisions, first_seq);
      if (sums === undefined) await this.#connection.run(insertSumsOf(table, first_seq));
      // Before the commit, which may reach the disk and still fail: an entry without a row is harmless, a row without
      // an entry would be stored twice.
      this.#addToIndex(decisions, first_seq);
    };
    await this.#engine.transact(this.#connection, "commit", insert, rows, sums);
    feedTotals(this.#totals, decisions, rows.last_seq);
  }

  #hotTable(): HotTable {
    return HOT_TABLES[this.#hot] ?? HOT_TABLES[0];
  }

  #addToIndex(decisions: AppendDecision[], first_seq: number): void {
    let seq = first_seq;
    for (const { request, fresh } of decisions) {
      for (const position of fresh) {
        const at = position * WORDS + FINGERPRINT;
        this.#index.add(request.words[at] ?? 0, request.words[at + 1] ?? 0, seq++);
      }
    }
  }
}

/** How long callers wait for the outcome of a failed commit. */
export const PATIENCE_MS = 5_000;

function notStoredError(cause: unknown): AppError {
  return unavailable(
    "Cannot store the events: the commit failed and none of them is stored; send them again",
    1,
    cause,
  );
}

function unknownError(cause: unknown): AppError {
  const message =
    "It is not known yet whether the events are stored: send them again with the same ids, so that none counts twice";
  return unavailable(message, 5, cause);
}
