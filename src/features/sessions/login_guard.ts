import type { Config } from "../../core/config.ts";
import { MinuteLimiter } from "../../core/limiter.ts";

/** One address may fail for this many times as many emails as for a single one. */
const EMAILS_PER_ADDRESS = 20;

/** Slows down guessing: counts failed sign-ins by address and email, and by address alone. */
export interface LoginGuard {
  /**
   * Counts an attempt as failed until it is forgiven: attempts made at once must not all slip through before
   * the first one is known to fail. Errors: rate_limited.
   */
  attempt(address: string | null, email: string, now: Temporal.Instant): void;
  forgive(address: string | null, email: string, now: Temporal.Instant): void;
}

export function openLoginGuard({ rate_limit_enabled, rate_limit_login }: Config): LoginGuard {
  if (!rate_limit_enabled) return { attempt: () => undefined, forgive: () => undefined };
  const pairs = new MinuteLimiter(rate_limit_login);
  const addresses = new MinuteLimiter(rate_limit_login * EMAILS_PER_ADDRESS);
  return {
    attempt(address, email, now) {
      pairs.check(`${address} ${email}`, now);
      addresses.take(`${address}`, now);
      pairs.take(`${address} ${email}`, now);
    },
    forgive(address, email, now) {
      pairs.giveBack(`${address} ${email}`, now);
      addresses.giveBack(`${address}`, now);
    },
  };
}
