import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { transaction } from "../../app/transaction.ts";
import { recordSignIn } from "../../audit/sign_ins.ts";
import { AppError, orNotFound } from "../../core/errors.ts";
import { randomSecret, sha256 } from "../../core/random_secrets.ts";
import { ById, Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { publicOrigin } from "../../http/origin.ts";
import { findCompany } from "../../tenancy/companies/queries.ts";
import { LIMITS } from "../limits.ts";
import { type Account, findAccount, findUser, updateUser } from "../users/queries.ts";
import { endOtherWaysIn } from "../users/new_password.ts";
import { checkPassword } from "../users/rules.ts";
import { AcceptUserLink, ReadUserLink, UserLink, UserLinkHolder } from "./model.ts";
import * as queries from "./queries.ts";

/**
 * Makes a link by which a user chooses a password, once and within 72 hours: an invitation, or a way back for who has
 * forgotten theirs. It takes the place of the one before. Whoever calls passes it on. Errors: not_found. Decision 0292.
 */
export const createUserLink = operation({
  name: "create_user_link",
  permission: "users:write",
  target: "user",
  input: ById,
  output: UserLink,
  async run(ctx, { id }) {
    const token = randomSecret();
    const expires_at = iso(ctx.now.add({ hours: LIMITS.user_link_hours }));
    await transaction(ctx, async (tx) => {
      orNotFound(await findUser(tx, id), "User", id);
      await queries.saveLink(tx, id, { token_hash: sha256(token), expires_at });
      ctx.annotateAudit({ target: { type: "user", id } });
    });
    // Behind the #, so that it is in no log of a proxy.
    return { url: `${publicOrigin(ctx.config, null)}/console/link#${token}`, token, expires_at };
  },
});

/** Says whose link it is. Errors: not_found for one that was used, replaced or has expired. */
export const readUserLink = operation({
  name: "read_user_link",
  permission: "session:open",
  input: ReadUserLink,
  output: UserLinkHolder,
  async run(ctx, { token }) {
    const { account, expires_at } = await holderOf(ctx, token);
    const { email, company_id } = account;
    const company = await findCompany({ q: ctx.store.read, now: ctx.now, scope: { company_id } });
    return { email, company_id, company_name: company?.name ?? "", expires_at };
  },
});

/**
 * Sets the password of a link's user, and ends all that the old one let in. Errors: not_found as above, invalid for a
 * password that is easy to guess.
 */
export const acceptUserLink = operation({
  name: "accept_user_link",
  permission: "session:open",
  uses_reserve: true,
  input: AcceptUserLink,
  output: Nothing,
  async run(ctx, { token, new_password }) {
    const { store, now, passwords } = ctx;
    const { account } = await holderOf(ctx, token);
    const { id, company_id, email, role } = account;
    checkPassword("/new_password", new_password, email);
    const password_hash = await passwords.hash(new_password);
    await store.tx(async (q) => {
      const tx = { q, now, scope: { company_id } };
      if ((await queries.takeLink(q, { token_hash: sha256(token), now })) !== id) throw linkEnded();
      await updateUser(tx, id, { password_hash, end_tokens: true });
      await endOtherWaysIn(tx, id);
      await recordSignIn(ctx, q, {
        company_id,
        actor: { kind: "user", user_id: id, email, role },
        operation: "accept_user_link",
        target: { type: "user", id },
        input: {},
        withheld: ["/token", "/new_password"],
      });
    });
    return {};
  },
});

async function holderOf(
  { store, now }: Context,
  token: string,
): Promise<{ account: Account; expires_at: string }> {
  const link = await queries.findLink(store.read, { token_hash: sha256(token), now });
  const account = link && (await findAccount(store.read, link.user_id));
  if (!account) throw linkEnded();
  return { account, expires_at: link.expires_at };
}

const linkEnded = () =>
  new AppError("not_found", "The link was used, replaced by another or has expired: ask for a new one");
