import type { Static } from "@sinclair/typebox";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import type { Actor } from "../../core/access.ts";
import { AppError, notFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { randomSecret, sha256 } from "../../core/random_secrets.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import { LIMITS } from "../limits.ts";
import { meOf } from "../sessions/me.ts";
import { signIn } from "../sessions/sign_in.ts";
import { BrowserSession, ListBrowserSessions, OpenBrowserSession, OpenedBrowserSession } from "./model.ts";
import * as queries from "./queries.ts";
import { expiryOf } from "./rules.ts";

/** Signs a user in for a browser, as `login` does for a program. Errors: those of `login`. Decision 0290. */
export const openBrowserSession = operation({
  name: "open_browser_session",
  permission: "session:open",
  uses_reserve: true,
  input: OpenBrowserSession,
  output: OpenedBrowserSession,
  async run(ctx, { user_agent, ...login }) {
    const { store, now, address } = ctx;
    const account = await signIn(ctx, login);
    const { id: user_id, company_id, token_version } = account;
    const token = randomSecret();
    const session = {
      user_id,
      token_hash: sha256(token),
      token_version,
      address,
      user_agent: user_agent?.slice(0, LIMITS.session_user_agent_length) ?? null,
    };
    await store.tx((q) => queries.insertSession({ q, now, scope: { company_id } }, session));
    return { token, me: await meOf({ q: store.read, now }, account) };
  },
});

/** Lists the browsers in which the user is signed in, newest first. */
export const listBrowserSessions = operation({
  name: "list_browser_sessions",
  permission: "profile:read",
  input: ListBrowserSessions,
  output: listed(BrowserSession),
  run(ctx, page) {
    const user = userOf(ctx.actor);
    return listPage(page, async (slice) => {
      const { rows, total } = await queries.listSessions(readTx(ctx), user.user_id, slice);
      return { rows: rows.map((row) => shown(row, user.session_id)), total };
    });
  },
});

function shown(
  { created_at, last_used_at, ...session }: Omit<Static<typeof BrowserSession>, "expires_at" | "is_current">,
  current: number | undefined,
): Static<typeof BrowserSession> {
  const times = { created_at: instant(created_at), last_used_at: instant(last_used_at) };
  return {
    ...session,
    created_at,
    last_used_at,
    expires_at: iso(expiryOf(times)),
    is_current: session.id === current,
  };
}

/** Ends one of them at once. Errors: not_found. */
export const endBrowserSession = operation({
  name: "end_browser_session",
  permission: "profile:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  async run(ctx, { id }) {
    const { user_id } = userOf(ctx.actor);
    await transaction(ctx, async (tx) => {
      if (!(await queries.deleteSession(tx, user_id, id))) throw notFound("Session", id);
    });
    return {};
  },
});

function userOf(actor: Actor) {
  if (actor.kind === "user") return actor;
  throw new AppError("not_found", "Only a signed-in user has sessions");
}
