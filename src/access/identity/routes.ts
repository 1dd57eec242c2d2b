import { KEY_ROLES } from "../../core/access.ts";
import { route, routes } from "../../http/route.ts";
import { whoami } from "./service.ts";

export const identityRoutes = routes({ tag: "Authentication", admits: ["company", "client", ...KEY_ROLES] }, [
  route("GET /whoami", whoami, {
    summary: "Who am I",
    description:
      "Whose call this is, by a user's token or an API key's: role, permissions, company and client, and the time in the company's time zone, by which its days and months are counted.",
  }),
]);
