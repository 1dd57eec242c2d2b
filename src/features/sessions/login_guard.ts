import type { Config } from "../../core/config.ts";
import { LIMITS } from "../../core/limits.ts";
import { AppError } from "../../core/errors.ts";
import { MinuteLimiter } from "../../core/limiter.ts";

/** One address may fail for this many times as many names as for a single one. */
const NAMES_PER_ADDRESS = 20;

/**
 * Slows down guessing: counts failed sign-ins by address and name (an email, a clientId), and by address alone.
 */
export interface LoginGuard {
  /**
   * Verifies a password or a secret and answers what `verify` says. No more verifications run at once than may still
   * fail: the others wait for them, so that guesses made at once do not slip through, and right ones
   * are never refused for being many. Errors: rate_limited.
   */
  attempt(
    address: string | null,
    name: string,
    now: Temporal.Instant,
    verify: () => Promise<boolean>,
  ): Promise<boolean>;
}

export function openLoginGuard({ rate_limit_enabled, rate_limit_login }: Config): LoginGuard {
  if (!rate_limit_enabled) return { attempt: (_address, _name, _now, verify) => verify() };
  const pairs = new MinuteLimiter(rate_limit_login);
  const addresses = new MinuteLimiter(rate_limit_login * NAMES_PER_ADDRESS);
  const gates = new Gates();
  return {
    async attempt(address, name, now, verify) {
      const pair = `${address} ${name}`;
      const check = () => {
        addresses.check(`${address}`, now);
        return pairs.check(pair, now);
      };
      await gates.enter(pair, check);
      try {
        const fits = await verify();
        if (!fits) {
          pairs.add(pair, now);
          addresses.add(`${address}`, now);
        }
        return fits;
      } finally {
        gates.leave(pair);
      }
    },
  };
}

interface Gate {
  callers: number;
  inside: number;
  waiting: (() => void)[];
}

/** Lets callers of one key in while there are places for all that are inside; the others wait. */
class Gates {
  readonly #gates = new Map<string, Gate>();

  /** `places` answers how many may be inside, or throws for who must not wait either. */
  async enter(key: string, places: () => number): Promise<void> {
    const gate = this.#gates.get(key) ?? { callers: 0, inside: 0, waiting: [] };
    this.#gates.set(key, gate);
    gate.callers++;
    try {
      while (gate.inside >= places()) {
        if (gate.waiting.length >= LIMITS.password_hashes_waiting) {
          throw new AppError("rate_limited", "Too many sign-ins at once: try again", { retry_after_s: 5 });
        }
        await new Promise<void>((resume) => gate.waiting.push(resume));
      }
      gate.inside++;
    } catch (error) {
      this.#forget(key, gate);
      throw error;
    }
  }

  leave(key: string): void {
    const gate = this.#gates.get(key);
    if (!gate) return;
    gate.inside--;
    for (const resume of gate.waiting.splice(0)) resume();
    this.#forget(key, gate);
  }

  /** A gate goes with the last of its callers, inside or waiting. */
  #forget(key: string, gate: Gate): void {
    gate.callers--;
    if (gate.callers === 0) this.#gates.delete(key);
  }
}
