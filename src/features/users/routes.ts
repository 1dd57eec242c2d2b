import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { CreateUser, ListUsers, User, UserChange } from "./model.ts";
import { createUser, deleteUser, getUser, listUsers, updateUser } from "./service.ts";

export const userRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/users", tags: ["Users"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listUsers, query), {
      query: fromText(ListUsers),
      response: answers({ 200: listed(User) }),
      detail: { operationId: listUsers.name, summary: "List users", description: "Admins only." },
    })
    .post("", async ({ ctx, body, status }) => status(201, await data(call(ctx, createUser, body))), {
      body: CreateUser,
      response: answers({ 201: dataOf(User) }),
      detail: {
        operationId: createUser.name,
        summary: "Create a user",
        description: "client_id goes with the role client, and only with it.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getUser, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(User), 404: ErrorBody }),
      detail: { operationId: getUser.name, summary: "Get a user" },
    })
    .put("/:id", ({ ctx, params, body }) => data(call(ctx, updateUser, { ...params, ...body })), {
      params: IdPath,
      body: UserChange,
      response: answers({ 200: dataOf(User), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: updateUser.name,
        summary: "Change a user",
        description: "A new role, client or password ends the user's tokens.",
      },
    })
    .delete("/:id", ({ ctx, params }) => data(call(ctx, deleteUser, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Nothing), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: deleteUser.name,
        summary: "Delete a user",
        description: "Never the company's last admin.",
      },
    });
