import { route, routes } from "../../http/route.ts";
import { createUser, deleteUser, getUser, listUsers, updateUser } from "./service.ts";

export const userRoutes = routes({ tag: "Users", admits: "company" }, [
  route("GET /users", listUsers, { summary: "List users", description: "Admins only." }),
  route("POST /users", createUser, {
    summary: "Create a user",
    description:
      "client_id goes with the role client, and only with it. Without a password the user signs in after choosing one by a link.",
    status: 201,
  }),
  route("GET /users/:id", getUser, { summary: "Get a user" }),
  route("PUT /users/:id", updateUser, {
    summary: "Change a user",
    description: "A new role, client or password ends the user's tokens.",
    errors: [409],
    if_match: true,
  }),
  route("DELETE /users/:id", deleteUser, {
    summary: "Delete a user",
    description: "Never the company's last admin.",
    errors: [409],
  }),
]);
