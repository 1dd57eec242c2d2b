import type { LoginGuard } from "../../app/credentials.ts";
import type { Config } from "../../core/config.ts";
import { AppError } from "../../core/errors.ts";
import { RateLimiter } from "../../core/rate_limiter.ts";
import { LIMITS } from "../limits.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { networkOf } from "../../core/network.ts";
import type { Clock } from "../../core/time.ts";

export function openLoginGuard({ rate_limit_enabled, rate_limit_login }: Config, clock: Clock): LoginGuard {
  if (!rate_limit_enabled) return { attempt: ({ names }, verify) => fitting(names, verify) };
  const pairs = new Gates(new RateLimiter(rate_limit_login));
  const networks = new Gates(new RateLimiter(rate_limit_login * LIMITS.login_names_network));
  const account_failures = rate_limit_login * LIMITS.login_networks_account;
  const accounts = new Gates(new RateLimiter(account_failures, LIMITS.login_account_window_s));
  const known_pairs = new KnownPairs();
  return {
    async attempt({ address, names, is_password }, verify) {
      const network = networkOf(address);
      const paths = names.map((name) => {
        const pair = `${network} ${name}`;
        const path = new Path(name, pair, [[pairs, pair]]);
        if (is_password && !known_pairs.has(pair)) path.gates.push([accounts, name]);
        return path;
      });
      const network_path = new Path("", network, [[networks, network]]);
      const open = await enterAll(network_path, paths, clock);
      try {
        const tried = await fitting(names, verify);
        const fits = tried.filter((name) => open.some((path) => path.name === name));
        for (const path of open) {
          if (fits.includes(path.name)) known_pairs.add(path.pair);
          else path.fail(clock.now());
        }
        if (fits.length === 0) network_path.fail(clock.now());
        return fits;
      } finally {
        for (const path of [network_path, ...open]) path.leave();
      }
    },
  };
}

/** The names that the secret fits. All are verified at once: one by one would reveal how many there are. */
async function fitting(
  names: readonly string[],
  verify: (name: string) => Promise<boolean>,
): Promise<string[]> {
  const fits = await Promise.all(names.map(verify));
  return names.filter((_, i) => fits[i]);
}

/** The limits that one name is tried under. */
class Path {
  readonly name: string;
  readonly pair: string;
  readonly gates: [Gates, string][];

  constructor(name: string, pair: string, gates: [Gates, string][]) {
    this.name = name;
    this.pair = pair;
    this.gates = gates;
  }

  /** The first gate without a free place. Errors: rate_limited past a limit. */
  fullGate(now: Temporal.Instant): [Gates, string] | undefined {
    // All are checked: past one limit there is no waiting at another.
    const [full] = this.gates.filter(([gate, key]) => !gate.hasPlace(key, now));
    return full;
  }

  enter(): void {
    for (const [gate, key] of this.gates) gate.enter(key);
  }

  fail(now: Temporal.Instant): void {
    for (const [gate, key] of this.gates) gate.fail(key, now);
  }

  leave(): void {
    for (const [gate, key] of this.gates) gate.leave(key);
  }
}

/** Enters every path within its limits, once all have a place. Errors: rate_limited when there is none. */
async function enterAll(network_path: Path, paths: readonly Path[], clock: Clock): Promise<Path[]> {
  for (;;) {
    // Checked again after each wait, at the current time.
    const now = clock.now();
    let refusal: unknown;
    let full = network_path.fullGate(now);
    const open = paths.filter((path) => {
      try {
        const gate = path.fullGate(now);
        full ??= gate;
        return true;
      } catch (error) {
        refusal = error;
        return false;
      }
    });
    if (open.length === 0) throw refusal;
    if (full) {
      await full[0].wait(full[1]);
      continue;
    }
    for (const path of [network_path, ...open]) path.enter();
    return open;
  }
}

/** Admits as many attempts of a key as may still fail; others wait. */
class Gates {
  readonly #limiter: RateLimiter;
  readonly #inside = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(limiter: RateLimiter) {
    this.#limiter = limiter;
  }

  /** Whether another attempt may enter. Errors: rate_limited past the limit. */
  hasPlace(key: string, now: Temporal.Instant): boolean {
    return (this.#inside.get(key) ?? 0) < this.#limiter.check(key, now);
  }

  /** Resolves when an attempt leaves. Errors: rate_limited when too many wait. */
  wait(key: string): Promise<void> {
    const waiting = this.#waiting.get(key) ?? [];
    if (waiting.length >= SHARED_LIMITS.password_hashes_waiting) {
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

/** The latest pairs of network and account that have signed in. */
class KnownPairs {
  readonly #pairs = new Set<string>();

  has(pair: string): boolean {
    return this.#pairs.has(pair);
  }

  add(pair: string): void {
    this.#pairs.delete(pair);
    this.#pairs.add(pair);
    const oldest = this.#pairs.values().next().value;
    if (this.#pairs.size > SHARED_LIMITS.rate_limit_buckets && oldest !== undefined)
      this.#pairs.delete(oldest);
  }
}
