import type { Environment, KeyRole } from "../core/access.ts";

/** Whose credentials are tried, and from where. */
export interface Attempt {
  address: string | null;
  /** Accounts whose password it may be, or an email or clientId that nobody has. */
  names: readonly string[];
  /**
   * Whether the secret was chosen by a person. A made-up one of 256 bits can't be guessed from many networks either,
   * so that nobody can lock a machine out by failing in its name.
   */
  is_password: boolean;
}

/** Slows down guessing: counts failed sign-ins by network and name, by network, and by name. Decision 0003. */
export interface LoginGuard {
  /**
   * Verifies a password or a secret against each name and answers those that it fits. A name past its limit is
   * verified in vain, since its absence would tell that it is there. No more verifications of a name run at once
   * than may still fail: the others wait for them, so that guesses made at once do not slip through, and right ones
   * are never refused for being many. Errors: rate_limited when no name is left to try.
   */
  attempt(attempt: Attempt, verify: (name: string) => Promise<boolean>): Promise<string[]>;
}

/** For whom a key's token is made. Role, company and environment are told to its holder; the key's row counts. */
export interface KeyHolder {
  clientId: string;
  role: KeyRole;
  company_id: number;
  environment: Environment;
  secret_version: number;
}

/**
 * In whose name a link asks, with the version of their password and role, and by what it was made: a token, or what
 * let an agent act. It ends with that.
 */
export interface LinkMaker {
  user_id: number;
  token_version: number;
  token_id?: string;
  authorization_id?: number;
}

/** A signed JWT and when it expires. */
export interface SignedToken {
  token: string;
  expires_at: Temporal.Instant;
}

/** Signs REST tokens and links. */
export interface Tokens {
  sign(user_id: number, token_version: number): Promise<SignedToken>;
  /** Signs for a machine, until an instant; whole seconds count. */
  signKey(holder: KeyHolder, until: Temporal.Instant): Promise<SignedToken>;
  /** Signs what a link may ask for in a user's name, for a short time: links end up in histories and logs. */
  signLink(by: LinkMaker, query: object): Promise<{ link: string; expires_at: Temporal.Instant }>;
  /** What a link asks for, and in whose name; null for one that is not ours or has expired. */
  verifyLink(link: string): Promise<{ by: LinkMaker; query: unknown } | null>;
}
