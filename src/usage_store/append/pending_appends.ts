import { AppError } from "../../core/errors.ts";
import type { AppendResult } from "../port.ts";
import type { AppendRequest, PreparedAppend } from "./append_request.ts";

/** The bounds of group commit that do not depend on the engine. */
export interface PendingLimits {
  /** A group with this many events takes no further request. */
  group_events: number;
  /** Events that may be pending: waiting or in a commit. */
  pending_events: number;
}

/** The appends that wait for their commit, in the order of their coming. */
export class PendingAppends {
  readonly #limits: PendingLimits;
  #queue: AppendRequest[] = [];
  #queued_events = 0;
  #pending_events = 0;

  constructor(limits: PendingLimits) {
    this.#limits = limits;
  }

  /** How many requests wait. */
  get requests(): number {
    return this.#queue.length;
  }

  /** How many events wait. */
  get queued_events(): number {
    return this.#queued_events;
  }

  /** Events whose commit is under way or waited for. */
  get pending_events(): number {
    return this.#pending_events;
  }

  /** Queues an append; the result settles with its commit. Errors: too_large, unavailable. */
  async add(prepared: PreparedAppend, onQueued: () => void): Promise<AppendResult> {
    const count = prepared.events.length;
    const { pending_events } = this.#limits;
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
    onQueued();
    try {
      return await promise;
    } finally {
      this.#pending_events -= count;
    }
  }

  /** Takes the requests of the next commit. */
  takeGroup(): AppendRequest[] {
    let [requests, events] = [0, 0];
    for (const request of this.#queue) {
      if (events >= this.#limits.group_events) break;
      events += request.events.length;
      requests++;
    }
    this.#queued_events -= events;
    return this.#queue.splice(0, requests);
  }

  /** Rejects all that wait. */
  rejectAll(reason: Error): void {
    this.#queued_events = 0;
    for (const request of this.#queue.splice(0)) request.reject(reason);
  }
}
