import { operation } from "../../app/operation.ts";
import { retention } from "../../app/retention.ts";
import { LIMITS } from "../limits.ts";
import { randomSecret } from "../../core/random_secrets.ts";
import { iso } from "../../core/time.ts";
import { SCOPE } from "../authorizations/scopes.ts";
import { deleteAuthorizationsBefore } from "../authorizations/queries.ts";
import * as clients from "./client_queries.ts";
import { ClientMetadata, RegisteredClient } from "./model.ts";
import { deleteRequestsBefore } from "./request_queries.ts";
import { isRedirectUri, OAuthError } from "./rules.ts";
import { deleteTokensBefore } from "./token_queries.ts";

/**
 * Registers an OAuth client, open to anyone (RFC 7591). It is a public client, without a secret, whatever it asked
 * for; all it can do is show a sign-in page. Errors: invalid_redirect_uri.
 */
export const registerAgent = operation({
  name: "register_agent",
  permission: "session:open",
  input: ClientMetadata,
  output: RegisteredClient,
  async run({ store, now }, metadata) {
    const { redirect_uris, client_name } = metadata;
    if (!redirect_uris.every(isRedirectUri)) {
      throw new OAuthError(
        "invalid_redirect_uri",
        "redirect_uris must be https, http on localhost, 127.0.0.1 or [::1], or a scheme of your own with a path, without fragment, user or wildcard",
      );
    }
    // Invisible characters would make two names look the same.
    const name = client_name?.replaceAll(/[\p{C}\s]+/gu, " ").trim() || null;
    const client = { public_id: randomSecret("mh_"), name, redirect_uris };
    await store.tx(async (q) => {
      const since = iso(now.subtract({ hours: LIMITS.oauth_client_unused_hours }));
      // Registration is open: it must not fill the disk, nor lock others out.
      if ((await clients.countOAuthClientsSince(q, since)) >= LIMITS.oauth_clients_unused)
        await clients.deleteOAuthClientsBefore(q, iso(now), 1);
      await clients.insertOAuthClient(q, now, client);
    });
    return {
      ...metadata,
      client_id: client.public_id,
      client_id_issued_at: Math.floor(now.epochMilliseconds / 1_000),
      token_endpoint_auth_method: "none" as const,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope: SCOPE,
    };
  },
});

/**
 * Deletes what has expired, authorizations a while after their end, and OAuth clients without an authorization.
 * Clients belong to no company: they go with whichever company is pruned first. Decision 0083.
 */
export const pruneAuthorizations = retention({
  name: "prune_authorizations",
  permission: "company:write",
  deletions: [
    ({ q, now }, limit) => deleteRequestsBefore(q, iso(now), limit),
    ({ q, now }, limit) => deleteTokensBefore(q, hoursBefore(now, LIMITS.oauth_token_kept_hours), limit),
    (tx, limit) => deleteAuthorizationsBefore(tx, hoursBefore(tx.now, LIMITS.oauth_ended_days * 24), limit),
    ({ q, now }, limit) =>
      clients.deleteOAuthClientsBefore(q, hoursBefore(now, LIMITS.oauth_client_unused_hours), limit),
  ],
});

function hoursBefore(now: Temporal.Instant, hours: number): string {
  return iso(now.subtract({ hours }));
}
