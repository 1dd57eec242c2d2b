import { and, asc, eq, ne, type SQL, sql } from "drizzle-orm";
import { LIMITS } from "../limits.ts";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { containing } from "../../store/expressions.ts";
import { batchedRead } from "../../store/batched_read.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { User } from "./model.ts";
import { userTable } from "./tables.ts";

const userColumns = (q: Reads) => columnsOf(q.use(userTable), User);

/** A user with its credentials, of any company. */
export interface Account extends User {
  password_hash: string;
  token_version: number;
}

const accountColumns = oncePerDialect((q) => {
  const { password_hash, token_version } = q.use(userTable);
  return { ...userColumns(q), password_hash, token_version };
});

export function listUsers(tx: ReadTx, { search, sort }: { search?: string; sort?: string }, slice: Slice) {
  const t = tx.q.use(userTable);
  const where = and(inScope(tx), containing(t.email, search));
  return listRows(tx.q, t, { columns: userColumns(tx.q), where, order: orderOf(t, sort), slice });
}

export function findUser(tx: ReadTx, id: number): Promise<User | undefined> {
  const t = tx.q.use(userTable);
  return findRow(tx.q, t, { columns: userColumns(tx.q), where: and(inScope(tx), eq(t.id, id)) });
}

/** The accounts of an email, in one company or in any, oldest first. */
export function listAccountsByEmail(
  q: Reads,
  email: string,
  company_id: number | undefined,
): Promise<Account[]> {
  const t = q.use(userTable);
  return selectRows(q, t, {
    columns: accountColumns(q),
    where: matching(t, { email, company_id }),
    order: asc(t.id),
    limit: LIMITS.sign_in_accounts,
  });
}

/** The account of this id, in any company. */
export const findAccount = batchedRead((q, id: number): Promise<Account | undefined> => {
  const t = q.use(userTable);
  return findRow(q, t, { columns: accountColumns(q), where: eq(t.id, id) });
});

/** Whether the company has an admin besides this user. */
export async function hasOtherAdmin(tx: ReadTx, id: number): Promise<boolean> {
  const users = tx.q.use(userTable);
  return (await countRows(tx.q, users, and(inScope(tx), eq(users.role, "admin"), ne(users.id, id)))) > 0;
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

/** Changes a user; `end_tokens` invalidates the REST tokens issued so far. */
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
  const deleted = await tx.q
    .delete(users)
    .where(and(inScope(tx), eq(users.id, id)))
    .returning({ id: users.id });
  return deleted.length > 0;
}

/** Deletes a client's users, and with them their tokens. */
export async function deleteUsersOfClient({ q, scope }: Tx, client_id: number): Promise<void> {
  const users = q.use(userTable);
  await q.delete(users).where(matching(users, { company_id: scope.company_id, client_id }));
}

function inScope({ q, scope }: ReadTx): SQL | undefined {
  const users = q.use(userTable);
  return eq(users.company_id, scope.company_id);
}
