import type { LoginGuard } from "../../app/credentials.ts";
import type { Config } from "../../core/config.ts";
import { AppError } from "../../core/errors.ts";
import { type Elsewhere, NOWHERE_ELSE, RateLimiter } from "../../core/rate_limiter.ts";
import { LIMITS } from "../limits.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { networkOf } from "../../core/network.ts";
import type { Clock } from "../../core/time.ts";

/** What counts under one key, and for how long. */
export interface CountedKey {
  key: string;
  seconds: number;
}

/** Sign-ins that other instances have seen. Decision 0323. */
export interface SignInsElsewhere {
  /** How many instances there are, this one with them. */
  count(): number;
  /** What still counts there, by key. */
  read(keys: readonly string[]): Promise<ReadonlyMap<string, Elsewhere>>;
  /** Tells the others. */
  add(counted: readonly CountedKey[]): Promise<void>;
}

/** A process that has its database to itself asks nobody. */
export const NO_OTHER_SIGN_INS: SignInsElsewhere = {
  count: () => 1,
  read: async () => new Map(),
  add: async () => undefined,
};

/** Opens the guard of sign-ins. */
export function openLoginGuard(
  { rate_limit_enabled, rate_limit_login }: Pick<Config, "rate_limit_enabled" | "rate_limit_login">,
  clock: Clock,
  elsewhere: SignInsElsewhere = NO_OTHER_SIGN_INS,
): LoginGuard {
  if (!rate_limit_enabled) return { attempt: ({ names }, verify) => fitting(names, verify) };
  const count = elsewhere.count.bind(elsewhere);
  const pairs = new Gates("pair", { limit: rate_limit_login, count });
  const networks = new Gates("network", { limit: rate_limit_login * LIMITS.login_names_network, count });
  const accounts = new Gates("account", {
    limit: rate_limit_login * LIMITS.login_networks_account,
    seconds: LIMITS.login_account_window_s,
    count,
  });
  const known_pairs = new KnownPairs();
  return {
    async attempt({ address, names, is_password }, verify) {
      const network = networkOf(address);
      const paths = names.map((name) => {
        const pair = `${network} ${name}`;
        const may_be_unknown = is_password && !known_pairs.has(pair);
        return new Path(name, pair, [[pairs, pair]], may_be_unknown ? [accounts, name] : null);
      });
      const network_path = new Path("", network, [[networks, network]], null);
      const open = await enterAll(network_path, paths, { clock, elsewhere });
      try {
        const tried = await fitting(names, verify);
        const fits = tried.filter((name) => open.some((path) => path.name === name));
        const known = open.filter(({ name, pair }) => fits.includes(name) && !known_pairs.has(pair));
        const failed = open.filter(({ name }) => !fits.includes(name));
        if (fits.length === 0) failed.push(network_path);
        for (const { pair } of known) known_pairs.add(pair);
        // Counted here before anything is waited for: others wait to enter.
        const told = [
          ...known.map(({ known_key: key }) => ({ key, seconds: LIMITS.login_known_days * 86_400 })),
          ...failed.flatMap((path) => path.fail(clock.now())),
        ];
        if (told.length > 0) await elsewhere.add(told);
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

type Gate = [Gates, string];
type SeenElsewhere = ReadonlyMap<string, Elsewhere>;

/** The limits that one name is tried under. */
class Path {
  readonly name: string;
  readonly pair: string;
  /** Under which instances tell each other that the pair has signed in. */
  readonly known_key: string;
  readonly #gates: readonly Gate[];
  /** Counts for those alone who have not signed in from their network lately. */
  #stranger_gate: Gate | null;

  constructor(name: string, pair: string, gates: readonly Gate[], stranger_gate: Gate | null) {
    this.name = name;
    this.pair = pair;
    this.known_key = `known ${pair}`;
    this.#gates = gates;
    this.#stranger_gate = stranger_gate;
  }

  get gates(): readonly Gate[] {
    return this.#stranger_gate === null ? this.#gates : [...this.#gates, this.#stranger_gate];
  }

  /** What to ask other instances for. */
  get keys(): string[] {
    const keys = this.gates.map(([gate, key]) => gate.keyOf(key));
    return this.#stranger_gate === null ? keys : [...keys, this.known_key];
  }

  /** The first gate without a free place. Errors: rate_limited past a limit. */
  fullGate(now: Temporal.Instant, seen: SeenElsewhere): Gate | undefined {
    if (seen.has(this.known_key)) this.#stranger_gate = null;
    // All are checked: past one limit there is no waiting at another.
    const [full] = this.gates.filter(([gate, key]) => !gate.hasPlace(key, now, seen));
    return full;
  }

  enter(): void {
    for (const [gate, key] of this.gates) gate.enter(key);
  }

  fail(now: Temporal.Instant): CountedKey[] {
    return this.gates.map(([gate, key]) => gate.fail(key, now));
  }

  leave(): void {
    for (const [gate, key] of this.gates) gate.leave(key);
  }
}

/** Enters every path within its limits, once all have a place. Errors: rate_limited when there is none. */
async function enterAll(
  network_path: Path,
  paths: readonly Path[],
  { clock, elsewhere }: { clock: Clock; elsewhere: SignInsElsewhere },
): Promise<Path[]> {
  for (;;) {
    // Checked again after each wait, at the current time; from here on in one turn of the loop.
    const seen = await elsewhere.read([network_path, ...paths].flatMap(({ keys }) => keys));
    const now = clock.now();
    let refusal: unknown;
    let full = network_path.fullGate(now, seen);
    const open = paths.filter((path) => {
      try {
        const gate = path.fullGate(now, seen);
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
  readonly #kind: string;
  readonly #seconds: number;
  readonly #limiter: RateLimiter;
  readonly #count: () => number;
  readonly #inside = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(
    kind: string,
    { limit, seconds = 60, count }: { limit: number; seconds?: number; count: () => number },
  ) {
    this.#kind = kind;
    this.#seconds = seconds;
    this.#limiter = new RateLimiter(limit, seconds);
    this.#count = count;
  }

  /** By which other instances know a key of this kind. */
  keyOf(key: string): string {
    return `${this.#kind} ${key}`;
  }

  /**
   * Whether another attempt may enter. What may still fail is divided among the instances, each of which lets one in at
   * least. Errors: rate_limited past the limit.
   */
  hasPlace(key: string, now: Temporal.Instant, seen: SeenElsewhere): boolean {
    const left = this.#limiter.check(key, now, seen.get(this.keyOf(key)) ?? NOWHERE_ELSE);
    return (this.#inside.get(key) ?? 0) < Math.max(1, Math.floor(left / this.#count()));
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

  fail(key: string, now: Temporal.Instant): CountedKey {
    this.#limiter.add(key, now);
    return { key: this.keyOf(key), seconds: this.#seconds };
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
