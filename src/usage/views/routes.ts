import { myRoutes, route, routes } from "../../http/route.ts";
import { createView, deleteView, getView, listViews, updateView } from "./service.ts";

const SHARED =
  "A question as of `POST /usage/series`. A view is its user's own; with `shared`, which takes the permission usage:write, all users of the company see it, but no client users.";

const VIEWS = [
  route("GET /views", listViews, {
    summary: "List saved views",
    my: "List my saved views",
    description: "Your own and the shared ones, by id, always one page; search looks into names.",
  }),
  route("POST /views", createView, {
    summary: "Save a view",
    my: "Save a view of my usage",
    description: SHARED,
    status: 201,
    errors: [409],
  }),
  route("GET /views/:id", getView, { summary: "Get a saved view", my: "Get one of my saved views" }),
  route("PUT /views/:id", updateView, {
    summary: "Replace a saved view",
    my: "Replace one of my saved views",
    description: `A full replacement. ${SHARED}`,
    if_match: true,
  }),
  route("DELETE /views/:id", deleteView, {
    summary: "Delete a saved view",
    my: "Delete one of my saved views",
  }),
];

export const viewRoutes = routes({ tag: "Usage", admits: "company" }, VIEWS);

/** The same for client users: their own views alone. */
export const myViewRoutes = myRoutes(VIEWS);
