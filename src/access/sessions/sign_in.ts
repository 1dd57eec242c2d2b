import type { Static } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { AppError } from "../../core/errors.ts";
import { insertEntry } from "../../audit/queries.ts";
import { recordFailedSignIn } from "../../audit/failed_sign_ins.ts";
import type { User } from "../users/model.ts";
import { type Account, listAccountsByEmail } from "../users/queries.ts";
import type { Login } from "./model.ts";

/**
 * The account of an email and password, whatever the door: a person may have one in each of several companies, and
 * where the password fits more than one it is the oldest, unless the company is named. Failures are counted by
 * network and account, and told to the account's company. Errors: unauthorized (the same for an unknown email and a
 * wrong password), rate_limited. Decision 0145.
 */
export async function signIn(ctx: Context, login: Static<typeof Login>): Promise<Account> {
  const { store, passwords, login_guard, address } = ctx;
  const { email, password, company_id } = login;
  const accounts = await listAccountsByEmail(store.read, email, company_id);
  const byName = new Map(accounts.map((account) => [guardedName(account), account]));
  const names = accounts.length > 0 ? [...byName.keys()] : [email];
  const fits = await login_guard.attempt({ address, names, is_password: true }, async (name) => {
    // As long as for two accounts: who has added one with this email must not learn whether it has another.
    const in_vain = names.length === 1 ? passwords.verify(password, undefined) : false;
    const verified = passwords.verify(password, byName.get(name)?.password_hash);
    return (await Promise.all([verified, in_vain]))[0];
  });
  const account = accounts.find((candidate) => fits.includes(guardedName(candidate)));
  if (account) {
    await recordSignIn(ctx, account);
    return account;
  }
  for (const known of accounts) recordFailedSignIn(ctx, refusalOf(known));
  throw new AppError("unauthorized", "Invalid credentials");
}

/** Nobody is let in without an entry in the company's log. */
async function recordSignIn(ctx: Context, { id, company_id, email, role }: Account): Promise<void> {
  const { store, now: at, origin, address, request_id } = ctx;
  const entry = {
    company_id,
    at,
    actor: { kind: "user" as const, user_id: id, email, role },
    origin,
    address,
    request_id,
    operation: "login",
    outcome: "ok" as const,
    target: { type: "user", id },
    input: { email },
    withheld: ["/password"],
    changes: null,
  };
  await store.tx((q) => insertEntry(q, entry));
}

/** The name under which failures of an account are counted. */
export function guardedName({ id }: Pick<User, "id">): string {
  return `user ${id}`;
}

function refusalOf({ id, company_id, email }: User) {
  return {
    company_id,
    actor: { kind: "anonymous" as const, email },
    operation: "login",
    target: { type: "user", id },
    input: { email },
    withheld: ["/password"],
  };
}
