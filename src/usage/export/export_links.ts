import { Type } from "@sinclair/typebox";
import type { LinkMaker } from "../../app/credentials.ts";
import type { Context } from "../../app/context.ts";
import { call, operation } from "../../app/operation.ts";
import type { Download } from "../../core/download.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { iso } from "../../core/time.ts";
import { decode } from "../../core/validate.ts";
import { publicOrigin } from "../../http/origin.ts";
import { isAuthorizationOpen } from "../../access/authorizations/queries.ts";
import { isSessionOpen } from "../../access/browser_sessions/queries.ts";
import { isTokenEnded } from "../../access/sessions/queries.ts";
import { type Account, findAccount } from "../../access/users/queries.ts";
import { exportUsage } from "./service.ts";
import { UsageExportLink, ExportUsage, FollowExportLink } from "./model.ts";
import { assertIdsInScope } from "../search/filters.ts";

/**
 * Creates a signed link to an export, for a browser, which can't send a token. It acts as the user, and ends with the
 * user's tokens, with the token, session or authorization that created it, and after 15 minutes. Errors: forbidden for ids
 * outside of the scope, invalid for a search too long for a link. Decision 0087.
 */
export const createExportLink = operation({
  name: "create_export_link",
  permission: "usage:read",
  audited: true,
  input: ExportUsage,
  output: UsageExportLink,
  async run(ctx, input) {
    const { store, actor, tokens, config } = ctx;
    await assertIdsInScope(ctx, input);
    const account = actor.kind === "user" ? await findAccount(store.read, actor.user_id) : undefined;
    if (actor.kind !== "user" || !account)
      throw new AppError("not_found", "Only a signed-in user can create links");
    const { token, session_id, authorization_id } = actor;
    const by = {
      user_id: account.id,
      token_version: account.token_version,
      ...(token ? { token_id: token.id } : {}),
      ...(session_id === undefined ? {} : { session_id }),
      ...(authorization_id === undefined ? {} : { authorization_id }),
    };
    const { link, expires_at } = await tokens.signLink(by, input);
    if (link.length > LIMITS.usage_export_link_characters)
      throw invalid("", "is too long for a link: use fewer ids");
    const url = `${publicOrigin(config, null)}/api/v1/usage/exports/${link}`;
    return { url, expires_at: iso(expires_at) };
  },
});

/**
 * Streams the export of a link, with the permissions that its user has now. Errors: not_found for a link that is
 * forged, has expired or was revoked, and those of the export.
 */
export const followExportLink = operation({
  name: "follow_export_link",
  permission: "session:open",
  input: FollowExportLink,
  output: Type.Unsafe<Download>(Type.Any()),
  async run(ctx, { link }) {
    const claims = await ctx.tokens.verifyLink(link);
    const account = claims && (await findCreator(ctx, claims.by));
    if (!account) throw new AppError("not_found", "The link is invalid or has expired: create a new one");
    const { id: user_id, email, company_id, client_id, role } = account;
    const actor = { kind: "user", user_id, email, company_id, client_id, role } as const;
    return call({ ...ctx, actor }, exportUsage, decode(ExportUsage, claims.query));
  },
});

/** The user of a link; undefined once the user's tokens, its token, its session or its authorization ended. */
async function findCreator({ store, now }: Context, by: LinkMaker): Promise<Account | undefined> {
  const { user_id, token_version, token_id, session_id, authorization_id } = by;
  if (token_id !== undefined && (await isTokenEnded(store.read, token_id))) return undefined;
  if (session_id !== undefined && !(await isSessionOpen(store.read, session_id, now))) return undefined;
  if (authorization_id !== undefined && !(await isAuthorizationOpen(store.read, authorization_id, now)))
    return undefined;
  const account = await findAccount(store.read, user_id);
  return account?.token_version === token_version ? account : undefined;
}
