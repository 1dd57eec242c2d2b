import { SHARED_LIMITS } from "./limits.ts";
import { AppError } from "./errors.ts";
import { randomAlphanumeric } from "./random_secrets.ts";

/**
 * Argon2id with 19 MiB and 2 passes: the smallest of OWASP's equivalent settings, so that a burst of sign-ins
 * can't take the machine's memory.
 */
export const PASSWORD_COST: PasswordCost = { memoryCost: 19_456, timeCost: 2 };

/** What making a hash with Argon2id takes: memory in KiB, and passes over it. */
export interface PasswordCost {
  memoryCost: number;
  timeCost: number;
}

/** Makes password hashes, few at once: each takes 19 MiB and a core for some 20 ms. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** Whether the password is the hash's. Without a hash it takes the same time and answers false. */
  verify(password: string, hash: string | undefined): Promise<boolean>;
}

/** Errors of both methods: rate_limited when too many callers wait. */
export function openPasswords(cost = PASSWORD_COST): Passwords {
  let running = 0;
  const waiting: (() => void)[] = [];
  let decoy: Promise<string> | undefined;

  async function turn<T>(work: () => Promise<T>): Promise<T> {
    if (running >= SHARED_LIMITS.password_hashes) {
      if (waiting.length >= SHARED_LIMITS.password_hashes_waiting) {
        throw new AppError("rate_limited", "Too many sign-ins at once: try again", { retry_after_s: 5 });
      }
      await new Promise<void>((resume) => waiting.push(resume));
    } else {
      running++;
    }
    try {
      return await work();
    } finally {
      // The turn is handed on, so that a newcomer can't slip in between.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  }

  const hash = (password: string) =>
    turn(() => Bun.password.hash(password, { algorithm: "argon2id", ...cost }));
  return {
    hash,
    async verify(password, known) {
      decoy ??= hash(crypto.randomUUID());
      // One that was refused is made at the next call.
      decoy.catch(() => (decoy = undefined));
      const against = known ?? (await decoy);
      const fits = await turn(() => Bun.password.verify(password, against));
      return fits && known !== undefined;
    },
  };
}

/** A password for a first sign-in: 24 letters and digits, 139 bits. */
export function randomPassword(): string {
  return randomAlphanumeric(24);
}
