import type { Config } from "../../core/config.ts";
import { AppError } from "../../core/errors.ts";
import { RateLimiter } from "../../core/limiter.ts";
import { LIMITS } from "../../core/limits.ts";
import { networkOf } from "../../core/network.ts";
import type { Clock } from "../../core/time.ts";

/** Whose credentials are tried, and from where. */
export interface Attempt {
  address: string | null;
  /** An email or a clientId. */
  name: string;
  /**
   * Whether the secret was chosen by a person. A made-up one of 256 bits can't be guessed from many networks either,
   * so that nobody can lock a machine out by failing in its name.
   */
  is_password: boolean;
}

/** Slows down guessing: counts failed sign-ins by network and name, by network, and by name. Decision 0003. */
export interface LoginGuard {
  /**
   * Verifies a password or a secret and answers what `verify` says. No more verifications run at once than may still
   * fail: the others wait for them, so that guesses made at once do not slip through, and right ones
   * are never refused for being many. Errors: rate_limited.
   */
  attempt(attempt: Attempt, verify: () => Promise<boolean>): Promise<boolean>;
}

export function openLoginGuard({ rate_limit_enabled, rate_limit_login }: Config, clock: Clock): LoginGuard {
  if (!rate_limit_enabled) return { attempt: (_attempt, verify) => verify() };
  const pairs = new Gates(new RateLimiter(rate_limit_login));
  const networks = new Gates(new RateLimiter(rate_limit_login * LIMITS.login_names_network));
  const account_failures = rate_limit_login * LIMITS.login_networks_account;
  const accounts = new Gates(new RateLimiter(account_failures, LIMITS.login_account_window_s));
  const known = new KnownPairs();
  return {
    async attempt({ address, name, is_password }, verify) {
      const network = networkOf(address);
      const pair = `${network} ${name}`;
      const gates: [Gates, string][] = [
        [pairs, pair],
        [networks, network],
      ];
      if (is_password && !known.has(pair)) gates.push([accounts, name]);
      await enterAll(gates, clock);
      try {
        const fits = await verify();
        if (fits) known.add(pair);
        else for (const [gate, key] of gates) gate.fail(key, clock.now());
        return fits;
      } finally {
        for (const [gate, key] of gates) gate.leave(key);
      }
    },
  };
}

/** Enters all gates at once, when each has a place. Errors: rate_limited. */
async function enterAll(gates: readonly [Gates, string][], clock: Clock): Promise<void> {
  for (;;) {
    // Asked anew after each wait, by the time it is then; who is past a limit is told so and does not wait.
    const now = clock.now();
    const [full] = gates.filter(([gate, key]) => !gate.hasPlace(key, now));
    if (!full) break;
    await full[0].wait(full[1]);
  }
  for (const [gate, key] of gates) gate.enter(key);
}

/** Lets callers of one key in while there are places for all that are inside; the others wait. */
class Gates {
  readonly #limiter: RateLimiter;
  readonly #inside = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(limiter: RateLimiter) {
    this.#limiter = limiter;
  }

  /** Errors: rate_limited where even all that are inside could leave without making a place. */
  hasPlace(key: string, now: Temporal.Instant): boolean {
    return (this.#inside.get(key) ?? 0) < this.#limiter.check(key, now);
  }

  /** Until someone leaves. Errors: rate_limited when too many wait. */
  wait(key: string): Promise<void> {
    const waiting = this.#waiting.get(key) ?? [];
    if (waiting.length >= LIMITS.password_hashes_waiting) {
      throw new AppError("rate_limited", "Too many sign-ins at once: try again", { retry_after_s: 5 });
    }
    this.#waiting.set(key, waiting);
    return new Promise<void>((resume) => waiting.push(resume));
  }

  enter(key: string): void {
    this.#inside.set(key, (this.#inside.get(key) ?? 0) + 1);
  }

  fail(key: string, now: Temporal.Instant): void {
    this.#limiter.add(key, now);
  }

  leave(key: string): void {
    const inside = (this.#inside.get(key) ?? 0) - 1;
    if (inside > 0) this.#inside.set(key, inside);
    else this.#inside.delete(key);
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    for (const resume of waiting) resume();
  }
}

/** From which networks which accounts have signed in, the last ones. */
class KnownPairs {
  readonly #pairs = new Set<string>();

  has(pair: string): boolean {
    return this.#pairs.has(pair);
  }

  add(pair: string): void {
    this.#pairs.delete(pair);
    this.#pairs.add(pair);
    const oldest = this.#pairs.values().next().value;
    if (this.#pairs.size > LIMITS.rate_limit_buckets && oldest !== undefined) this.#pairs.delete(oldest);
  }
}
