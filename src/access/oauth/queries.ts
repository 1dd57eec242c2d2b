import { and, asc, desc, eq, exists, gt, inArray, isNull, lte, not, or, sql } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { preparedQuery } from "../../store/prepared_query.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import { type Authorization, SCOPE, type TokenKind, type PendingAuthorization } from "./model.ts";
import {
  authorizationRequestTable,
  authorizationTable,
  authorizationTokenTable,
  oauthClientTable,
} from "./tables.ts";

// Agents and whoever comes with a secret belong to no company yet: what asks for them has no scope.

/** Whom an access token speaks for. */
export interface Access {
  authorization_id: number;
  user_id: number;
}

const accessByHash = preparedQuery<Access[]>("access_by_hash", (q) => {
  const a = q.use(authorizationTable);
  const t = q.use(authorizationTokenTable);
  return q
    .select({ authorization_id: a.id, user_id: a.user_id })
    .from(t)
    .innerJoin(a, eq(a.id, t.authorization_id))
    .where(
      and(
        eq(t.hash, sql.placeholder("hash")),
        eq(t.kind, "access"),
        gt(t.expires_at, sql.placeholder("now")),
        isNull(a.ended_at),
      ),
    );
});

/** What an access token stands for, while it holds. */
export async function findAccess(q: Reads, hash: string, now: Temporal.Instant): Promise<Access | undefined> {
  const [access] = await accessByHash(q, { hash, now: iso(now) });
  return access;
}

/** Whether what a user granted holds. */
export async function isAuthorizationOpen(q: Reads, id: number, now: Temporal.Instant): Promise<boolean> {
  const t = q.use(authorizationTable);
  return (await q.$count(t, and(eq(t.id, id), isNull(t.ended_at), gt(t.expires_at, iso(now))))) > 0;
}

export interface OAuthClient {
  id: number;
  public_id: string;
  name: string | null;
  redirect_uris: string[];
}

export async function insertClient(
  q: Queries,
  now: Temporal.Instant,
  agent: Omit<OAuthClient, "id">,
): Promise<void> {
  await q.insert(q.use(oauthClientTable)).values({ ...agent, ...stamped(now) });
}

export async function findClient(q: Reads, public_id: string): Promise<OAuthClient | undefined> {
  const t = q.use(oauthClientTable);
  const { id, name, redirect_uris } = t;
  const [agent] = await q
    .select({ id, public_id: t.public_id, name, redirect_uris })
    .from(t)
    .where(eq(t.public_id, public_id));
  return agent;
}

/** What the agent behind a record calls itself. */
export async function findClientName(q: Reads, id: number): Promise<string | null> {
  const t = q.use(oauthClientTable);
  const [agent] = await q.select({ name: t.name }).from(t).where(eq(t.id, id));
  return agent?.name ?? null;
}

/** What an agent asked a user for. */
export interface AuthorizationRequest {
  agent_id: number;
  redirect_uri: string;
  code_challenge: string;
  state: string | null;
}

export async function insertRequest(
  q: Queries,
  request: AuthorizationRequest & { hash: string; expires_at: string },
): Promise<number> {
  const t = q.use(authorizationRequestTable);
  return exactlyOne(await q.insert(t).values(request).returning({ id: t.id })).id;
}

/** The agent that waits behind a sign-in page. */
export async function findRequest(
  q: Reads,
  hash: string,
  now: Temporal.Instant,
): Promise<PendingAuthorization | undefined> {
  const t = q.use(authorizationRequestTable);
  const agents = q.use(oauthClientTable);
  const [waiting] = await q
    .select({ id: t.id, agent_name: agents.name, redirect_uri: t.redirect_uri })
    .from(t)
    .innerJoin(agents, eq(agents.id, t.agent_id))
    .where(and(eq(t.hash, hash), gt(t.expires_at, iso(now))));
  return waiting;
}

