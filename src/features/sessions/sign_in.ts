import type { Static } from "@sinclair/typebox";
import type { Context } from "../../context.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";
import { insertEntry } from "../audit/queries.ts";
import type { User } from "../users/model.ts";
import { type Account, findAccountByEmail } from "../users/queries.ts";
import type { Login } from "./model.ts";

/**
 * The account of an email and password, whatever the door. Failures are counted by address and email, and told
 * to the account's company. Errors: unauthorized (the same for an unknown email and a wrong password),
 * rate_limited.
 */
export async function signIn(ctx: Context, { email, password }: Static<typeof Login>): Promise<Account> {
  const { store, passwords, login_guard, now, address } = ctx;
  const account = await findAccountByEmail(store.read, email);
  const fits = await login_guard.attempt(address, email, now, () =>
    passwords.verify(password, account?.password_hash),
  );
  if (account && !fits) noteRefusal(ctx, account);
  if (!fits || !account) throw new AppError("unauthorized", "Invalid credentials");
  return account;
}

/**
 * Writes a refused sign-in to the company's audit log, a moment after its answer: an answer that waited for it
 * would tell that the email is known. Attempts on emails that nobody has belong to no company's log.
 */
function noteRefusal(ctx: Context, { id, company_id, email }: User): void {
  const { store, background, now: at, origin, address, request_id, log } = ctx;
  const entry = {
    company_id,
    at,
    actor: { kind: "anonymous", email },
    origin,
    address,
    request_id,
    operation: "login",
    outcome: "refused",
    target: { type: "user", id },
    input: { email },
    withheld: ["/password"],
    changes: null,
  } as const;
  const written = Bun.sleep(LIMITS.audit_sign_in_delay_ms).then(() =>
    store.tx((q) => insertEntry(q, { ...entry, withheld: [...entry.withheld] })),
  );
  background.keep(written).catch((error) => log.error({ err: error, request_id }, "audit log: not written"));
}
