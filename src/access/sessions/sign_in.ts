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
  // Tried last and never right. Its failures are those of all such sign-ins, whoever has the email: by the other names
  // alone, 429 would tell whose it is.
  const decoy = company_id === undefined ? email : `${email} in ${company_id}`;
  // As long as for two accounts: adding one with this email must not reveal whether another company has one.
  const in_vain = Math.max(0, (may_be_shared ? 2 : 1) - accounts.length);
  const names = [...byName.keys(), decoy];
  const fits = await login_guard.attempt({ address, names, is_password: true }, async (name) => {
    if (name !== decoy) return passwords.verify(password, byName.get(name)?.password_hash);
    await Promise.all(Array.from({ length: in_vain }, () => passwords.verify(password, undefined)));
    return false;
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
