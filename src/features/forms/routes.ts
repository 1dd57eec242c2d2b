import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed, Nothing, paged } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import {
  CreateForm,
  FormConfig,
  FormVerdict,
  ListForms,
  ListMyForms,
  UpdateFormBody,
  ValidateForm,
} from "./model.ts";
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
  "Names of fields are unique; a select has options, all different, and nothing else has any; the whole config has at most 64 KB. A 422 names every problem.";

export const formRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/forms", tags: ["Forms"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listForms, query), {
      query: fromText(ListForms),
      response: answers({ 200: paged(FormConfig) }),
      detail: {
        operationId: listForms.name,
        summary: "List the clients' forms",
        description: "By id, always one page; search looks into names.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getForm, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(FormConfig), 404: ErrorBody }),
      detail: { operationId: getForm.name, summary: "Get a form" },
    });

export const myFormRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/my/forms", tags: ["Self-service"] })
    .use(session(deps, "client"))
    .get("", ({ ctx, query }) => call(ctx, listMyForms, query), {
      query: fromText(ListMyForms),
      response: answers({ 200: listed(FormConfig) }),
      detail: {
        operationId: listMyForms.name,
        summary: "List my forms",
        description: "Whole, or one page when page or limit is given; search looks into names.",
      },
    })
    .post("", async ({ ctx, body, status }) => status(201, await data(call(ctx, createForm, body))), {
      body: CreateForm,
      response: answers({ 201: dataOf(FormConfig), 409: ErrorBody }),
      detail: { operationId: createForm.name, summary: "Create a form", description: RULES },
    })
    .post("/validate", ({ ctx, body }) => call(ctx, validateForm, body), {
      body: ValidateForm,
      response: answers({ 200: FormVerdict }),
      detail: {
        operationId: validateForm.name,
        summary: "Check a form's config",
        description: "Names every problem with its place in the config, and keeps nothing.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getForm, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(FormConfig), 404: ErrorBody }),
      detail: { operationId: getForm.name, summary: "Get one of my forms" },
    })
    .put("/:id", ({ ctx, params, body }) => data(call(ctx, updateForm, { ...params, ...body })), {
      params: IdPath,
      body: UpdateFormBody,
      response: answers({ 200: dataOf(FormConfig), 404: ErrorBody }),
      detail: {
        operationId: updateForm.name,
        summary: "Replace one of my forms",
        description: `is_active stays as it is when it is left out. ${RULES}`,
      },
    })
    .delete("/:id", ({ ctx, params }) => data(call(ctx, deleteForm, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Nothing), 404: ErrorBody }),
      detail: { operationId: deleteForm.name, summary: "Delete one of my forms" },
    });
