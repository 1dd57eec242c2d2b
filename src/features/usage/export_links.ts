import { Type } from "@sinclair/typebox";
import { operation } from "../../context.ts";
import { scopeOf } from "../../core/access.ts";
import type { Download } from "../../core/download.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";
import { call } from "../../core/operation.ts";
import { iso } from "../../core/time.ts";
import { decode } from "../../core/validate.ts";
import { publicOrigin } from "../../http/origin.ts";
import { findAccount } from "../users/queries.ts";
import { exportUsage } from "./export.ts";
import { ExportLink, ExportUsage, FollowExportLink } from "./model.ts";
import { refuseForeignIds } from "./service.ts";

/**
 * Makes a link to an export, for whoever can open one but can't send a token: a person whose agent asked. It asks
 * in the user's name, ends with the user's tokens, and after 15 minutes. Errors: forbidden for ids outside of
 * the scope, invalid for a search too long for a link. Decision 0087.
 */
export const createExportLink = operation({
  name: "create_export_link",
  permission: "usage:read",
  input: ExportUsage,
  output: ExportLink,
  async run(ctx, input) {
    const { store, actor, tokens, config } = ctx;
    await refuseForeignIds(ctx, scopeOf(actor), input);
    const account = actor.kind === "user" ? await findAccount(store.read, actor.user_id) : undefined;
    if (!account) throw new AppError("not_found", "Only a signed-in user has links");
    const user = { user_id: account.id, token_version: account.token_version };
    const { link, expires_at } = await tokens.signLink(user, input);
    if (link.length > LIMITS.usage_export_link_characters)
      throw invalid("", "is too long for a link: name fewer ids");
    const url = `${publicOrigin(config, null)}/api/v1/usage/exports/${link}`;
    return { url, expires_at: iso(expires_at) };
  },
});

/**
 * Gives the export that a link asks for, with the rights that its user has now. Errors: not_found for a link that
 * is not ours, has expired or was ended, and those of the export.
 */
export const followExportLink = operation({
  name: "follow_export_link",
  permission: "session:open",
  input: FollowExportLink,
  output: Type.Unsafe<Download>(Type.Any()),
  async run(ctx, { link }) {
    const asked = await ctx.tokens.verifyLink(link);
    const account = asked && (await findAccount(ctx.store.read, asked.user.user_id));
    if (account?.token_version === undefined || account.token_version !== asked?.user.token_version)
      throw new AppError("not_found", "The link is not valid, or has expired: ask for a new one");
    const { id: user_id, email, company_id, client_id, role } = account;
    const actor = {
      kind: "user",
      user_id,
      email,
      company_id,
      client_id,
      role,
    } as const;
    return call({ ...ctx, actor }, exportUsage, decode(ExportUsage, asked.query));
  },
});
