import { Type } from "@sinclair/typebox";
import { operation } from "../../app/operation.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { Id } from "../../core/schema.ts";
import { commonToolsets } from "../../core/toolsets.ts";
import { sha256, randomSecret } from "../../core/random_secrets.ts";
import { iso } from "../../core/time.ts";
import type { Reads } from "../../store/store.ts";
import { Login } from "../sessions/model.ts";
import { signIn } from "../sessions/sign_in.ts";
import { User } from "../users/model.ts";
import { findAccount } from "../users/queries.ts";
import { SCOPE, scopeOfToolsets, toolsetsOf } from "../authorizations/scopes.ts";
import { insertAuthorization } from "../authorizations/queries.ts";
import { findOAuthClient, findOAuthClientName } from "./client_queries.ts";
import { AuthorizationQuery, PendingAuthorization, RedirectTarget } from "./model.ts";
import { deleteOldestRequests, findRequest, insertRequest, takeRequest } from "./request_queries.ts";
import {
  addToQuery,
  addressOf,
  checkScope,
  isChallenge,
  isRegistered,
  makeToken,
  OAuthError,
  AuthorizationError,
} from "./rules.ts";
import { insertTokens } from "./token_queries.ts";
import { transaction } from "../../app/transaction.ts";

/** The authorization page has expired, was already submitted, or belongs to another browser. */
export function pageExpired(): AppError {
  return new AppError(
    "forbidden",
    "This page has expired or was already submitted: go back to your app and start again",
  );
}

/**
 * Starts an authorization request (RFC 6749, 4.1.1; RFC 7636). Returns the secret that the sign-in page carries.
 * Errors: malformed for a client or redirect URI that is not registered, which only the user may see;
 * AuthorizationError for anything else.
 */
export const openAuthorization = operation({
  name: "open_authorization",
  permission: "session:open",
  uses_reserve: true,
  input: Type.Object({ origin: Type.String(), query: AuthorizationQuery }),
  output: Type.Object({ transaction: Type.String(), authorization: PendingAuthorization }),
  async run({ store, now }, { origin, query }) {
    const { client, redirect_uri } = await findDestination(store.read, query);
    const { code_challenge = "", state = null } = query;
    let scope: string;
    try {
      scope = checkQuery(origin, query);
    } catch (error) {
      throw error instanceof OAuthError ? new AuthorizationError(error, origin, redirect_uri, state) : error;
    }
    const secret = randomSecret();
    const hash = sha256(secret);
    const expires_at = iso(now.add({ minutes: LIMITS.oauth_request_minutes }));
    const request = { oauth_client_id: client.id, redirect_uri, code_challenge, state, scope };
    const id = await store.tx(async (q) => {
      // Pages are open to anyone: they must not fill the disk.
      await deleteOldestRequests(q, LIMITS.oauth_requests - 1);
      return insertRequest(q, { ...request, hash, expires_at });
    });
    return { transaction: secret, authorization: { id, client_name: client.name, redirect_uri, scope } };
  },
});

/** Finds the pending request of a page. Errors: forbidden. */
export const findWaitingAgent = operation({
  name: "find_waiting_agent",
  permission: "session:open",
  input: Type.Object({ transaction: Type.String() }),
  output: PendingAuthorization,
  async run({ store, now }, { transaction: secret }) {
    const pending = await findRequest(store.read, sha256(secret), now);
    if (!pending) throw pageExpired();
    return pending;
  },
});

/** Denies an authorization request. Errors: forbidden for a page that was already submitted. */
export const refuseAuthorization = operation({
  name: "refuse_authorization",
  permission: "session:open",
  uses_reserve: true,
  input: Type.Object({ id: Id, origin: Type.String() }),
  output: RedirectTarget,
  async run({ store }, { id, origin }) {
    const request = await store.tx((q) => takeRequest(q, id));
    if (!request) throw pageExpired();
    const refusal = new OAuthError("access_denied", "The user denied the request");
    return {
      location: new AuthorizationError(refusal, origin, request.redirect_uri, request.state).location,
    };
  },
});