/** Takes what was asked for, to answer it. Of many who try, one gets it. */
export async function takeRequest(q: Queries, id: number): Promise<AuthorizationRequest | undefined> {
  const t = q.use(authorizationRequestTable);
  const { agent_id, redirect_uri, code_challenge, state } = t;
  const [request] = await q
    .delete(t)
    .where(eq(t.id, id))
    .returning({ agent_id, redirect_uri, code_challenge, state });
  return request;
}

export async function insertAuthorization(
  { q, scope, now }: Tx,
  granted: { user_id: number; expires_at: string } & Pick<
    AuthorizationRequest,
    "agent_id" | "redirect_uri" | "code_challenge"
  >,
): Promise<number> {
  const t = q.use(authorizationTable);
  const rows = await q
    .insert(t)
    .values({ ...granted, company_id: scope.company_id, ...stamped(now) })
    .returning({ id: t.id });
  return exactlyOne(rows).id;
}

/** The authorizations of a user that hold, the last granted first. */
export async function listAuthorizations(
  tx: ReadTx,
  user_id: number,
  now: Temporal.Instant,
  { limit, offset }: Slice,
): Promise<{ rows: Authorization[]; total: number }> {
  const t = tx.q.use(authorizationTable);
  const agents = tx.q.use(oauthClientTable);
  const where = and(ofUser(tx, user_id), gt(t.expires_at, iso(now)), isNull(t.ended_at));
  const { id, redirect_uri, created_at, updated_at, expires_at } = t;
  const rows = await tx.q
    .select({ id, agent_name: agents.name, redirect_uri, created_at, updated_at, expires_at })
    .from(t)
    .innerJoin(agents, eq(agents.id, t.agent_id))
    .where(where)
    .orderBy(desc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows: rows.map((row) => ({ ...row, scope: SCOPE })), total: await tx.q.$count(t, where) };
}

/** Ends an authorization, and all its tokens with it. Returns whether it held until now. */
export async function endAuthorization(
  tx: Tx,
  user_id: number,
  id: number,
  now: Temporal.Instant,
): Promise<boolean> {
  const t = tx.q.use(authorizationTable);
  const ended = await tx.q
    .update(t)
    .set({ ended_at: iso(now) })
    .where(and(ofUser(tx, user_id), eq(t.id, id), gt(t.expires_at, iso(now)), isNull(t.ended_at)))
    .returning({ id: t.id });
  return ended.length > 0;
}

/** Ends whatever a user has authorized. A deleted user needs no such end: nobody is found behind the tokens. */
export async function endAuthorizationsOf(tx: Tx, user_id: number, now: Temporal.Instant): Promise<void> {
  const t = tx.q.use(authorizationTable);
  await tx.q
    .update(t)
    .set({ ended_at: iso(now) })
    .where(and(ofUser(tx, user_id), isNull(t.ended_at)));
}

/** Lets an authorization hold until an instant. */
export async function extendAuthorization(
  q: Queries,
  id: number,
  expires_at: string,
  now: Temporal.Instant,
): Promise<void> {
  const t = q.use(authorizationTable);
  await q
    .update(t)
    .set({ expires_at, updated_at: iso(now) })
    .where(eq(t.id, id));
}

export async function insertTokens(
  q: Queries,
  tokens: { authorization_id: number; kind: TokenKind; hash: string; expires_at: string }[],
): Promise<void> {
  await q.insert(q.use(authorizationTokenTable)).values(tokens);
}

/** A token that someone came with, and what it belongs to. */
export interface TokenWithGrant {
  token_id: number;
  kind: TokenKind;
  expires_at: string;
  used_at: string | null;
  authorization_id: number;
  ended_at: string | null;
  company_id: number;
  user_id: number;
  redirect_uri: string;
  code_challenge: string;
  public_id: string;
}

