import { AppError } from "../../../core/errors.ts";
import { type AppendRequest, type PreparedAppend, prepareAppend } from "../../append/append_request.ts";
import { feedTotals } from "../../append/feed_totals.ts";
import type { SipHash } from "../../index/siphash.ts";
import { commitEvents, commitSeconds } from "../../metrics.ts";
import type { AppendResult, LoadResult } from "../../port.ts";
import type { TotalsKeeper } from "../../running/keeper.ts";
import type { ClickHouse } from "../engine/engine.ts";
import type { LaneService } from "../lanes/lane_keeper.ts";
import { LaneLostError, type Monotonic, type Tenure } from "../lanes/tenure.ts";
import type { PassedEvents } from "../owner_calls.ts";
import { encodeEvents, encodeNothing, MARK } from "./event_rows.ts";
import type { LaneIds } from "./lane_ids.ts";
import { LaneWriter, type LaneWriterLimits } from "./lane_writer.ts";
import { storedRows } from "./stored_rows.ts";

/** What a lane is served by. */
export interface OwnedLaneParts {
  engine: ClickHouse;
  tenure: Tenure<Uint8Array>;
  ids: LaneIds;
  hash: SipHash;
  totals: TotalsKeeper;
  clock: Monotonic;
  limits: LaneWriterLimits;
  /** Why a request can't be stored, whatever is stored. */
  check: (request: AppendRequest) => AppError | undefined;
  onFailure: (error: unknown) => void;
  /** Called when the lane is served no more: another process may store from here on. */
  onEnd: () => void;
}

/** A lane that this process owns: its events are stored here, and nowhere else. */
export class OwnedLane implements LaneService {
  readonly ids: LaneIds;
  readonly #parts: OwnedLaneParts;
  readonly #writer: LaneWriter<Uint8Array>;

  constructor(parts: OwnedLaneParts) {
    const { tenure, ids, totals, clock, engine, check } = parts;
    this.#parts = parts;
    this.ids = ids;
    this.#writer = new LaneWriter(
      {
        tenure,
        index: ids,
        clock,
        check,
        findRows: storedRows(engine),
        encode: (decisions, seq) => encodeEvents(decisions, tenure.lane, seq),
        onStored(decisions, seq, began_ms) {
          commitSeconds.observe((clock.now() - began_ms) / 1_000);
          commitEvents.observe(decisions.reduce((sum, { fresh }) => sum + fresh.length, 0));
          feedTotals(totals, decisions, seq);
        },
        refusal: (cause) => {
          parts.onFailure(cause);
          return unknownError(cause);
        },
      },
      parts.limits,
    );
  }

  get pending_events(): number {
    return this.#writer.pending_events;
  }

  /** Whether nobody else can have owned the lane until now. */
  isOwned(): Promise<boolean> {
    return this.#parts.tenure.confirm().then(
      () => true,
      () => false,
    );
  }

  /** Errors: as `UsageStore.append`; unavailable while the lane moves to another owner. */
  append(prepared: PreparedAppend): Promise<AppendResult> {
    return this.#writer.append(prepared);
  }

  exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#writer.exclusive(work);
  }

  /** Stores a commit of no events between two others, and resolves with its number. Errors: MovedError. */
  mark(): Promise<number> {
    const { tenure } = this.#parts;
    return this.exclusive(() =>
      tenure.commit((seq) => encodeNothing(MARK, tenure.lane, seq)).catch(throwMoved),
    );
  }

  /** Resolves when what was admitted before is stored or is not, if the lane is still this process's. Errors: MovedError. */
  confirm(): Promise<void> {
    return this.exclusive(() => this.#parts.tenure.confirm().catch(throwMoved));
  }

  async close(): Promise<void> {
    await this.#writer.close(movedError());
    this.#parts.onEnd();
  }

  async abandon(): Promise<void> {
    this.#parts.onEnd();
    await this.#writer.abandon(movedError());
  }

  /** As `UsageStore.load`: each event is an append of its own, so that one that can't be stored spoils no other. */
  async load({ company_id, events, now_ms }: PassedEvents): Promise<LoadResult> {
    const { hash } = this.#parts;
    const stored = await Promise.allSettled(
      events.map((event) => this.append(prepareAppend(company_id, [event], now_ms, hash))),
    );
    const result: LoadResult = { accepted: 0, duplicates: 0, left: [] };
    for (const [position, settled] of stored.entries()) {
      if (settled.status === "fulfilled") {
        result.accepted += settled.value.accepted;
        result.duplicates += settled.value.duplicates;
      } else if (settled.reason instanceof AppError && settled.reason.kind === "conflict") {
        result.left.push(position);
      } else throw settled.reason;
    }
    return result;
  }
}

/** The lane is no longer served here: nothing of the call is stored, or it is not known whether it is. */
export class MovedError extends AppError {
  override name = "MovedError";
}

function movedError(cause?: unknown): MovedError {
  const message = "Cannot store events now: they are about to be stored by another instance; send them again";
  return new MovedError("unavailable", message, { retry_after_s: 1, cause });
}

/** Errors: always throws, MovedError where the lane was lost. */
function throwMoved(error: unknown): never {
  throw error instanceof LaneLostError ? movedError(error) : error;
}

function unknownError(cause: unknown): AppError {
  const message =
    "It is not known yet whether the events are stored: send them again with the same ids, so that none counts twice";
  return new AppError("unavailable", message, { retry_after_s: 1, cause });
}
