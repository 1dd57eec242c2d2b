import { route, routes } from "../../http/route.ts";
import { endAuthorization, listAuthorizations } from "./service.ts";

export const authorizationRoutes = routes({ tag: "Agents", admits: "any" }, [
  route("GET /me/authorizations", listAuthorizations, {
    summary: "List the OAuth clients that I authorized",
    description: "Newest first.",
  }),
  route("DELETE /me/authorizations/:id", endAuthorization, {
    summary: "Revoke an OAuth client's authorization",
    description: "Its tokens end at once.",
  }),
]);
