import type { Static } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { type Actor, permissionsOf } from "../../core/access.ts";
import { AppError, orNotFound } from "../../core/errors.ts";
import { Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { findClient } from "../../tenancy/clients/queries.ts";
import { findCompany } from "../../tenancy/companies/queries.ts";
import { findApiKey } from "../api_keys/queries.ts";
import { findAgentName } from "../authorizations/queries.ts";
import { findUser } from "../users/queries.ts";
import { Whoami } from "./model.ts";

type Caller = Omit<
  Static<typeof Whoami>,
  "permissions" | "company" | "timezone" | "currency" | "now" | "local_now"
>;

/**
 * Says who the caller is, what it may do, and by which zone and currency the company counts: for a user's token, an API
 * key and an OAuth client that acts for a user. Errors: not_found for an actor that is none of these. Decision 0280.
 */
export const whoami = operation({
  name: "whoami",
  permission: "profile:read",
  input: Nothing,
  output: Whoami,
  async run(ctx) {
    const [caller, company] = await Promise.all([callerOf(ctx), findCompany(readTx(ctx))]);
    if (!company) throw new AppError("not_found", "The company of the caller is not there any more");
    const { id, name, timezone, currency } = company;
    return {
      ...caller,
      permissions: permissionsOf(caller.role),
      company: { id, name },
      timezone,
      currency,
      now: iso(ctx.now),
      local_now: ctx.now
        .toZonedDateTimeISO(timezone)
        .toString({ timeZoneName: "never", smallestUnit: "millisecond" }),
    };
  },
});

type UserActor = Extract<Actor, { kind: "user" }>;

async function callerOf(ctx: Context): Promise<Caller> {
  const { actor } = ctx;
  const tx = readTx(ctx);
  if (actor.kind === "key") {
    const { id, name } = orNotFound(await findApiKey(tx, actor.key_id), "API key", actor.key_id);
    const { role, environment } = actor;
    return {
      credential: "api_key",
      role,
      user: null,
      api_key: { id, name },
      agent: null,
      client: null,
      environment,
    };
  }
  if (actor.kind !== "user") throw new AppError("not_found", "Only a user or an API key has an identity");
  const { user_id, client_id, authorization_id, role } = actor;
  const [user, client, agent_name] = await Promise.all([
    findUser(tx, user_id),
    client_id === null ? undefined : findClient(tx, client_id),
    authorization_id === undefined ? null : findAgentName(tx, authorization_id),
  ]);
  const { id, email, name } = orNotFound(user, "User", user_id);
  return {
    credential: credentialOf(actor),
    role,
    user: { id, email, name },
    api_key: null,
    agent: authorization_id === undefined ? null : { authorization_id, name: agent_name },
    client: client ? { id: client.id, name: client.name } : null,
    environment: null,
  };
}

function credentialOf({ authorization_id, session_id }: UserActor): Caller["credential"] {
  if (authorization_id !== undefined) return "oauth_grant";
  return session_id === undefined ? "user_token" : "browser_session";
}
