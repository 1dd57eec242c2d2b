import type { Environment, KeyRole } from "../core/access.ts";

/** One attempt to sign in. */
export interface Attempt {
  address: string | null;
  /** The accounts whose password it may be, and names that nobody has, such as an unknown clientId. */
  names: readonly string[];
  /**
   * Whether a person chose the secret. A random one of 256 bits can't be guessed from many networks either, so it has
   * no limit by name, by which anyone could lock a machine out.
   */
  is_password: boolean;
}

/** Throttles guessing: counts failed sign-ins by network and name, by network, and by name. Decision 0003. */
export interface LoginGuard {
  /**
   * Verifies a secret against each name and returns those that it fits. A name past its limit is verified too, and
   * never returned: a faster refusal would reveal that the name exists. At most as many verifications of a name run at
   * once as may still fail, and others wait: concurrent guesses don't slip through, and correct secrets are never
   * refused for being many. Errors: rate_limited when no name is left to try.
   */
  attempt(attempt: Attempt, verify: (name: string) => Promise<boolean>): Promise<string[]>;
}

/** The API key that a token is signed for. Role and environment only inform: the key's row decides. */
export interface KeyHolder {
  clientId: string;
  role: KeyRole;
  company_id: number;
  environment: Environment;
  secret_version: number;
}

/** The maker of a link, and the REST token, browser session or OAuth authorization with which the link ends. */
export interface LinkMaker {
  user_id: number;
  /** Incremented when the password or role changes, which ends the link. */
  token_version: number;
  token_id?: string;
  session_id?: number;
  authorization_id?: number;
}

/** A signed JWT with its expiry. */
export interface SignedToken {
  token: string;
  expires_at: Temporal.Instant;
}

/** Signs REST tokens and links. */
export interface Tokens {
  sign(user_id: number, token_version: number): Promise<SignedToken>;
  /** Signs a token for an API key; `until` is cut to whole seconds. */
  signKey(holder: KeyHolder, until: Temporal.Instant): Promise<SignedToken>;
  /** Signs a query as a link that expires soon: links end up in histories and logs. */
  signLink(by: LinkMaker, query: object): Promise<{ link: string; expires_at: Temporal.Instant }>;
  /** The query of a link and its maker; null for a link that is expired or has a wrong signature. */
  verifyLink(link: string): Promise<{ by: LinkMaker; query: unknown } | null>;
  /** A keyed digest of a text (HMAC-SHA-256, base64url), by which we know our own words again. */
  mac(purpose: string, text: string): string;
}