/** Signs the user in on the page: passwords, limits and audit entries as on REST. Errors: unauthorized, rate_limited. */
export const signInToAuthorize = operation({
  name: "sign_in_to_authorize",
  permission: "session:open",
  uses_reserve: true,
  input: Login,
  output: Type.Object({ user: User, version: Type.Integer() }),
  async run(ctx, login) {
    const { password_hash: _, token_version: version, ...user } = await signIn(ctx, login);
    return { user, version };
  },
});

/**
 * Lets an OAuth client act for the signed-in user, and redirects to it with a code. `version` is the token version
 * of the sign-in: a password or role changed since then counts. `scope` is what the user ticked, within what the client
 * asked for. Errors: forbidden for a page that was already
 * submitted, unauthorized.
 */
export const grantAuthorization = operation({
  name: "grant_authorization",
  permission: "profile:write",
  target: "authorization",
  input: Type.Object({
    waiting_id: Id,
    origin: Type.String(),
    scope: Type.String(),
    version: Type.Integer(),
  }),
  output: Type.Object({ id: Id, ...RedirectTarget.properties }),
  run: (ctx, { waiting_id, origin, version, scope: ticked }) =>
    transaction(ctx, async (tx) => {
      const request = await takeRequest(tx.q, waiting_id);
      if (!request) throw pageExpired();
      const account = ctx.actor.kind === "user" ? await findAccount(tx.q, ctx.actor.user_id) : undefined;
      if (account?.token_version !== version) throw new AppError("unauthorized", "Sign in again");
      const { state, ...asked } = request;
      const within = commonToolsets(toolsetsOf(ticked), toolsetsOf(asked.scope));
      const granted = { ...asked, scope: scopeOfToolsets(within) };
      const expires_at = iso(ctx.now.add({ seconds: LIMITS.oauth_code_s }));
      const row = { ...granted, user_id: account.id, expires_at };
      const id = await insertAuthorization(tx, row);
      const code = makeToken("code");
      const token = { authorization_id: id, kind: "code" as const, hash: sha256(code), expires_at };
      await insertTokens(tx.q, [token]);
      const agent_name = await findOAuthClientName(tx.q, granted.oauth_client_id);
      ctx.annotateAudit({
        before: {},
        after: { agent_name, redirect_uri: granted.redirect_uri, scope: granted.scope },
      });
      return { id, location: addToQuery(granted.redirect_uri, { code, state, iss: origin }) };
    }),
});

/** The client and the registered redirect URI that a request names. Errors: malformed. */
async function findDestination(q: Reads, { client_id = "", redirect_uri }: AuthorizationQuery) {
  const client = await findOAuthClient(q, client_id);
  if (!client) {
    throw new AppError("malformed", "The app that sent you is not registered here: let it register again");
  }
  const [first, ...rest] = client.redirect_uris;
  const uri = redirect_uri ?? (rest.length === 0 ? first : undefined);
  if (uri === undefined || !isRegistered(client.redirect_uris, uri)) {
    throw new AppError("malformed", "The app asks for an answer at an address that it did not register");
  }
  return { client, redirect_uri: uri };
}

/** Checks a query, and returns the scope to ask the user for: what its resource has of it. Errors: OAuthError. */
function checkQuery(
  origin: string,
  { response_type, code_challenge = "", code_challenge_method, scope, resource }: AuthorizationQuery,
): string {
  if (response_type !== "code")
    throw new OAuthError("unsupported_response_type", "The only response_type is code");
  if (code_challenge_method !== "S256" || !isChallenge(code_challenge))
    throw new OAuthError("invalid_request", "PKCE is required: a code_challenge with the method S256");
  checkScope(scope);
  const { reachable } = addressOf(origin, resource);
  const asked = scopeOfToolsets(commonToolsets(toolsetsOf(scope ?? SCOPE), reachable));
  if (asked === "") throw new OAuthError("invalid_scope", "The resource has no tools of this scope");
  return asked;
}
