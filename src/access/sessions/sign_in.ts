import type { Static } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { AppError } from "../../core/errors.ts";
import { recordFailedSignIn, recordSignIn, type SignIn } from "../../audit/sign_ins.ts";
import { hasSeveralCompanies } from "../../tenancy/companies/queries.ts";
import type { User } from "../users/model.ts";
import { type Account, listAccountsByEmail } from "../users/queries.ts";
import type { Login } from "./model.ts";

/**
 * Signs a person in by email and password, on REST and on the authorization page. Where the password fits accounts of
 * several companies, it is the oldest, unless the company is named. Failures count by network and account, and are
 * recorded for the account's company. Errors: unauthorized (the same for an unknown email and a wrong password),
 * rate_limited. Decision 0145.
 */
export async function signIn(ctx: Context, login: Static<typeof Login>): Promise<Account> {
  const { store, passwords, login_guard, address } = ctx;
  const { email, password, company_id } = login;
  const accounts = await listAccountsByEmail(store.read, email, company_id);
  const may_be_shared = company_id === undefined && (await hasSeveralCompanies(store.read));
  const byName = new Map(accounts.map((account) => [guardedName(account), account]));
  const names = accounts.length > 0 ? [...byName.keys()] : [email];
  const fits = await login_guard.attempt({ address, names, is_password: true }, async (name) => {
    // As long as for two accounts: adding one with this email must not reveal whether another company has one.
    const decoy = may_be_shared && names.length === 1 ? passwords.verify(password, undefined) : false;
    const verified = passwords.verify(password, byName.get(name)?.password_hash);
    return (await Promise.all([verified, decoy]))[0];
  });
  const account = accounts.find((candidate) => fits.includes(guardedName(candidate)));
  if (account) {
    const { id: user_id, role } = account;
    const entry = signInOf(account, { kind: "user", user_id, email, role });
    // Nobody is signed in without an entry in the audit log.
    await store.tx((q) => recordSignIn(ctx, q, entry));
    return account;
  }
  for (const known of accounts)
    recordFailedSignIn(ctx, signInOf(known, { kind: "anonymous", email: known.email }));
  throw new AppError("unauthorized", "Invalid credentials");
}

/** The name under which failures of an account are counted. */
export function guardedName({ id }: Pick<User, "id">): string {
  return `user ${id}`;
}

function signInOf({ id, company_id, email }: User, actor: SignIn["actor"]): SignIn {
  return {
    company_id,
    actor,
    operation: "login",
    target: { type: "user", id },
    input: { email },
    withheld: ["/password"],
  };
}
