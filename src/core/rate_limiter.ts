import { SHARED_LIMITS } from "./limits.ts";
import { AppError } from "./errors.ts";

/** A window is cut into so many slots; a slot's events count until the window after the last of them has passed. */
const SLOTS = 60;

interface Bucket {
  /** Events by slot, the oldest first. */
  slots: { slot: number; last_ms: number; count: number }[];
  total: number;
}

/** What other instances have counted of a key, and when the first of that counts no more. */
export interface Elsewhere {
  readonly count: number;
  readonly free_at_ms: number;
}

export const NOWHERE_ELSE: Elsewhere = { count: 0, free_at_ms: Number.POSITIVE_INFINITY };

/**
 * A sliding-window rate limiter, in memory: no window, wherever it begins, holds more than `limit` events of a key.
 * Bounded: when too many keys are live the one that was used least recently is forgotten, which errs on the side
 * of letting callers in.
 */
export class RateLimiter {
  readonly #limit: () => number;
  readonly #window_ms: number;
  readonly #slot_ms: number;
  readonly #buckets = new Map<string, Bucket>();

  /** `limit`: a number, or what it is at the time of each question. */
  constructor(limit: number | (() => number), window_s = 60) {
    this.#limit = typeof limit === "number" ? () => limit : limit;
    this.#window_ms = window_s * 1_000;
    this.#slot_ms = this.#window_ms / SLOTS;
  }

  /** Takes one of the key's places. Errors: rate_limited with the seconds until one is free. */
  consume(key: string, now: Temporal.Instant): void {
    this.check(key, now);
    this.add(key, now);
  }

  /** Counts what has happened already. */
  add(key: string, now: Temporal.Instant): void {
    const bucket = this.#current(key, now) ?? { slots: [], total: 0 };
    const newest = bucket.slots.at(-1);
    // A caller that waited comes with an older time: it counts with the newest, and sets nothing back.
    const last_ms = Math.max(now.epochMilliseconds, newest?.last_ms ?? 0);
    const slot = this.#slotOf(last_ms);
    if (newest?.slot === slot) Object.assign(newest, { last_ms, count: newest.count + 1 });
    else bucket.slots.push({ slot, last_ms, count: 1 });
    bucket.total++;
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    const oldest = this.#buckets.keys().next().value;
    if (this.#buckets.size > SHARED_LIMITS.rate_limit_buckets && oldest !== undefined)
      this.#buckets.delete(oldest);
  }

  /** How many places the key has left, at least one, without taking any. Errors: rate_limited. */
  check(key: string, now: Temporal.Instant, elsewhere = NOWHERE_ELSE): number {
    const bucket = this.#current(key, now);
    const left = this.#limit() - (bucket?.total ?? 0) - elsewhere.count;
    const oldest_ms = bucket?.slots[0]?.last_ms ?? Number.POSITIVE_INFINITY;
    const free_at_ms = Math.min(oldest_ms + this.#window_ms, elsewhere.free_at_ms);
    if (left > 0 || free_at_ms === Number.POSITIVE_INFINITY) return left;
    const retry_after_s = Math.max(1, Math.ceil((free_at_ms - now.epochMilliseconds) / 1_000));
    throw new AppError("rate_limited", `Too many requests: try again in ${retry_after_s} s`, {
      retry_after_s,
    });
  }

  /** What is still counted of a key. */
  #current(key: string, now: Temporal.Instant): Bucket | undefined {
    const bucket = this.#buckets.get(key);
    if (!bucket) return undefined;
    const now_ms = now.epochMilliseconds;
    this.#followClock(bucket, now_ms);
    const gone_ms = now_ms - this.#window_ms;
    for (let first = bucket.slots[0]; first && first.last_ms <= gone_ms; first = bucket.slots[0]) {
      bucket.total -= first.count;
      bucket.slots.shift();
    }
    if (bucket.slots.length > 0) return bucket;
    this.#buckets.delete(key);
    return undefined;
  }

  /** When the machine's clock was set back by more than a window, what was counted counts from now. */
  #followClock(bucket: Bucket, now_ms: number): void {
    const newest = bucket.slots.at(-1);
    if (!newest || newest.last_ms <= now_ms + this.#window_ms) return;
    bucket.slots = [{ slot: this.#slotOf(now_ms), last_ms: now_ms, count: bucket.total }];
  }

  #slotOf(ms: number): number {
    return Math.floor(ms / this.#slot_ms);
  }
}
