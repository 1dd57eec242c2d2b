import type { DuckDBConnection } from "@duckdb/node-api";
import { AppError } from "../../../core/errors.ts";
import type { AppendResult } from "../../port.ts";
import type { AppendRequest, PreparedAppend } from "./append_request.ts";
import { appendRows } from "./event_chunks.ts";
import { type Engine, EngineLostError, unavailable } from "../engine/engine.ts";
import type { FingerprintIndex } from "../index/fingerprints.ts";
import { Deduplicator, type AppendDecision } from "./deduplicate.ts";
import { appendHourSums, hourSums } from "./hour_sums.ts";
import { closedError, cutOff } from "../engine/readers.ts";
import { HOT_TABLES, type HotTable } from "../engine/schema.ts";
import { type Candidate, findRows, type StoredRow } from "./stored_rows.ts";

/** How appends are collected. */
export interface WriterLimits {
  /** How long a first append waits for others to share its commit. */
  group_ms: number;
  /** A group with this many events waits no longer, and takes no further request. */
  group_events: number;
  /** Events that may wait or be under way at once. */
  pending_events: number;
}

/** Work that has the writer for itself, on its connection; its rows are numbered from `first_seq`. */
export type ExclusiveWork<T> = (
  connection: DuckDBConnection,
  first_seq: number,
) => Promise<{ rows: number; value: T }>;

/** The longest pause between two groups. */
const MAX_REST_MS = 10;

/** More numbers than any exclusive work takes. */
const FAILED_SEQS = 2 ** 27;

/** The one writer: a durable commit costs the same for one event and for thousands, so appends share them. */
export class Writer {
  readonly #engine: Engine;
  readonly #connection: DuckDBConnection;
  readonly #index: FingerprintIndex;
  readonly #limits: WriterLimits;
  #next_seq: number;
  #hot = 0;
  #hot_rows = 0;
  #exclusive: (() => Promise<void>)[] = [];
  #queue: AppendRequest[] = [];
  #queued_events = 0;
  #pending_events = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running = false;
  /** When the next group may begin, by performance.now(). */
  #rests_until = 0;
  #drained = Promise.resolve();
  #closed = false;
  #closing_error: Error = closedError();

  /** `stored`: what the tables hold already. */
  constructor(
    engine: Engine,
    connection: DuckDBConnection,
    index: FingerprintIndex,
    stored: { last_seq: number; hot_rows: number },
    limits: WriterLimits,
  ) {
    this.#engine = engine;
    this.#connection = connection;
    this.#index = index;
    this.#next_seq = stored.last_seq + 1;
    this.#hot_rows = stored.hot_rows;
    this.#limits = limits;
  }

