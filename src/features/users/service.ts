import { operation } from "../../app/operation.ts";
import { type Role, type Scope, scopeOf } from "../../core/access.ts";
import { AppError, invalid, notFound } from "../../core/errors.ts";
import { listPage } from "../../core/page.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import type { Reads } from "../../store/store.ts";
import { findClient } from "../clients/queries.ts";
import { CreateUser, ListUsers, UpdateUser, User } from "./model.ts";
import * as queries from "./queries.ts";
import { checkPassword } from "./rules.ts";

/** Lists the company's users, its clients' users among them; `search` looks into their emails. */
export const listUsers = operation({
  name: "list_users",
  permission: "users:read",
  input: ListUsers,
  output: listed(User),
  run: ({ store, actor }, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listUsers(store.read, scopeOf(actor), filter, slice)),
});

/** Finds one user. Errors: not_found. */
export const getUser = operation({
  name: "get_user",
  permission: "users:read",
  input: ById,
  output: User,
  async run({ store, actor }, { id }) {
    const user = await queries.findUser(store.read, scopeOf(actor), id);
    if (!user) throw notFound("User", id);
    return user;
  },
});

/**
 * Creates a user. Errors: invalid (an email that another user of the company has, a client_id that does not fit the
 * role, a password that is easy to guess).
 */
export const createUser = operation({
  name: "create_user",
  permission: "users:write",
  input: CreateUser,
  output: User,
  async run({ store, actor, now, passwords }, { email, name = null, password, role, client_id = null }) {
    const scope = scopeOf(actor);
    checkPassword("/password", password, email);
    await checkClient(store.read, scope, role, client_id);
    const password_hash = await passwords.hash(password);
    return store.tx(async (q) => {
      await checkClient(q, scope, role, client_id);
      return queries.insertUser(q, scope, now, { email, name, role, client_id, password_hash });
    });
  },
});

/**
 * Replaces a user's email, role and client, and its name and password when they are given; its tokens end unless only
 * the email changes. Errors: not_found, invalid, conflict for the last admin.
 */
export const updateUser = operation({
  name: "update_user",
  permission: "users:write",
  input: UpdateUser,
  output: User,
  async run({ store, actor, now, passwords, note }, { id, email, name, role, client_id = null, password }) {
    const scope = scopeOf(actor);
    if (password !== undefined) checkPassword("/password", password, email);
    const password_hash = password === undefined ? undefined : await passwords.hash(password);
    return store.tx(async (q) => {
      const before = await queries.findUser(q, scope, id);
      if (!before) throw notFound("User", id);
      await checkClient(q, scope, role, client_id);
      if (before.role === "admin" && role !== "admin") await checkAdminRemains(q, scope, id);
      const end_tokens =
        password_hash !== undefined || role !== before.role || client_id !== before.client_id;
      const change = {
        email,
        role,
        client_id,
        ...(name === undefined ? {} : { name }),
        ...(password_hash === undefined ? {} : { password_hash }),
      };
      const user = await queries.updateUser(q, scope, now, id, { ...change, end_tokens });
      if (!user) throw notFound("User", id);
      note({ before, after: user });
      return user;
    });
  },
});

/** Deletes a user and ends its tokens. Errors: not_found, conflict for the last admin. */
export const deleteUser = operation({
  name: "delete_user",
  permission: "users:write",
  input: ById,
  output: Nothing,
  run: ({ store, actor }, { id }) =>
    store.tx(async (q) => {
      const scope = scopeOf(actor);
      const user = await queries.findUser(q, scope, id);
      if (!user) throw notFound("User", id);
      if (user.role === "admin") await checkAdminRemains(q, scope, id);
      await queries.deleteUser(q, scope, id);
      return {};
    }),
});

async function checkClient(q: Reads, scope: Scope, role: Role, client_id: number | null): Promise<void> {
  if (role !== "client") {
    if (client_id !== null) throw invalid("/client_id", "is only for users with the role client");
    return;
  }
  if (client_id === null) throw invalid("/client_id", "is required for the role client");
  if (!(await findClient(q, scope, client_id)))
    throw invalid("/client_id", "names no client of this company");
}

async function checkAdminRemains(q: Reads, scope: Scope, id: number): Promise<void> {
  if (await queries.hasOtherAdmin(q, scope, id)) return;
  throw new AppError("conflict", `Cannot take the last admin away: user ${id} is the company's only one`);
}