export async function findToken(q: Reads, hash: string): Promise<TokenWithGrant | undefined> {
  const t = q.use(authorizationTokenTable);
  const a = q.use(authorizationTable);
  const agents = q.use(oauthClientTable);
  const { ended_at, company_id, user_id, redirect_uri, code_challenge } = a;
  const authorization = {
    authorization_id: a.id,
    ended_at,
    company_id,
    user_id,
    redirect_uri,
    code_challenge,
  };
  const [held] = await q
    .select({
      token_id: t.id,
      kind: t.kind,
      expires_at: t.expires_at,
      used_at: t.used_at,
      public_id: agents.public_id,
      ...authorization,
    })
    .from(t)
    .innerJoin(a, eq(a.id, t.authorization_id))
    .innerJoin(agents, eq(agents.id, a.agent_id))
    .where(eq(t.hash, hash));
  return held;
}

/** Uses a code or refresh token. Of many who try, one does. */
export async function markUsed(q: Queries, id: number, now: Temporal.Instant): Promise<boolean> {
  const t = q.use(authorizationTokenTable);
  const used = await q
    .update(t)
    .set({ used_at: iso(now) })
    .where(and(eq(t.id, id), isNull(t.used_at)))
    .returning({ id: t.id });
  return used.length > 0;
}

// What is forgotten, some at a time. Each returns how many.

/** Forgets the pages that were opened first, so that at most `keep` are left. */
export async function deleteOldestRequests(q: Queries, keep: number): Promise<void> {
  const t = q.use(authorizationRequestTable);
  const surplus = (await q.$count(t).then(Number)) - keep;
  if (surplus <= 0) return;
  const old = q.select({ id: t.id }).from(t).orderBy(asc(t.expires_at), asc(t.id)).limit(surplus);
  await q.delete(t).where(inArray(t.id, old));
}

export async function deleteRequestsBefore(q: Queries, expired: string, limit: number): Promise<number> {
  const t = q.use(authorizationRequestTable);
  const old = q.select({ id: t.id }).from(t).where(lte(t.expires_at, expired)).limit(limit);
  return (await q.delete(t).where(inArray(t.id, old)).returning({ id: t.id })).length;
}

export async function deleteTokensBefore(q: Queries, expired: string, limit: number): Promise<number> {
  const t = q.use(authorizationTokenTable);
  const old = q.select({ id: t.id }).from(t).where(lte(t.expires_at, expired)).limit(limit);
  return (await q.delete(t).where(inArray(t.id, old)).returning({ id: t.id })).length;
}

export async function deleteAuthorizationsBefore(
  { q, scope }: Tx,
  over: string,
  limit: number,
): Promise<number> {
  const t = q.use(authorizationTable);
  const old = q
    .select({ id: t.id })
    .from(t)
    .where(and(eq(t.company_id, scope.company_id), or(lte(t.expires_at, over), lte(t.ended_at, over))))
    .limit(limit);
  return (await q.delete(t).where(inArray(t.id, old)).returning({ id: t.id })).length;
}

/** How many agents have registered since an instant. */
export function countClientsSince(q: Reads, registered: string): Promise<number> {
  const t = q.use(oauthClientTable);
  return q.$count(t, gt(t.created_at, registered)).then(Number);
}

/** Forgets agents from before an instant that no authorization refers to, the oldest first. */
export async function deleteClientsBefore(q: Queries, registered: string, limit: number): Promise<number> {
  const t = q.use(oauthClientTable);
  const a = q.use(authorizationTable);
  const granted = q.select({ id: a.id }).from(a).where(eq(a.agent_id, t.id));
  const unused = q
    .select({ id: t.id })
    .from(t)
    .where(and(lte(t.created_at, registered), not(exists(granted))))
    .orderBy(asc(t.created_at), asc(t.id))
    .limit(limit);
  return (await q.delete(t).where(inArray(t.id, unused)).returning({ id: t.id })).length;
}

function ofUser({ q, scope }: ReadTx, user_id: number) {
  const t = q.use(authorizationTable);
  return and(eq(t.company_id, scope.company_id), eq(t.user_id, user_id));
}
