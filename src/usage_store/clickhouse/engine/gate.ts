import { AppError } from "../../../core/errors.ts";
import { closedError } from "../../query/closed_error.ts";
import { FairQueue, type QueueLimits, type QueueMember } from "../../query/fair_queue.ts";
import type { Bounds } from "./engine.ts";

/** How many questions are under way at once, and how many may wait. */
export interface GateLimits extends QueueLimits {
  running: number;
}

interface Waiting {
  resolve(): void;
  reject(error: unknown): void;
}

/** Lets so many questions be asked at once; companies take turns. */
export class Gate {
  readonly #turns: FairQueue<Waiting>;
  readonly #closing = new AbortController();
  #free: number;

  constructor({ running, ...limits }: GateLimits) {
    this.#free = running;
    this.#turns = new FairQueue(limits);
  }

  /** How many wait. */
  get waiting(): number {
    return this.#turns.size;
  }

  /**
   * Asks for a company. Errors: rate_limited when too many wait already; unavailable past `timeout_ms`, waiting included,
   * and after close; the reason of `signal`, which ends it.
   */
  async run<T>(
    member: QueueMember,
    { timeout_ms, signal }: Bounds,
    ask: (bounds: Bounds) => Promise<T>,
  ): Promise<T> {
    const began_ms = performance.now();
    if (this.#closing.signal.aborted) throw closedError();
    const stop =
      signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    await this.#enter(member, timeout_ms, stop);
    try {
      const left_ms = timeout_ms - (performance.now() - began_ms);
      const answer = await ask({ timeout_ms: Math.max(left_ms, 0), signal: stop });
      stop.throwIfAborted();
      return answer;
    } catch (error) {
      stop.throwIfAborted();
      throw error;
    } finally {
      this.#leave(member);
    }
  }

  /** Ends what is asked, and refuses all else. */
  close(): void {
    this.#closing.abort(closedError());
    for (const waiting of this.#turns.clear()) waiting.reject(closedError());
  }

  async #enter(member: QueueMember, timeout_ms: number, stop: AbortSignal): Promise<void> {
    stop.throwIfAborted();
    if (this.#free > 0 && this.#turns.mayStart(member)) {
      this.#free--;
      this.#turns.start(member);
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { resolve, reject };
    if (!this.#turns.wait(member, waiting))
      throw new AppError("rate_limited", "Cannot query usage: too many queries wait already", {
        retry_after_s: 1,
      });
    const give = (reason: unknown): void => {
      this.#turns.leave(member, waiting);
      reject(reason);
    };
    const late = new AppError("unavailable", `Cannot query usage: it waited over ${timeout_ms} ms`, {
      retry_after_s: 1,
    });
    const timer = setTimeout(() => give(late), timeout_ms);
    const onAbort = (): void => give(stop.reason);
    stop.addEventListener("abort", onAbort);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      stop.removeEventListener("abort", onAbort);
    }
  }

  #leave(member: QueueMember): void {
    const next = this.#turns.finish(member);
    if (next === undefined) this.#free++;
    else next.resolve();
  }
}
