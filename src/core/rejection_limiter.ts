import type { AppError, ErrorKind } from "./errors.ts";
import { SHARED_LIMITS } from "./limits.ts";
import { RateLimiter } from "./rate_limiter.ts";

/** Refusals of a request as such, whatever the records say. */
const COUNTED_KINDS: ReadonlySet<ErrorKind> = new Set([
  "malformed",
  "unauthorized",
  "timed_out",
  "too_large",
  "unsupported_media_type",
  "invalid",
]);

/** Limits rejected requests by sender, so that nobody makes the service read and reject without end. */
export class Refusals {
  readonly #is_on: boolean;
  readonly #limiter: RateLimiter;
  readonly #senders = new WeakMap<Request, string>();

  /** `shareOf`: how much of a limit is this instance's. */
  constructor({ rate_limit_enabled }: { rate_limit_enabled: boolean }, shareOf = (limit: number) => limit) {
    this.#is_on = rate_limit_enabled;
    const { refused_minute } = SHARED_LIMITS;
    this.#limiter = new RateLimiter(() => shareOf(refused_minute));
  }

  /** From here on the request counts against this sender, if it is refused. Errors: rate_limited. */
  watch(request: Request, sender: string, now: Temporal.Instant): void {
    if (!this.#is_on) return;
    this.#limiter.check(sender, now);
    this.#senders.set(request, sender);
  }

  /** Counts a request that was refused. */
  count(request: Request, { kind }: AppError, now: Temporal.Instant): void {
    const sender = this.#senders.get(request);
    if (sender === undefined || !COUNTED_KINDS.has(kind)) return;
    this.#senders.delete(request);
    this.#limiter.add(sender, now);
  }
}
