import { LIMITS } from "./limits.ts";
import { AppError } from "./errors.ts";

/**
 * Counts events by key in windows of a minute, in memory. Bounded: when too many keys are live the oldest
 * are forgotten, which errs on the side of letting callers in.
 */
export class MinuteLimiter {
  readonly #limit: number;
  readonly #buckets = new Map<string, { minute: number; count: number }>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes one of the key's places in this minute. Errors: rate_limited with the seconds until the next one. */
  take(key: string, now: Temporal.Instant): void {
    this.check(key, now);
    this.add(key, now);
  }

  /** Counts what has happened already. */
  add(key: string, now: Temporal.Instant): void {
    this.#bucket(key, now).count++;
  }

  /** How many places the key has left, at least one, without taking any. Errors: rate_limited. */
  check(key: string, now: Temporal.Instant): number {
    const left = this.#limit - this.#bucket(key, now).count;
    if (left > 0) return left;
    const retry_after_s = 60 - Math.floor((now.epochMilliseconds % 60_000) / 1_000);
    throw new AppError("rate_limited", `Too many requests: try again in ${retry_after_s} s`, {
      retry_after_s,
    });
  }

  #bucket(key: string, now: Temporal.Instant): { minute: number; count: number } {
    const minute = Math.floor(now.epochMilliseconds / 60_000);
    let bucket = this.#buckets.get(key);
    if (bucket?.minute !== minute) {
      bucket = { minute, count: 0 };
      this.#buckets.delete(key);
      this.#buckets.set(key, bucket);
      const oldest = this.#buckets.keys().next().value;
      if (this.#buckets.size > LIMITS.rate_limit_buckets && oldest !== undefined)
        this.#buckets.delete(oldest);
    }
    return bucket;
  }
}
