import { route, routes } from "../http/route.ts";
import {
  createForm,
  deleteForm,
  getForm,
  listForms,
  listMyForms,
  updateForm,
  validateForm,
} from "./service.ts";

const RULES =
  "Field names must be unique; a select needs options, all different, and no other type has any; the whole config has at most 64 KB. A 422 names every problem.";

export const formRoutes = routes({ tag: "Forms", admits: "company" }, [
  route("GET /forms", listForms, {
    summary: "List the clients' forms",
    description: "By id, always one page; search looks into names.",
  }),
  route("GET /forms/:id", getForm, { summary: "Get a form" }),
]);

export const myFormRoutes = routes({ tag: "Self-service", admits: "client" }, [
  route("GET /my/forms", listMyForms, {
    summary: "List my forms",
    description: "The whole list, or one page when page or limit is given; search looks into names.",
  }),
  route("POST /my/forms", createForm, {
    summary: "Create a form",
    description: RULES,
    status: 201,
    errors: [409],
  }),
  route("POST /my/forms/validate", validateForm, {
    summary: "Check a form's config",
    description: "Names every problem with its place in the config. Nothing is saved.",
    bare: true,
  }),
  route("GET /my/forms/:id", getForm, { summary: "Get one of my forms" }),
  route("PUT /my/forms/:id", updateForm, {
    summary: "Replace one of my forms",
    description: `is_active stays as it is when left out. ${RULES}`,
    if_match: true,
  }),
  route("DELETE /my/forms/:id", deleteForm, { summary: "Delete one of my forms" }),
]);