  /** Queues an append and answers after its commit. Errors: as `UsageStore.append`; EngineLostError. */
  async append(prepared: PreparedAppend): Promise<AppendResult> {
    const count = prepared.events.length;
    const { pending_events } = this.#limits;
    if (this.#closed) throw this.#closing_error;
    if (count === 0) return { accepted: 0, duplicates: 0 };
    if (count > pending_events) {
      throw new AppError("too_large", `Cannot store ${count} events at once: the limit is ${pending_events}`);
    }
    if (this.#pending_events + count > pending_events) {
      throw new AppError("unavailable", `Cannot store events now: ${this.#pending_events} are pending`, {
        retry_after_s: 1,
      });
    }
    const { promise, resolve, reject } = Promise.withResolvers<AppendResult>();
    this.#queue.push({ ...prepared, resolve, reject });
    this.#queued_events += count;
    this.#pending_events += count;
    this.#schedule();
    try {
      return await promise;
    } finally {
      this.#pending_events -= count;
    }
  }

  /** The number of the next row. */
  get next_seq(): number {
    return this.#next_seq;
  }

  /** Rows in the hot tables at the opening, or written to the present one since the last rotation. */
  get hot_rows(): number {
    return this.#hot_rows;
  }

  /** Runs `work` when no append is under way; appends wait meanwhile. Errors: those of `work`. */
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
        // It may have stored rows: their numbers must not be given again. Gaps do no harm.
        this.#next_seq += FAILED_SEQS;
        reject(error);
      }
    });
    this.#drain();
    return promise;
  }

  /** Turns to the next hot table. Every row of the others has a number up to `last_seq`, and is committed. */
  rotate(): Promise<{ hot: HotTable; last_seq: number }> {
    return this.exclusive(async (_, first_seq) => {
      this.#hot = (this.#hot + 1) % HOT_TABLES.length;
      this.#hot_rows = 0;
      return { rows: 0, value: { hot: this.#hotTable(), last_seq: first_seq - 1 } };
    });
  }

  /** Refuses new appends and answers when those queued are done. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#drain();
    await this.#drained;
    this.#engine.disconnect(this.#connection);
  }

  /** Refuses all that has not begun, and cuts off what has: the engine is lost. */
  async abandon(reason: Error): Promise<void> {
    this.#closing_error = reason;
    this.#closed = true;
    this.#queued_events = 0;
    for (const request of this.#queue.splice(0)) request.reject(reason);
    await cutOff([this.#connection], this.close());
  }

  #schedule(): void {
    if (this.#queued_events >= this.#limits.group_events) return this.#drain();
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

  /** One group after the other; what is queued during a commit is the next group. */
  async #commitGroups(): Promise<void> {
    for (;;) {
      const exclusive = this.#exclusive.shift();
      if (exclusive) await exclusive();
      else if (this.#queue.length > 0 && this.#isRested()) await this.#commitGroup(this.#takeGroup());
      else break;
    }
    // In the same turn as the last look at the queue: an append in between would wait forever.
    this.#running = false;
    if (this.#queue.length > 0) this.#schedule();
  }

  /** A full group need not rest, nor one that the store waits for to close. */
  #isRested(): boolean {
    const is_full = this.#queued_events >= this.#limits.group_events;
    return is_full || this.#closed || performance.now() >= this.#rests_until;
  }

  #takeGroup(): AppendRequest[] {
    let [requests, events] = [0, 0];
    for (const request of this.#queue) {
      if (events >= this.#limits.group_events) break;
      events += request.events.length;
      requests++;
    }
    this.#queued_events -= events;
    return this.#queue.splice(0, requests);
  }

  /** Answers every request of the group; never throws. */
  async #commitGroup(group: AppendRequest[]): Promise<void> {
    let decisions: AppendDecision[] = [];
    const began_ms = performance.now();
    try {
      this.#engine.check();
      decisions = await this.#judgeGroup(group);
      await this.#write(decisions);
      // Commits that follow one another without a pause would take the whole processor for few events each.
      const now_ms = performance.now();
      this.#rests_until = now_ms + Math.min(now_ms - began_ms, MAX_REST_MS);
      for (const decision of decisions) answer(decision);
    } catch (cause) {
      const sure = decisions.filter((decision) => decision.refusal && !decision.depends_on_batch);
      for (const decision of sure) answer(decision);
      const answered = new Set(sure.map(({ request }) => request));
      const open = group.filter((request) => !answered.has(request));
      const error = this.#engine.judge(cause, "commit");
      if (error instanceof EngineLostError && error.is_own_commit) {
        // Not waited for: the engine is closed once this one has ended.
        void this.#answerWhenKnown(decisions, new Set(open), error);
        return;
      }
      const refusal = error instanceof EngineLostError ? error : notStoredError(cause);
      for (const request of open) request.reject(refusal);
    }
  }

  /** Answers for a commit that failed, once it is known whether it is stored. */
  async #answerWhenKnown(
    decisions: readonly AppendDecision[],
    open: ReadonlySet<AppendRequest>,
    cause: EngineLostError,
  ): Promise<void> {
    const is_stored = await this.#engine.isStored(PATIENCE_MS);
    for (const decision of decisions) {
      if (!open.has(decision.request)) continue;
      if (is_stored === true) answer(decision);
      else decision.request.reject(is_stored === false ? notStoredError(cause) : unknownError(cause));
    }
  }

  async #judgeGroup(group: AppendRequest[]): Promise<AppendDecision[]> {
    const found = group.map((request) => this.#findFingerprints(request));
    const candidates = group.flatMap((request, i) => candidatesOf(request, found[i]));
    const rows = await findRows(this.#connection, candidates);
    const judge = new Deduplicator();
    return group.map((request, i) => judge.decide(request, pickRows(found[i], rows)));
  }

  #findFingerprints({ events, fingerprints }: AppendRequest): Map<number, readonly number[]> {
    const found = new Map<number, readonly number[]>();
    for (let position = 0; position < events.length; position++) {
      const seqs = this.#index.find(fingerprints[position * 2] ?? 0, fingerprints[position * 2 + 1] ?? 0);
      if (seqs.length > 0) found.set(position, seqs);
    }
    return found;
  }

  /** Commits the fresh events of all verdicts in one transaction, and enters them in the index. */
  async #write(decisions: AppendDecision[]): Promise<void> {
    const count = decisions.reduce((sum, decision) => sum + decision.fresh.length, 0);
    if (count === 0) return;
    const first_seq = this.#next_seq;
    const sums = hourSums(decisions);
    this.#next_seq += count;
    this.#hot_rows += count;
    const insert = async (): Promise<void> => {
      await appendRows(this.#connection, this.#hotTable(), decisions, first_seq);
      await appendHourSums(this.#connection, sums, this.#next_seq - 1);
      // Before the commit, which may reach the disk and fail all the same: an entry without a row is harmless, a
      // row without an entry would be stored twice.
      this.#enter(decisions, first_seq);
    };
    const rows = { first_seq, last_seq: this.#next_seq - 1, rows: count };
    await this.#engine.transact(this.#connection, "commit", insert, rows);
  }

  #hotTable(): HotTable {
    return HOT_TABLES[this.#hot] ?? HOT_TABLES[0];
  }

  #enter(decisions: AppendDecision[], first_seq: number): void {
    let seq = first_seq;
    for (const { request, fresh } of decisions) {
      for (const position of fresh) {
        const high = request.fingerprints[position * 2] ?? 0;
        this.#index.add(high, request.fingerprints[position * 2 + 1] ?? 0, seq++);
      }
    }
  }
}

/** How long callers wait to be told what became of a failed commit. */
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
    "Cannot tell yet whether the events are stored: send them again with the same ids, by which none counts twice";
  return unavailable(message, 5, cause);
}

function answer({ request, fresh, duplicates, refusal }: AppendDecision): void {
  if (refusal === undefined) request.resolve({ accepted: fresh.length, duplicates });
  else request.reject(refusal);
}

function candidatesOf(
  { company_id, events }: AppendRequest,
  found: ReadonlyMap<number, readonly number[]> | undefined,
): Candidate[] {
  return [...(found ?? [])].flatMap(([position, seqs]) => {
    const event = events[position];
    const timestamp = event?.timestamp_given === true ? event.timestamp : undefined;
    return seqs.map((seq) => ({ company_id, seq, timestamp }));
  });
}

function pickRows(
  found: ReadonlyMap<number, readonly number[]> | undefined,
  rows: ReadonlyMap<number, StoredRow>,
): Map<number, StoredRow[]> {
  const picked = new Map<number, StoredRow[]>();
  for (const [position, seqs] of found ?? []) {
    picked.set(
      position,
      seqs.flatMap((seq) => rows.get(seq) ?? []),
    );
  }
  return picked;
}
