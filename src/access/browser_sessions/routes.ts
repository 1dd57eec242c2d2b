import { call } from "../../app/operation.ts";
import { answers, dataOf, ErrorBody } from "../../http/responses.ts";
import { endpoint, route, routes } from "../../http/route.ts";
import { requireSameOrigin, sessionCookie } from "../../http/session_cookie.ts";
import { LIMITS } from "../limits.ts";
import { Login, Me } from "../sessions/model.ts";
import { endBrowserSession, listBrowserSessions, openBrowserSession } from "./service.ts";

const TAG = "Authentication";

/** An endpoint by hand: it answers with a cookie. */
export const sessionRoutes = routes({ tag: TAG, admits: "open" }, [
  endpoint(
    "POST /session",
    {
      body: Login,
      response: answers({ 200: dataOf(Me), 401: ErrorBody }),
      detail: {
        operationId: openBrowserSession.name,
        summary: "Sign a browser in",
        description:
          "For pages of this service: sets a cookie, which counts where no Authorization header is sent. It ends after 12 hours without use, and 7 days at most. Programs use `POST /login`.",
      },
    },
    async ({ deps: { config }, ctx, input, request }) => {
      requireSameOrigin(config, request);
      const user_agent = request.headers.get("user-agent");
      const { token, me } = await call(ctx, openBrowserSession, { ...input, user_agent });
      const cookie = sessionCookie(config, token, LIMITS.session_hours * 3_600);
      return Response.json({ data: me }, { headers: { "set-cookie": cookie } });
    },
  ),
]);

export const mySessionRoutes = routes({ tag: TAG, admits: "any" }, [
  route("GET /me/sessions", listBrowserSessions, {
    summary: "List the browsers in which I am signed in",
    description: "Newest first.",
  }),
  route("DELETE /me/sessions/:id", endBrowserSession, {
    summary: "Sign one of my browsers out",
    description: "Its session ends at once.",
  }),
]);
