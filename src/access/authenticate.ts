import type { Deps } from "../app/deps.ts";
import type { Actor } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import { sha256 } from "../core/random_secrets.ts";
import type { Reads } from "../store/store.ts";
import { instant } from "../core/time.ts";
import { findSessionHolder, updateSessionUse } from "./browser_sessions/queries.ts";
import { expiryOf, isUseDue } from "./browser_sessions/rules.ts";
import { findCredentials } from "./api_keys/queries.ts";
import { validSecrets } from "./api_keys/rules.ts";
import { toolsetsOf } from "./authorizations/scopes.ts";
import { findAccess } from "./oauth/token_queries.ts";
import { findTokenHolder, isTokenEnded } from "./sessions/queries.ts";
import type { KeyClaims, TokenVerifier, UserClaims } from "./sessions/tokens.ts";
import { findAccount } from "./users/queries.ts";

// From a bearer token to its actor. The rows behind it are read each time, so that a changed password or role, a
// deleted user, a revoked key and an ended authorization count on the next call.

/** Resolves a REST token to a user or, where an API key was exchanged for it, a machine. Errors: unauthorized. */
export async function authenticate(
  q: Reads,
  tokens: TokenVerifier,
  token: string,
  now: Temporal.Instant,
): Promise<Actor> {
  const claims = await tokens.verify(token);
  return claims.kind === "key" ? authenticateKey(q, claims, now) : authenticateUser(q, claims);
}

async function authenticateUser(q: Reads, claims: UserClaims): Promise<Actor> {
  const { user_id, token_version, token_id: id, expires_ms } = claims;
  const holder = await findTokenHolder(q, claims);
  if (holder?.is_ended ?? (await isTokenEnded(q, id)))
    throw new AppError("unauthorized", "The token was signed out: sign in again");
  if (holder?.token_version !== token_version) {
    throw new AppError("unauthorized", "The token has been ended by a change to its user: sign in again");
  }
  const { email, company_id, client_id, role } = holder;
  return { kind: "user", user_id, email, company_id, client_id, role, token: { id, expires_ms } };
}

/**
 * Resolves the token of a browser's session to its user. Its use is written down now and then, behind the answer.
 * Errors: unauthorized.
 */
export async function authenticateSession(
  { store, background, log }: Pick<Deps, "store" | "background" | "log">,
  token: string,
  { q, now }: { q: Reads; now: Temporal.Instant },
): Promise<Actor> {
  const holder = await findSessionHolder(q, sha256(token));
  const times = holder && {
    created_at: instant(holder.created_at),
    last_used_at: instant(holder.last_used_at),
  };
  if (!times || Temporal.Instant.compare(expiryOf(times), now) <= 0)
    throw new AppError("unauthorized", "The session has ended: sign in again");
  const { id: session_id, user_id, email, company_id, client_id, role, last_used_at } = holder;
  if (isUseDue(times, now)) {
    const written = store.tx((tx) => updateSessionUse(tx, session_id, { before: last_used_at, now }));
    background.track(written).catch((error) => log.warn({ err: error }, "session: use not written"));
  }
  return { kind: "user", user_id, email, company_id, client_id, role, session_id };
}

/** The token ends with its key, and with the secret that it was exchanged for. Decision 0100. */
async function authenticateKey(
  q: Reads,
  { clientId, role: token_role, secret_version }: KeyClaims,
  now: Temporal.Instant,
): Promise<Actor> {
  const key = await findCredentials(q, clientId);
  const is_valid =
    key?.role === token_role && validSecrets(key, now).some(({ version }) => version === secret_version);
  if (!key || !is_valid) {
    throw new AppError(
      "unauthorized",
      "The token's API key was revoked, or its secret has ended: get another",
    );
  }
  const { id: key_id, first_key_id, company_id, role, environment } = key;
  return { kind: "key", key_id, agent_key_id: first_key_id ?? key_id, company_id, role, environment };
}

/**
 * Resolves an OAuth access token to its user and authorization. The role and client are the user's current ones.
 * Errors: unauthorized. Decision 0080.
 */
export async function authenticateAccessToken(
  q: Reads,
  token: string,
  now: Temporal.Instant,
): Promise<Actor> {
  const access = await findAccess(q, sha256(token), now);
  const account = access && (await findAccount(q, access.user_id));
  if (!account) {
    throw new AppError("unauthorized", "The token is not valid, has expired or was ended: authorize again");
  }
  const { email, company_id, client_id, role } = account;
  const { user_id, authorization_id, scope } = access;
  const toolsets = toolsetsOf(scope);
  return { kind: "user", user_id, email, company_id, client_id, role, authorization_id, toolsets };
}
