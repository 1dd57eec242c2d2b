import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { insertEntry } from "../../audit/queries.ts";
import { LIMITS } from "../limits.ts";
import { Nothing } from "../../core/schema.ts";
import { sha256 } from "../../core/random_secrets.ts";
import { instant, iso } from "../../core/time.ts";
import type { Queries } from "../../store/store.ts";
import { endAuthorization, extendAuthorization } from "../authorizations/queries.ts";
import { type Account, findAccount } from "../users/queries.ts";
import { findOAuthClient } from "./client_queries.ts";
import { CodeGrant, IssuedTokens, RefreshGrant, RevokedToken } from "./model.ts";
import { isVerifierOf, makeToken, OAuthError } from "./rules.ts";
import { findToken, insertTokens, markUsed, type TokenWithGrant } from "./token_queries.ts";

/**
 * Exchanges a code for tokens, once (RFC 6749, 4.1.3; OAuth 2.1): a second use ends the authorization.
 * Errors: invalid_client, invalid_grant.
 */
export const exchangeCode = operation({
  name: "exchange_code",
  permission: "session:open",
  uses_reserve: true,
  input: CodeGrant,
  output: IssuedTokens,
  run: (ctx, { client_id, code, code_verifier, redirect_uri }) =>
    redeem(ctx, { client_id, secret: code, kind: "code" }, (grant) => {
      if (redirect_uri !== undefined && redirect_uri !== grant.redirect_uri)
        return invalidGrant("The code was sent to another redirect_uri");
      return isVerifierOf(grant.code_challenge, code_verifier)
        ? null
        : invalidGrant("The code_verifier is not that of the code_challenge");
    }),
});

/**
 * Exchanges a refresh token for new tokens, once (rotation): a second use may be a thief's, so that the whole
 * authorization ends. Errors: invalid_client, invalid_grant.
 */
export const refreshTokens = operation({
  name: "refresh_tokens",
  permission: "session:open",
  uses_reserve: true,
  input: RefreshGrant,
  output: IssuedTokens,
  run: (ctx, { client_id, refresh_token }) =>
    redeem(ctx, { client_id, secret: refresh_token, kind: "refresh" }, () => null),
});

/**
 * Ends the authorization of a client's token (RFC 7009). A token that is unknown, ended or another client's counts
 * as revoked. Errors: invalid_client.
 */
export const revokeToken = operation({
  name: "revoke_token",
  permission: "session:open",
  uses_reserve: true,
  input: RevokedToken,
  output: Nothing,
  async run(ctx, { client_id, token: secret }) {
    await ctx.store.tx(async (q) => {
      if (!(await findOAuthClient(q, client_id))) throw unknownClient();
      const token = await findToken(q, sha256(secret));
      if (token?.public_id !== client_id) return;
      const by = await findAccount(q, token.user_id);
      await endAndRecord(q, ctx, token, { by, reason: "revoked by the OAuth client" });
    });
    return {};
  },
});

/** A secret that a client wants to exchange. */
interface Credential {
  client_id: string;
  secret: string;
  kind: "code" | "refresh";
}

/**
 * Exchanges a code or refresh token for new tokens. A refusal is thrown after the commit, since the transaction may
 * have ended the authorization.
 */
async function redeem(
  ctx: Context,
  credential: Credential,
  check: (grant: TokenWithGrant) => OAuthError | null,
): Promise<IssuedTokens> {
  const outcome = await ctx.store.tx(async (q) => {
    const token = await findCredential(q, credential);
    if (token instanceof OAuthError) return token;
    const is_retry = token.used_at !== null && isWithinGrace(ctx, token);
    if (token.used_at !== null && !is_retry) return endReused(q, ctx, token);
    const refusal = (await refusalOf(q, ctx, token)) ?? check(token);
    if (refusal) return refusal;
    return is_retry || (await markUsed(q, token.token_id, ctx.now))
      ? issue(q, ctx, token)
      : endReused(q, ctx, token);
  });
  if (outcome instanceof OAuthError) throw outcome;
  return outcome;
}

const invalidGrant = (message: string) => new OAuthError("invalid_grant", message);
const unknownClient = () => new OAuthError("invalid_client", "No client has this client_id: register again");

/** The token behind a secret, if it is this client's and of this kind; else the refusal. */
async function findCredential(
  q: Queries,
  { client_id, secret, kind }: Credential,
): Promise<TokenWithGrant | OAuthError> {
  const token = await findToken(q, sha256(secret));
  if (token?.kind === kind && token.public_id === client_id) return token;
  return (await findOAuthClient(q, client_id)) ? invalidGrant(`The ${kind} is not known`) : unknownClient();
}

/** Why the grant issues no tokens; null if it does. */
async function refusalOf(q: Queries, { now }: Context, token: TokenWithGrant): Promise<OAuthError | null> {
  if (Temporal.Instant.compare(instant(token.expires_at), now) <= 0)
    return invalidGrant(`The ${token.kind} has expired`);
  if (token.ended_at !== null) return invalidGrant("The authorization was ended");
  return (await findAccount(q, token.user_id)) ? null : invalidGrant("The user is gone");
}

/** Whether a used refresh token is still accepted, for clients that lost the response. */
function isWithinGrace({ now, config }: Context, { kind, used_at }: TokenWithGrant): boolean {
  if (kind !== "refresh" || used_at === null || config.refresh_grace_s === 0) return false;
  const until = instant(used_at).add({ seconds: config.refresh_grace_s });
  return Temporal.Instant.compare(now, until) <= 0;
}

async function issue(
  q: Queries,
  { now }: Context,
  { authorization_id, company_id, scope }: TokenWithGrant,
): Promise<IssuedTokens> {
  const [access_token, refresh_token] = [makeToken("access"), makeToken("refresh")];
  const access_until = iso(now.add({ hours: LIMITS.oauth_access_hours }));
  const refresh_until = iso(now.add({ hours: LIMITS.oauth_refresh_days * 24 }));
  await insertTokens(q, [
    { authorization_id, kind: "access", hash: sha256(access_token), expires_at: access_until },
    { authorization_id, kind: "refresh", hash: sha256(refresh_token), expires_at: refresh_until },
  ]);
  await extendAuthorization({ q, scope: { company_id }, now }, authorization_id, refresh_until);
  const expires_in = LIMITS.oauth_access_hours * 3_600;
  return { access_token, token_type: "Bearer", expires_in, refresh_token, scope };
}

async function endReused(q: Queries, ctx: Context, token: TokenWithGrant): Promise<OAuthError> {
  await endAndRecord(q, ctx, token, { reason: `${token.kind} used twice` });
  return invalidGrant(`The ${token.kind} was used before: the authorization has been ended`);
}

/** Ends an authorization with its audit entry, once: by its user through the client, or by the system. */
async function endAndRecord(
  q: Queries,
  { now: at, address, request_id }: Context,
  { authorization_id, company_id, user_id }: TokenWithGrant,
  { by, reason }: { by?: Account | undefined; reason: string },
): Promise<void> {
  if (!(await endAuthorization({ q, scope: { company_id }, now: at }, user_id, authorization_id))) return;
  await insertEntry(q, {
    company_id,
    at,
    actor: by
      ? { kind: "user", user_id, email: by.email, role: by.role, authorization_id }
      : { kind: "system", authorization_id },
    origin: "mcp",
    address,
    request_id,
    operation: "end_authorization",
    outcome: "ok",
    target: { type: "authorization", id: authorization_id },
    input: { reason },
    withheld: [],
    changes: null,
  });
}
