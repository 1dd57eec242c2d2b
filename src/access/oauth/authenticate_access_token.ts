import type { Actor } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { sha256 } from "../../core/random_secrets.ts";
import type { Reads } from "../../store/store.ts";
import { findAccount } from "../users/queries.ts";
import { findAccess } from "./queries.ts";

/**
 * For whom an access token lets an agent act: the user, with the role and client of this moment, and the
 * authorization that it comes from. All of it is read each time, so that a change of the user and the end of
 * the authorization count on the next call. Errors: unauthorized. Decision 0080.
 */
export async function authenticateAccessToken(
  q: Reads,
  token: string,
  now: Temporal.Instant,
): Promise<Actor> {
  const access = await findAccess(q, sha256(token), now);
  const account = access && (await findAccount(q, access.user_id));
  if (!account) {
    throw new AppError("unauthorized", "The token is not valid, has expired or was ended: authorize again");
  }
  const { email, company_id, client_id, role } = account;
  const { user_id, authorization_id } = access;
  return { kind: "user", user_id, email, company_id, client_id, role, authorization_id };
}
