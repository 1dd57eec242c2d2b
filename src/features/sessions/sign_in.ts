import type { Static } from "@sinclair/typebox";
import type { Context } from "../../context.ts";
import { AppError } from "../../core/errors.ts";
import { noteRefusal } from "../audit/refusals.ts";
import type { User } from "../users/model.ts";
import { type Account, findAccountByEmail } from "../users/queries.ts";
import type { Login } from "./model.ts";

/**
 * The account of an email and password, whatever the door. Failures are counted by network and email, and told
 * to the account's company. Errors: unauthorized (the same for an unknown email and a wrong password),
 * rate_limited.
 */
export async function signIn(ctx: Context, { email, password }: Static<typeof Login>): Promise<Account> {
  const { store, passwords, login_guard, address } = ctx;
  const account = await findAccountByEmail(store.read, email);
  const fits = await login_guard.attempt({ address, name: email, is_password: true }, () =>
    passwords.verify(password, account?.password_hash),
  );
  if (account && !fits) noteRefusal(ctx, refusalOf(account));
  if (!fits || !account) throw new AppError("unauthorized", "Invalid credentials");
  return account;
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
