import { and, asc, eq, ne, type SQL, sql } from "drizzle-orm";
import { LIMITS } from "../limits.ts";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { contains } from "../../store/expressions.ts";
import { batchedRead } from "../../store/batched_read.ts";
import { preparedQuery } from "../../store/prepared_query.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { endAuthorizationsOf } from "../oauth/queries.ts";
import type { User } from "./model.ts";
import { userTable } from "./tables.ts";

/** The columns of a user on the wire: never its password. */
function userColumns(q: Reads) {
  const users = q.use(userTable);
  const { id, email, name, role, company_id, client_id, created_at, updated_at } = users;
  return { id, email, name, role, company_id, client_id, created_at, updated_at };
}

/** What signing in needs to know of a user, whatever the company. */
export interface Account extends User {
  password_hash: string;
  token_version: number;
}

function accountColumns(q: Reads) {
  const { password_hash, token_version } = q.use(userTable);
  return { ...userColumns(q), password_hash, token_version };
}

export async function listUsers(
  tx: ReadTx,
  filter: { search?: string },
  { limit, offset }: Slice,
): Promise<{ rows: User[]; total: number }> {
  const users = tx.q.use(userTable);
  const where = and(
    inScope(tx),
    filter.search === undefined ? undefined : contains(users.email, filter.search),
  );
  const rows = await tx.q
    .select(userColumns(tx.q))
    .from(users)
    .where(where)
    .orderBy(asc(users.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await tx.q.$count(users, where) };
}

export async function findUser(tx: ReadTx, id: number): Promise<User | undefined> {
  const users = tx.q.use(userTable);
  const [user] = await tx.q
    .select(userColumns(tx.q))
    .from(users)
    .where(and(inScope(tx), eq(users.id, id)));
  return user;
}

/** The accounts that may sign in by this email, in one company or in any, the oldest first. */
export async function listAccountsByEmail(
  q: Reads,
  email: string,
  company_id: number | undefined,
): Promise<Account[]> {
  const users = q.use(userTable);
  return q
    .select(accountColumns(q))
    .from(users)
    .where(
      and(eq(users.email, email), company_id === undefined ? undefined : eq(users.company_id, company_id)),
    )
    .orderBy(asc(users.id))
    .limit(LIMITS.sign_in_accounts);
}

const accountById = preparedQuery<Account[]>("account_by_id", (q) =>
  q
    .select(accountColumns(q))
    .from(q.use(userTable))
    .where(eq(q.use(userTable).id, sql.placeholder("id"))),
);

/** The account that a token names, in any company. */
export const findAccount = batchedRead(async (q, id: number): Promise<Account | undefined> => {
  const [account] = await accountById(q, { id });
  return account;
});

/** Whether the company has another admin than this user. */
export async function hasOtherAdmin(tx: ReadTx, id: number): Promise<boolean> {
  const users = tx.q.use(userTable);
  return (await tx.q.$count(users, and(inScope(tx), eq(users.role, "admin"), ne(users.id, id)))) > 0;
}

export async function insertUser(
  { q, scope, now }: Tx,
  user: Pick<Account, "email" | "name" | "role" | "client_id" | "password_hash">,
): Promise<User> {
  const rows = await q
    .insert(q.use(userTable))
    .values({ ...user, company_id: scope.company_id, token_version: 1, ...stamped(now) })
    .returning(userColumns(q));
  return exactlyOne(rows);
}

/**
 * Changes a user; `end_tokens` makes the tokens already issued worthless. A new password also ends what agents were
 * granted, which a new role does not: they act with the role of the moment.
 */
export async function updateUser(
  tx: Tx,
  id: number,
  {
    end_tokens,
    ...change
  }: Partial<Pick<Account, "email" | "name" | "role" | "client_id" | "password_hash">> & {
    end_tokens: boolean;
  },
): Promise<User | undefined> {
  const users = tx.q.use(userTable);
  if (change.password_hash !== undefined) await endAuthorizationsOf(tx, id, tx.now);
  const [user] = await tx.q
    .update(users)
    .set({
      ...change,
      ...(end_tokens ? { token_version: sql`${users.token_version} + 1` } : {}),
      updated_at: iso(tx.now),
    })
    .where(and(inScope(tx), eq(users.id, id)))
    .returning(userColumns(tx.q));
  return user;
}

export async function deleteUser(tx: Tx, id: number): Promise<boolean> {
  const users = tx.q.use(userTable);
  const gone = await tx.q
    .delete(users)
    .where(and(inScope(tx), eq(users.id, id)))
    .returning({ id: users.id });
  return gone.length > 0;
}

/** Deletes the users of a client, whose tokens end with them. */
export async function deleteUsersOfClient({ q, scope }: Tx, client_id: number): Promise<void> {
  const users = q.use(userTable);
  await q.delete(users).where(and(eq(users.company_id, scope.company_id), eq(users.client_id, client_id)));
}

function inScope({ q, scope }: ReadTx): SQL | undefined {
  const users = q.use(userTable);
  return eq(users.company_id, scope.company_id);
}
