import { operation } from "../../app/operation.ts";
import { type Actor, scopeOf } from "../../core/access.ts";
import { AppError, notFound } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { deleteInBatches } from "../../core/delete_in_batches.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { randomSecret } from "../../core/random_secrets.ts";
import { iso } from "../../core/time.ts";
import type { Queries } from "../../store/store.ts";
import { ClientMetadata, Authorization, ListAuthorizations, RegisteredClient, SCOPE } from "./model.ts";
import * as queries from "./queries.ts";
import { isRedirectUri, OAuthError } from "./rules.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/**
 * Registers an agent, whoever asks: it may show a sign-in page, nothing more. It keeps no secret, whatever it
 * asked for. Errors: invalid_redirect_uri. RFC 7591.
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
    // What can't be seen can't be told apart.
    const name = client_name?.replaceAll(/[\p{C}\s]+/gu, " ").trim() || null;
    const agent = { public_id: randomSecret("mh_"), name, redirect_uris };
    await store.tx(async (q) => {
      const since = iso(now.subtract({ hours: LIMITS.agent_unused_hours }));
      // Anyone may register: it must not fill the disk, nor keep others from registering.
      if ((await queries.countClientsSince(q, since)) >= LIMITS.agents_unused)
        await queries.deleteClientsBefore(q, iso(now), 1);
      await queries.insertClient(q, now, agent);
    });
    return {
      ...metadata,
      client_id: agent.public_id,
      client_id_issued_at: Math.floor(now.epochMilliseconds / 1_000),
      token_endpoint_auth_method: "none" as const,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope: SCOPE,
    };
  },
});

/** Lists what the signed-in user has granted to agents, as far as it holds. */
export const listAuthorizations = operation({
  name: "list_authorizations",
  permission: "profile:read",
  input: ListAuthorizations,
  output: listed(Authorization),
  run: (ctx, page) =>
    listPage(page, (slice) => queries.listAuthorizations(readTx(ctx), userOf(ctx.actor), ctx.now, slice)),
});

/** Ends one of them, with all its tokens. Errors: not_found. */
export const endAuthorization = operation({
  name: "end_authorization",
  permission: "profile:write",
  input: ById,
  output: Nothing,
  async run(ctx, { id }) {
    await transaction(ctx, async (tx) => {
      if (!(await queries.endAuthorization(tx, userOf(ctx.actor), id, ctx.now)))
        throw notFound("Authorization", id);
    });
    return {};
  },
});

/**
 * Forgets what has expired, authorizations a while after their end, and agents that none is left of or that
 * nobody ever authorized. Agents belong to no company: whichever company's turn comes first forgets them.
 * Decision 0083.
 */
export const pruneAuthorizations = operation({
  name: "prune_authorizations",
  permission: "company:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run({ store, actor, now, background }) {
    const scope = scopeOf(actor);
    const ago = (hours: number) => iso(now.subtract({ hours }));
    const works: ((q: Queries, limit: number) => Promise<number>)[] = [
      (q, limit) => queries.deleteRequestsBefore(q, iso(now), limit),
      (q, limit) => queries.deleteTokensBefore(q, ago(LIMITS.oauth_token_kept_hours), limit),
      (q, limit) =>
        queries.deleteAuthorizationsBefore({ q, scope, now }, ago(LIMITS.agent_ended_days * 24), limit),
      (q, limit) => queries.deleteClientsBefore(q, ago(LIMITS.agent_unused_hours), limit),
    ];
    for (const work of works) await deleteInBatches(background, (limit) => store.tx((q) => work(q, limit)));
    return {};
  },
});

function userOf(actor: Actor): number {
  if (actor.kind === "user") return actor.user_id;
  throw new AppError("not_found", "Only a signed-in user has authorizations");
}
