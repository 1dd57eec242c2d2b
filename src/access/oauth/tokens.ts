import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { LIMITS } from "../limits.ts";
import { Nothing } from "../../core/schema.ts";
import { sha256 } from "../../core/random_secrets.ts";
import { instant, iso } from "../../core/time.ts";
import type { Queries } from "../../store/store.ts";
import { insertEntry } from "../../audit/queries.ts";
import { type Account, findAccount } from "../users/queries.ts";
import { CodeGrant, IssuedTokens, RefreshGrant, RevokedToken, SCOPE } from "./model.ts";
import * as queries from "./queries.ts";
import type { TokenWithGrant } from "./queries.ts";
import { isVerifierOf, makeToken, OAuthError } from "./rules.ts";

/** What came of it: tokens, or a reason not to give any, which is thrown once the transaction has kept its end. */
type Outcome = IssuedTokens | OAuthError;

/**
 * Exchanges a code for tokens, once: a second try ends what the first was given. Errors: invalid_client,
 * invalid_grant. RFC 6749, 4.1.3; OAuth 2.1.
 */
export const exchangeCode = operation({
  name: "exchange_code",
  permission: "session:open",
  input: CodeGrant,
  output: IssuedTokens,
  async run(ctx, { client_id, code, code_verifier, redirect_uri }) {
    return issued(
      await ctx.store.tx(async (q): Promise<Outcome> => {
        const held = await requireToken(q, { client_id, secret: code, kind: "code" });
        if (held instanceof OAuthError) return held;
        if (held.used_at !== null) return endReused(q, ctx, held);
        const refusal = await refusalOf(q, ctx, held);
        if (refusal) return refusal;
        if (redirect_uri !== undefined && redirect_uri !== held.redirect_uri)
          return invalidGrant("The code was sent to another redirect_uri");
        if (!isVerifierOf(held.code_challenge, code_verifier))
          return invalidGrant("The code_verifier is not that of the code_challenge");
        return (await queries.markUsed(q, held.token_id, ctx.now))
          ? issue(q, ctx, held)
          : endReused(q, ctx, held);
      }),
    );
  },
});

/**
 * Exchanges a refresh token for new tokens, once: whoever comes second may have stolen it, or been stolen from, so
 * that the whole authorization ends. Errors: invalid_client, invalid_grant.
 */
export const refreshTokens = operation({
  name: "refresh_tokens",
  permission: "session:open",
  input: RefreshGrant,
  output: IssuedTokens,
  async run(ctx, { client_id, refresh_token }) {
    return issued(
      await ctx.store.tx(async (q): Promise<Outcome> => {
        const held = await requireToken(q, { client_id, secret: refresh_token, kind: "refresh" });
        if (held instanceof OAuthError) return held;
        if (held.used_at !== null && !isWithinGrace(ctx, held)) return endReused(q, ctx, held);
        const refusal = await refusalOf(q, ctx, held);
        if (refusal) return refusal;
        const takes = held.used_at !== null || (await queries.markUsed(q, held.token_id, ctx.now));
        return takes ? issue(q, ctx, held) : endReused(q, ctx, held);
      }),
    );
  },
});

/**
 * Ends the authorization that an agent's token belongs to; a token that is unknown, another agent's or over is as
 * good as ended. Errors: invalid_client. RFC 7009.
 */
export const revokeToken = operation({
  name: "revoke_token",
  permission: "session:open",
  input: RevokedToken,
  output: Nothing,
  async run(ctx, { client_id, token }) {
    const outcome = await ctx.store.tx(async (q) => {
      if (!(await queries.findClient(q, client_id))) return unknownClient();
      const held = await queries.findToken(q, sha256(token));
      if (held?.public_id !== client_id) return null;
      await endAndRecord(q, ctx, held, {
        by: await findAccount(q, held.user_id),
        reason: "revoked by the agent",
      });
      return null;
    });
    if (outcome) throw outcome;
    return {};
  },
});

function issued(outcome: Outcome): IssuedTokens {
  if (outcome instanceof OAuthError) throw outcome;
  return outcome;
}

const invalidGrant = (message: string) => new OAuthError("invalid_grant", message);
const unknownClient = () => new OAuthError("invalid_client", "No agent has this client_id: register again");

/** What a secret stands for, where it is this agent's and of this kind. */
async function requireToken(
  q: Queries,
  { client_id, secret, kind }: { client_id: string; secret: string; kind: "code" | "refresh" },
): Promise<TokenWithGrant | OAuthError> {
  const held = await queries.findToken(q, sha256(secret));
  if (held?.kind === kind && held.public_id === client_id) return held;
  return (await queries.findClient(q, client_id))
    ? invalidGrant(`The ${kind} is not known`)
    : unknownClient();
}

/** Why no tokens are given any more, if so. */
async function refusalOf(q: Queries, { now }: Context, held: TokenWithGrant): Promise<OAuthError | null> {
  if (Temporal.Instant.compare(instant(held.expires_at), now) <= 0)
    return invalidGrant(`The ${held.kind} has expired`);
  if (held.ended_at !== null) return invalidGrant("The authorization was ended");
  return (await findAccount(q, held.user_id)) ? null : invalidGrant("The user is gone");
}

/** Whether a refresh token that was used is still taken, for agents that lose answers. */
function isWithinGrace({ now, config }: Context, { used_at }: TokenWithGrant): boolean {
  if (used_at === null || config.refresh_grace_s === 0) return false;
  const until = instant(used_at).add({ seconds: config.refresh_grace_s });
  return Temporal.Instant.compare(now, until) <= 0;
}

async function issue(
  q: Queries,
  { now }: Context,
  { authorization_id }: TokenWithGrant,
): Promise<IssuedTokens> {
  const [access_token, refresh_token] = [makeToken("access"), makeToken("refresh")];
  const access_until = iso(now.add({ hours: LIMITS.oauth_access_hours }));
  const refresh_until = iso(now.add({ hours: LIMITS.oauth_refresh_days * 24 }));
  await queries.insertTokens(q, [
    { authorization_id, kind: "access", hash: sha256(access_token), expires_at: access_until },
    { authorization_id, kind: "refresh", hash: sha256(refresh_token), expires_at: refresh_until },
  ]);
  await queries.extendAuthorization(q, authorization_id, refresh_until, now);
  const expires_in = LIMITS.oauth_access_hours * 3_600;
  return { access_token, token_type: "Bearer", expires_in, refresh_token, scope: SCOPE };
}

async function endReused(q: Queries, ctx: Context, held: TokenWithGrant): Promise<OAuthError> {
  await endAndRecord(q, ctx, held, { reason: `${held.kind} used twice` });
  return invalidGrant(`The ${held.kind} was used before: the authorization has been ended`);
}

/** Ends an authorization and writes that down, once: by its user through the agent, or else by the house. */
async function endAndRecord(
  q: Queries,
  { now: at, address, request_id }: Context,
  { authorization_id, company_id, user_id }: TokenWithGrant,
  { by, reason }: { by?: Account | undefined; reason: string },
): Promise<void> {
  if (!(await queries.endAuthorization({ q, scope: { company_id }, now: at }, user_id, authorization_id, at)))
    return;
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
