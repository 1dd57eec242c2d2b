import type { AppError } from "../../../core/errors.ts";
import { type AppendRequest, FINGERPRINT, type PreparedAppend, WORDS } from "../../append/append_request.ts";
import {
  type AppendDecision,
  decideGroup,
  type FindRows,
  type KnownFingerprints,
  settle,
} from "../../append/deduplicate.ts";
import { PendingAppends, type PendingLimits } from "../../append/pending_appends.ts";
import type { AppendResult } from "../../port.ts";
import type { Monotonic, Tenure } from "../lanes/tenure.ts";

/** The bounds of a lane's group commit. */
export interface LaneWriterLimits extends PendingLimits {
  /** How long a first append waits for others to share its commit. */
  group_ms: number;
  /** How long a lane rests after a commit, unless a whole group waits: each commit is a part that is merged later. */
  restMs: () => number;
}

/** The index of a lane's ids. */
export interface LaneIndex extends KnownFingerprints {
  /** Adds a fingerprint of an event at this time. */
  addEvent(high: number, low: number, timestamp: number): void;
}

/** What a lane's writer works with. */
export interface LaneWriterParts<Block> {
  tenure: Tenure<Block>;
  index: LaneIndex;
  clock: Monotonic;
  /** Why a request can't be stored, whatever is stored; looked at when its commit begins. */
  check: (request: AppendRequest) => AppError | undefined;
  findRows: FindRows;
  /** Makes the block of the new events of all decisions, numbered `seq`. */
  encode: (decisions: readonly AppendDecision[], seq: number) => Block;
  /** Called in the turn in which a commit is known to be stored, before anybody hears of it. */
  onStored: (decisions: readonly AppendDecision[], seq: number, began_ms: number) => void;
  /** The error of appends of which it is not known whether they are stored, or that can't be stored now. */
  refusal: (cause: unknown) => AppError;
}

/** Group commit of a lane: one at a time, by the process that owns the lane. */
export class LaneWriter<Block> {
  readonly #parts: LaneWriterParts<Block>;
  readonly #limits: LaneWriterLimits;
  readonly #queue: PendingAppends;
  #exclusive: (() => Promise<void>)[] = [];
  #wake = Promise.withResolvers<void>();
  #refusal: Error | undefined;
  readonly #ended: Promise<void>;

  constructor(parts: LaneWriterParts<Block>, limits: LaneWriterLimits) {
    this.#parts = parts;
    this.#limits = limits;
    this.#queue = new PendingAppends(limits);
    this.#ended = this.#run();
  }

  /** Resolves after the commit. Errors: as `UsageStore.append`. */
  async append(prepared: PreparedAppend): Promise<AppendResult> {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (prepared.events.length === 0) return { accepted: 0, duplicates: 0 };
    return this.#queue.add(prepared, () => this.#wake.resolve());
  }

  /** Runs `work` between two commits. Errors: those of `work`. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#exclusive.push(async () => {
      await work().then(resolve, reject);
    });
    this.#wake.resolve();
    return promise;
  }

  /** Events whose commit is under way or waited for. */
  get pending_events(): number {
    return this.#queue.pending_events;
  }

  /** Refuses new appends, and resolves when those queued are done. */
  async close(refusal: Error): Promise<void> {
    this.#refusal ??= refusal;
    this.#wake.resolve();
    await this.#ended;
  }

  /** As `close`, refusing those queued too: the lane is lost. */
  async abandon(refusal: Error): Promise<void> {
    this.#refusal ??= refusal;
    this.#queue.rejectAll(refusal);
    await this.close(refusal);
  }

  async #run(): Promise<void> {
    for (;;) {
      const exclusive = this.#exclusive.shift();
      if (exclusive !== undefined) await exclusive();
      else if (this.#queue.requests > 0) {
        await this.#waitForMore(this.#limits.group_ms);
        await this.#commitGroup();
        await this.#waitForMore(this.#limits.restMs());
      } else if (this.#refusal !== undefined) return;
      else {
        await this.#wake.promise;
        this.#wake = Promise.withResolvers();
      }
    }
  }

  /** Waits for so long, unless a whole group waits, or somebody for the appends to end. */
  async #waitForMore(ms: number): Promise<void> {
    const waited = this.#parts.clock.sleep(ms).then(() => "over" as const);
    while (!this.#isUrgent) {
      const ended_by = await Promise.race([waited, this.#wake.promise]);
      this.#wake = Promise.withResolvers();
      if (ended_by === "over") return;
    }
  }

  get #isUrgent(): boolean {
    const is_full = this.#queue.queued_events >= this.#limits.group_events;
    return is_full || this.#exclusive.length > 0 || this.#refusal !== undefined;
  }

  /** Commits a group and settles its requests; never throws. */
  async #commitGroup(): Promise<void> {
    const { tenure, index, clock, check, findRows, encode, onStored, refusal } = this.#parts;
    const began_ms = clock.now();
    const group = this.#queue.takeGroup().filter((request) => {
      const problem = check(request);
      if (problem !== undefined) request.reject(problem);
      return problem === undefined;
    });
    try {
      const decisions = await decideGroup(group, index, findRows);
      if (decisions.some(({ fresh }) => fresh.length > 0)) {
        const seq = await tenure.commit((number) => encode(decisions, number));
        this.#addToIndex(decisions);
        onStored(decisions, seq, began_ms);
      } else {
        // Another owner may have stored what this index does not know.
        await tenure.confirm();
      }
      for (const decision of decisions) settle(decision);
    } catch (cause) {
      const error = refusal(cause);
      for (const request of group) request.reject(error);
    }
  }

  #addToIndex(decisions: readonly AppendDecision[]): void {
    for (const { request, fresh } of decisions) {
      for (const position of fresh) {
        const at = position * WORDS + FINGERPRINT;
        const { timestamp = 0 } = request.events[position] ?? {};
        this.#parts.index.addEvent(request.words[at] ?? 0, request.words[at + 1] ?? 0, timestamp);
      }
    }
  }
}
