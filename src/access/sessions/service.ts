import { operation } from "../../app/operation.ts";
import { retention } from "../../app/retention.ts";
import type { Actor } from "../../core/access.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import type { Reads } from "../../store/store.ts";
import { deleteExpiredLinks } from "../user_links/queries.ts";
import { endOtherWaysIn } from "../users/new_password.ts";
import { deleteSession, deleteUnusedSessions } from "../browser_sessions/queries.ts";
import { findAccount, updateUser } from "../users/queries.ts";
import { checkPassword } from "../users/rules.ts";
import { meOf } from "./me.ts";
import { ChangePassword, Login, LoginResponse, Me } from "./model.ts";
import { deleteEndedTokensBefore, insertEndedToken } from "./queries.ts";
import { deleteCountsBefore } from "./count_queries.ts";
import { guardedName, signIn } from "./sign_in.ts";
import { transaction } from "../../app/transaction.ts";

/**
 * Signs a user in with email and password. Failures are counted by network and email, by network, and by email.
 * Errors: unauthorized (the same for an unknown email and a wrong password), rate_limited.
 */
export const login = operation({
  name: "login",
  permission: "session:open",
  uses_reserve: true,
  input: Login,
  output: LoginResponse,
  async run(ctx, input) {
    const account = await signIn(ctx, input);
    const { token, expires_at } = await ctx.tokens.sign(account.id, account.token_version);
    return { type: "bearer" as const, token, expiresAt: iso(expires_at) };
  },
});

/** Returns the signed-in user with its permissions and its company. */
export const getMe = operation({
  name: "get_me",
  permission: "profile:read",
  input: Nothing,
  output: Me,
  async run({ store, now, actor }) {
    return meOf({ q: store.read, now }, await findOwnAccount(store.read, actor));
  },
});

/** Changes the signed-in user's password; ends its tokens and authorizations. Errors: invalid for a wrong current one. */
export const changePassword = operation({
  name: "change_password",
  permission: "profile:write",
  target: "user",
  input: ChangePassword,
  output: Nothing,
  async run(ctx, { current_password, new_password }) {
    const account = await findOwnAccount(ctx.store.read, ctx.actor);
    const fits = await ctx.login_guard.attempt(
      { address: ctx.address, names: [guardedName(account)], is_password: true },
      () => ctx.passwords.verify(current_password, account.password_hash),
    );
    if (fits.length === 0) throw invalid("/current_password", "is not your password");
    checkPassword("/new_password", new_password, account.email);
    const password_hash = await ctx.passwords.hash(new_password);
    await transaction(ctx, async (tx) => {
      const user = await updateUser(tx, account.id, { password_hash, end_tokens: true });
      await endOtherWaysIn(tx, account.id);
      return user;
    });
    return {};
  },
});

/**
 * Ends the caller's token or browser session on every instance, and the links made with it. Errors: not_found for an
 * actor without either. Decision 0146.
 */
export const logout = operation({
  name: "logout",
  permission: "profile:write",
  uses_reserve: true,
  target: "user",
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const { actor, annotateAudit } = ctx;
    if (actor.kind !== "user" || (!actor.token && actor.session_id === undefined))
      throw new AppError("not_found", "Only a token or a browser's session can be signed out");
    const { user_id, token, session_id } = actor;
    await transaction(ctx, async (tx) => {
      if (session_id !== undefined) await deleteSession(tx, user_id, session_id);
      if (token) {
        const expires_at = Temporal.Instant.fromEpochMilliseconds(token.expires_ms);
        await insertEndedToken(tx.q, { token_id: token.id, expires_at });
      }
      annotateAudit({ target: { type: "user", id: user_id } });
    });
    return {};
  },
});

/**
 * Deletes browser sessions that have ended, and expired links, ended tokens and counted sign-ins. The last two
 * belong to no company, and go with whichever is pruned first.
 */
export const pruneSessions = retention({
  name: "prune_sessions",
  permission: "company:write",
  deletions: [
    deleteUnusedSessions,
    deleteExpiredLinks,
    ({ q, now }, limit) => deleteEndedTokensBefore(q, now, limit),
    ({ q, now }, limit) => deleteCountsBefore(q, now, limit),
  ],
});

async function findOwnAccount(q: Reads, actor: Actor) {
  const account = actor.kind === "user" ? await findAccount(q, actor.user_id) : undefined;
  if (!account) throw new AppError("not_found", "Only a signed-in user has a profile");
  return account;
}
