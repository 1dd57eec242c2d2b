import { route, routes } from "../../http/route.ts";
import { acceptUserLink, createUserLink, readUserLink } from "./service.ts";

export const userLinkRoutes = routes({ tag: "Users", admits: "company" }, [
  route("POST /users/:id/link", createUserLink, {
    summary: "Create a link by which a user chooses a password",
    description:
      "Admins only. An invitation, or a way back for who forgot the password: it works once, for 72 hours, until the password changes otherwise or another link is made. The service sends no mail: pass it on yourself.",
    status: 201,
  }),
]);

export const openUserLinkRoutes = routes({ tag: "Users", admits: "open" }, [
  route("POST /user-links/read", readUserLink, {
    summary: "Say whose a link is",
    errors: [404],
  }),
  route("POST /user-links/accept", acceptUserLink, {
    summary: "Choose a password by a link",
    description:
      "Ends every token, session and authorization of the user, and the link. Sign in with it then.",
    errors: [404],
  }),
]);
