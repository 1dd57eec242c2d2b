import { operation } from "../../app/operation.ts";
import type { Role } from "../../core/access.ts";
import { AppError, invalid, orNotFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { randomSecret } from "../../core/random_secrets.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import type { ReadTx } from "../../store/store.ts";
import { findClient } from "../../tenancy/clients/queries.ts";
import { CreateUser, ListUsers, UpdateUser, User } from "./model.ts";
import { endOtherWaysIn } from "./new_password.ts";
import * as queries from "./queries.ts";
import { checkPassword } from "./rules.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** Lists the company's users, those of its clients included; `search` matches emails. */
export const listUsers = operation({
  name: "list_users",
  permission: "users:read",
  input: ListUsers,
  output: listed(User),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listUsers(readTx(ctx), filter, slice)),
});

/** Finds one user. Errors: not_found. */
export const getUser = operation({
  name: "get_user",
  permission: "users:read",
  input: ById,
  output: User,
  async run(ctx, { id }) {
    return orNotFound(await queries.findUser(readTx(ctx), id), "User", id);
  },
});

/**
 * Creates a user; without a password it signs in after it has chosen one by a link. Errors: invalid (an email in use in the company, a client_id that does not fit the role, a password
 * that is easy to guess).
 */
export const createUser = operation({
  name: "create_user",
  permission: "users:write",
  input: CreateUser,
  output: User,
  async run(ctx, { email, name = null, password, role, client_id = null }) {
    if (password !== undefined) checkPassword("/password", password, email);
    await checkClient(readTx(ctx), role, client_id);
    // One that nobody knows, until the user has chosen one by a link.
    const password_hash = await ctx.passwords.hash(password ?? randomSecret());
    return transaction(ctx, async (tx) => {
      await checkClient(tx, role, client_id);
      return queries.insertUser(tx, { email, name, role, client_id, password_hash });
    });
  },
});

/**
 * Replaces a user's email, role and client, and its name and password if given. A new role, client or password ends
 * its tokens. Errors: not_found, invalid, conflict for the last admin.
 */
export const updateUser = operation({
  name: "update_user",
  permission: "users:write",
  input: UpdateUser,
  output: User,
  async run(ctx, { id, email, name, role, client_id = null, password }) {
    if (password !== undefined) checkPassword("/password", password, email);
    const password_hash = password === undefined ? undefined : await ctx.passwords.hash(password);
    return transaction(ctx, async (tx) => {
      const before = orNotFound(await queries.findUser(tx, id), "User", id);
      await checkClient(tx, role, client_id);
      if (before.role === "admin" && role !== "admin") await checkAdminRemains(tx, id);
      const end_tokens =
        password_hash !== undefined || role !== before.role || client_id !== before.client_id;
      const change = {
        email,
        role,
        client_id,
        ...(name === undefined ? {} : { name }),
        ...(password_hash === undefined ? {} : { password_hash }),
      };
      const user = orNotFound(await queries.updateUser(tx, id, { ...change, end_tokens }), "User", id);
      // A new role ends no authorization: OAuth clients act with the user's current one.
      if (password_hash !== undefined) await endOtherWaysIn(tx, id);
      ctx.annotateAudit({ before, after: user });
      return user;
    });
  },
});

/** Deletes a user and ends its tokens. Errors: not_found, conflict for the last admin. */
export const deleteUser = operation({
  name: "delete_user",
  permission: "users:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const user = orNotFound(await queries.findUser(tx, id), "User", id);
      if (user.role === "admin") await checkAdminRemains(tx, id);
      await queries.deleteUser(tx, id);
      return {};
    }),
});

async function checkClient(tx: ReadTx, role: Role, client_id: number | null): Promise<void> {
  if (role !== "client") {
    if (client_id !== null) throw invalid("/client_id", "is only for users with the role client");
    return;
  }
  if (client_id === null) throw invalid("/client_id", "is required for the role client");
  if (!(await findClient(tx, client_id))) throw invalid("/client_id", "names no client of this company");
}

async function checkAdminRemains(tx: ReadTx, id: number): Promise<void> {
  if (await queries.hasOtherAdmin(tx, id)) return;
  throw new AppError("conflict", `Cannot remove the last admin: user ${id} is the company's only one`);
}
