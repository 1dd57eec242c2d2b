import type { Environment, KeyRole } from "../core/access.ts";

/** One attempt to sign in: whose credentials are tried, and from where. */
export interface Attempt {
  address: string | null;
  /** Accounts whose password it may be, or an email or clientId that nobody has. */
  names: readonly string[];
  /**
   * Whether the secret was chosen by a person. A made-up one of 256 bits can't be guessed from many networks either,
   * so that nobody can lock a machine out by failing under its name.
   */
  is_password: boolean;
}

/** Throttles guessing: counts failed sign-ins by network and name, by network, and by name. Decision 0003. */
export interface LoginGuard {
  /**
   * Verifies a password or a secret against each name and returns those that it fits. A name past its limit is
   * verified too, and never returned: a faster refusal would show that the name exists. No more verifications of a
   * name run at once than may still fail; the others wait, so that concurrent guesses do not slip through and correct
   * ones are never refused for being many. Errors: rate_limited when no name is left to try.
   */
  attempt(attempt: Attempt, verify: (name: string) => Promise<boolean>): Promise<string[]>;
}

/** The API key that a token is signed for. Its other claims inform the holder; the key's row decides. */
export interface KeyHolder {
  clientId: string;
  role: KeyRole;
  company_id: number;
  environment: Environment;
  secret_version: number;
}

/** Who made a link, and with what: a REST token or an OAuth authorization, with which the link ends. */
export interface LinkMaker {
  user_id: number;
  /** Counted up when the password or role changes, which ends the link. */
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
  /** Signs a token for an API key; `until` is cut to whole seconds. */
  signKey(holder: KeyHolder, until: Temporal.Instant): Promise<SignedToken>;
  /** Signs a query as a link, for a short time: links end up in histories and logs. */
  signLink(by: LinkMaker, query: object): Promise<{ link: string; expires_at: Temporal.Instant }>;
  /** The query of a link and its maker; null for a link with a wrong signature or past its time. */
  verifyLink(link: string): Promise<{ by: LinkMaker; query: unknown } | null>;
}
