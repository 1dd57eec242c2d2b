import { call } from "../../app/operation.ts";
import { Nothing } from "../../core/schema.ts";
import { answers, data, dataOf } from "../../http/responses.ts";
import { endpoint, route, routes } from "../../http/route.ts";
import { endedCookie } from "../../http/session_cookie.ts";
import { changePassword, getMe, login, logout } from "./service.ts";

export const loginRoutes = routes({ tag: "Authentication", admits: "open" }, [
  route("POST /login", login, {
    summary: "Sign in",
    description: "Answers a token for the Authorization header, valid for 24 hours.",
    errors: [401],
    bare: true,
  }),
]);

export const logoutRoutes = routes({ tag: "Authentication", admits: "any" }, [
  // It has no body and takes no Idempotency-Key: a repeat would come with an ended token.
  endpoint(
    "POST /logout",
    {
      response: answers({ 200: dataOf(Nothing) }),
      detail: {
        operationId: logout.name,
        summary: "Sign out",
        description:
          "Ends the token of this request at once, on every instance. Other tokens of the user stay.",
      },
    },
    ({ ctx }) => data(call(ctx, logout, {})),
  ),
  // By hand as well: it takes the cookie away.
  endpoint(
    "DELETE /session",
    {
      response: answers({ 200: dataOf(Nothing) }),
      detail: {
        operationId: "end_session",
        summary: "Sign this browser out",
        description: "Ends its session at once, on every instance. Other sessions of the user stay.",
      },
    },
    async ({ deps: { config }, ctx }) => {
      const done = await call(ctx, logout, {});
      return Response.json({ data: done }, { headers: { "set-cookie": endedCookie(config) } });
    },
  ),
]);

export const profileRoutes = routes({ tag: "Authentication", admits: "any" }, [
  route("GET /me", getMe, { summary: "Get the signed-in user and permissions" }),
  route("POST /me/password", changePassword, {
    summary: "Change my password",
    description: "Ends every token issued before, this one too.",
  }),
]);
