import { operation } from "../../context.ts";
import { type Actor, permissionsOf, scopeOf } from "../../core/access.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import type { Reads } from "../../store/store.ts";
import { authenticateKey } from "../api_keys/machines.ts";
import { findAccount, updateUser } from "../users/queries.ts";
import { ChangePassword, Login, LoginResponse, Me } from "./model.ts";
import { signIn } from "./sign_in.ts";
import type { Tokens } from "./tokens.ts";

/**
 * Signs a user in with email and password. Failures are counted by network and email, by network, and by email.
 * Errors: unauthorized (the same for an unknown email and a wrong password), rate_limited.
 * Source: interface, Authentication.
 */
export const login = operation({
  name: "login",
  permission: "session:open",
  input: Login,
  output: LoginResponse,
  async run(ctx, input) {
    const account = await signIn(ctx, input);
    const { token, expires_at } = await ctx.tokens.sign(account.id, account.token_version);
    return { type: "bearer" as const, token, expiresAt: iso(expires_at) };
  },
});

/** The signed-in user and what it may do. */
export const getMe = operation({
  name: "get_me",
  permission: "profile:read",
  input: Nothing,
  output: Me,
  async run({ store, actor }) {
    const { password_hash: _, token_version: __, ...user } = await findOwnAccount(store.read, actor);
    return { ...user, permissions: permissionsOf(user.role) };
  },
});

/** Changes the signed-in user's password and ends its tokens. Errors: invalid for a wrong current password. */
export const changePassword = operation({
  name: "change_password",
  permission: "profile:write",
  target: "user",
  input: ChangePassword,
  output: Nothing,
  async run({ store, actor, now, passwords, login_guard, address }, { current_password, new_password }) {
    const account = await findOwnAccount(store.read, actor);
    const fits = await login_guard.attempt({ address, name: account.email, is_password: true }, () =>
      passwords.verify(current_password, account.password_hash),
    );
    if (!fits) throw invalid("/current_password", "is not your password");
    const password_hash = await passwords.hash(new_password);
    const scope = scopeOf(actor);
    await store.tx((q) => updateUser(q, scope, now, account.id, { password_hash, end_tokens: true }));
    return {};
  },
});

/**
 * Who a REST token speaks for: a user or, where an API key was exchanged for it, a machine. The account and the key
 * are read each time, so that a changed password or role, a deleted user and a revoked key count at once.
 * Errors: unauthorized.
 */
export async function authenticate(
  q: Reads,
  tokens: Tokens,
  token: string,
  now: Temporal.Instant,
): Promise<Actor> {
  const claims = await tokens.verify(token);
  if (claims.kind === "key") return authenticateKey(q, claims, now);
  const { user_id, token_version } = claims;
  const account = await findAccount(q, user_id);
  if (account?.token_version !== token_version) {
    throw new AppError("unauthorized", "The token has been ended by a change to its user: sign in again");
  }
  const { email, company_id, client_id, role } = account;
  return { kind: "user", user_id, email, company_id, client_id, role };
}

async function findOwnAccount(q: Reads, actor: Actor) {
  const account = actor.kind === "user" ? await findAccount(q, actor.user_id) : undefined;
  if (!account) throw new AppError("not_found", "Only a signed-in user has a profile");
  return account;
}
