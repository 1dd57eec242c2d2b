import { route, routes } from "../../http/route.ts";
import { createClient, deleteClient, getClient, listClients, updateClient } from "./service.ts";

export const clientRoutes = routes({ tag: "Clients", admits: "company" }, [
  route("GET /clients", listClients, {
    summary: "List clients",
    description: "The whole list, or one page when page or limit is given.",
  }),
  route("POST /clients", createClient, { summary: "Create a client", status: 201 }),
  route("GET /clients/:id", getClient, { summary: "Get a client with its subscriptions" }),
  route("PUT /clients/:id", updateClient, { summary: "Rename a client", if_match: true }),
  route("DELETE /clients/:id", deleteClient, {
    summary: "Delete a client",
    description: "Refused while it has active subscriptions.",
    errors: [409],
  }),
]);
