import { PREPARED_MS } from "./limits.ts";
import type { Monotonic } from "./tenure.ts";

/** What is known of a lane: all that was stored up to a commit. */
export interface LaneKnowledge {
  /** Reads what was stored since. Errors: it is of no more use. */
  readOn(): Promise<void>;
}

interface Prepared<Knowledge> {
  knowledge: Promise<Knowledge>;
  abort: AbortController;
}

/**
 * What is read of lanes before they are taken, so that they have no owner for a moment only: of one lane at a time, and
 * for a minute. A head start alone: who takes a lane reads on after the epochs before are closed. Decision 0377.
 */
export class PreparedLanes<Knowledge extends LaneKnowledge> {
  readonly #read: (lane: number, signal?: AbortSignal) => Promise<Knowledge>;
  readonly #clock: Monotonic;
  readonly #prepared = new Map<number, Prepared<Knowledge>>();
  /** Resolves when nothing is being read. */
  #turn: Promise<unknown> = Promise.resolve();
  #is_over = false;

  constructor(read: (lane: number, signal?: AbortSignal) => Promise<Knowledge>, clock: Monotonic) {
    this.#read = read;
    this.#clock = clock;
  }

  /** Resolves when nearly all of a lane is read. Errors: it could not be read, or nothing is any more. */
  prepare(lane: number): Promise<void> {
    const prepared = this.#turn.then(() => this.#prepare(lane));
    this.#turn = prepared.catch(() => undefined);
    return prepared;
  }

  async #prepare(lane: number): Promise<void> {
    if (this.#is_over) throw endedError();
    if (this.has(lane)) return;
    const abort = new AbortController();
    const prepared = { abort, knowledge: this.#readTwice(lane, abort.signal) };
    this.#prepared.set(lane, prepared);
    try {
      await prepared.knowledge;
    } catch (error) {
      this.#drop(lane, prepared);
      throw error;
    }
    void this.#clock.sleep(PREPARED_MS).then(() => this.#drop(lane, prepared));
  }

  /** Reading takes so long that much may be stored meanwhile. */
  async #readTwice(lane: number, signal: AbortSignal): Promise<Knowledge> {
    const knowledge = await this.#read(lane, signal);
    await knowledge.readOn();
    return knowledge;
  }

  #drop(lane: number, prepared: Prepared<Knowledge>): void {
    if (this.#prepared.get(lane) === prepared) this.#prepared.delete(lane);
  }

  /** Whether a lane is read, or being read. */
  has(lane: number): boolean {
    return this.#prepared.has(lane);
  }

  /** All that is stored in a lane whose earlier epochs are closed. Errors: those of reading. */
  async take(lane: number): Promise<Knowledge> {
    const prepared = this.#prepared.get(lane);
    this.#prepared.delete(lane);
    if (prepared === undefined) return this.#read(lane);
    const knowledge = await prepared.knowledge;
    await knowledge.readOn();
    return knowledge;
  }

  /** Reads and keeps no more, but for lanes that are being taken. */
  end(): void {
    this.#is_over = true;
    for (const { abort } of this.#prepared.values()) abort.abort(endedError());
    this.#prepared.clear();
  }
}

function endedError(): Error {
  return new Error("No lane is prepared any more: the process ends");
}
