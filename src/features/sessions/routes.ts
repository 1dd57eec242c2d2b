import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { Nothing } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { session } from "../../http/session.ts";
import { ChangePassword, Login, LoginResponse, Me } from "./model.ts";
import { changePassword, getMe, login, logout } from "./service.ts";

export const loginRoutes = (deps: Deps) =>
  new Elysia({ tags: ["Authentication"] })
    .use(session(deps, "open"))
    .post("/login", ({ ctx, body }) => call(ctx, login, body), {
      body: Login,
      response: answers({ 200: LoginResponse, 401: ErrorBody }),
      detail: {
        operationId: login.name,
        summary: "Sign in",
        description: "Answers a token for the Authorization header, valid for 24 hours.",
        security: [],
      },
    });

export const logoutRoutes = (deps: Deps) =>
  new Elysia({ tags: ["Authentication"] })
    // Nothing is asked for, and a repeat comes with a token that has ended.
    .use(session(deps, "any", { reads_body: false }))
    .post("/logout", ({ ctx }) => data(call(ctx, logout, {})), {
      response: answers({ 200: dataOf(Nothing) }),
      detail: {
        operationId: logout.name,
        summary: "Sign out",
        description:
          "Ends the token of this request at once, on every instance. Other tokens of the user stay.",
      },
    });

export const profileRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/me", tags: ["Authentication"] })
    .use(session(deps, "any"))
    .get("", ({ ctx }) => data(call(ctx, getMe, {})), {
      response: answers({ 200: dataOf(Me) }),
      detail: { operationId: getMe.name, summary: "Who am I, and what may I do" },
    })
    .post("/password", ({ ctx, body }) => data(call(ctx, changePassword, body)), {
      body: ChangePassword,
      response: answers({ 200: dataOf(Nothing) }),
      detail: {
        operationId: changePassword.name,
        summary: "Change my password",
        description: "Ends every token issued before, this one too.",
      },
    });
