import { Type } from "@sinclair/typebox";
import { call } from "../app/operation.ts";
import { Id } from "../core/schema.ts";
import { FormStructure, FormVerdict } from "./model.ts";
import {
  createForm,
  deleteForm,
  getForm,
  listForms,
  listMyForms,
  updateForm,
  validateForm,
} from "./service.ts";
import { page, search } from "../mcp/params.ts";
import { action, finder, saver } from "../mcp/shapes.ts";
import { tool } from "../mcp/tool.ts";
import { describe } from "../mcp/wire_schema.ts";

const findForms = tool({
  name: "forms_find_forms",
  title: "Find clients' forms",
  description:
    "Lists the forms of the company's clients, or one by form_id; response_format detailed adds their config. Only clients can change their forms.",
  ...finder("form_id", listForms, getForm),
  finds: ["form_id", "form_config_id"],
  details: ["config"],
  input: {
    form_id: Type.Optional(describe(Id, "One form; the other filters then do not apply")),
    client_id: Type.Optional(describe(Id, "The client's id")),
    search,
    is_active: describe(listForms.input.properties.is_active, "Only active, or only inactive ones"),
    ...page,
  },
});

/** For company users. */
export const formTools = [findForms];

const findMyForms = tool({
  name: "forms_find_my_forms",
  title: "Find my forms",
  description: "Lists your forms, or one by form_id; response_format detailed adds their config.",
  ...finder("form_id", listMyForms, getForm),
  level: "client",
  details: ["config"],
  input: {
    form_id: Type.Optional(describe(Id, "One form; the other filters then do not apply")),
    search,
    is_active: describe(listMyForms.input.properties.is_active, "Only active, or only inactive ones"),
    ...page,
  },
});

/** Documented by its structure but accepted unchecked: `checkForm` names every problem at once. */
const config = Type.Unknown({ "x-schema": FormStructure, "x-says": "The form's title and fields" });

const checkConfig = tool({
  name: "forms_validate_my_form",
  title: "Check a form",
  description:
    "Names every problem of a form's config with its place. Saves nothing. Use it before forms_save_my_form.",
  level: "client",
  operations: [validateForm],
  input: { config },
  output: FormVerdict,
  run: (ctx, input) => call(ctx, validateForm, input),
});

const form = updateForm.input.properties;

const saveForm = tool({
  name: "forms_save_my_form",
  title: "Create or replace a form",
  description:
    "Creates a form, or replaces the one that form_id names: name, description and the whole config. Check the config with forms_validate_my_form first.",
  ...saver("form_id", createForm, updateForm),
  level: "client",
  takes_request_id: true,
  is_destructive: true,
  input: {
    form_id: Type.Optional(describe(Id, "The form to replace; leave out to create one")),
    name: describe(form.name, "The form's name"),
    description: describe(form.description, "What it is for"),
    config: Type.Unknown({
      "x-says": "The form's title and fields, in the shape that forms_validate_my_form takes",
    }),
    is_active: describe(form.is_active, "Whether it is in use; only with form_id"),
  },
});

const removeForm = tool({
  name: "forms_delete_my_form",
  title: "Delete a form",
  description: "Deletes one of your forms for good. Ask the person first.",
  ...action(deleteForm, "form_id"),
  level: "client",
  is_destructive: true,
  input: { form_id: describe(Id, "The form's id") },
  async asks(ctx, { form_id: id }) {
    const { name } = await call(ctx, getForm, { id });
    return `Deletes the form ${name} (${id}), for good.`;
  },
});

/** For client users. */
export const myFormTools = [findMyForms, checkConfig, saveForm, removeForm];
