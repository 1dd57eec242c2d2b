import { Value } from "@sinclair/typebox/value";
import { operation } from "../app/operation.ts";
import type { Scope } from "../core/access.ts";
import { SHARED_LIMITS } from "../core/limits.ts";
import { LIMITS } from "./limits.ts";
import { AppError, orNotFound } from "../core/errors.ts";
import { listPage, pagedList } from "../core/pagination.ts";
import { ById, listed, Nothing, paged } from "../core/schema.ts";
import { iso } from "../core/time.ts";
import {
  CreateForm,
  FormConfig,
  FormStructure,
  FormVerdict,
  ListForms,
  ListMyForms,
  UpdateForm,
  ValidateForm,
} from "./model.ts";
import * as queries from "./queries.ts";
import { checkForm, problemText } from "./rules.ts";
import { readTx, transaction } from "../app/transaction.ts";

/** Lists the forms of all clients by id, always one page. Decision 0070. */
export const listForms = operation({
  name: "list_forms",
  permission: "forms:read",
  input: ListForms,
  output: paged(FormConfig),
  run: (ctx, { page, limit, ...filter }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listForms(readTx(ctx), filter, slice),
    ),
});

/** Lists the client's own forms by id; whole unless a page is requested. */
export const listMyForms = operation({
  name: "list_my_forms",
  permission: "forms:read",
  input: ListMyForms,
  output: listed(FormConfig),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listForms(readTx(ctx), filter, slice)),
});

/** Finds one form. Errors: not_found, for a client user also when it is another client's. */
export const getForm = operation({
  name: "get_form",
  permission: "forms:read",
  input: ById,
  output: FormConfig,
  run: async (ctx, { id }) => orNotFound(await queries.findForm(readTx(ctx), id), "Form", id),
});

/**
 * Creates a form of the caller's client, active. Errors: invalid naming every problem of the config, conflict at the
 * limit of forms, forbidden for callers that have no client. Decision 0070.
 */
export const createForm = operation({
  name: "create_form",
  permission: "forms:write",
  input: CreateForm,
  output: FormConfig,
  async run(ctx, { name, description = null, config }) {
    const scope = clientScope(readTx(ctx).scope);
    const form = { name, description, config: readConfig(config) };
    return transaction(ctx, async (tx) => {
      if ((await queries.countForms(tx)) >= LIMITS.forms_client) {
        throw new AppError("conflict", `Cannot add a form: the client has ${LIMITS.forms_client} already`);
      }
      return queries.insertForm({ ...tx, scope }, form);
    });
  },
});

/** Validates a config without saving anything. */
export const validateForm = operation({
  name: "validate_form",
  permission: "forms:read",
  input: ValidateForm,
  output: FormVerdict,
  async run(_, { config }) {
    const errors = checkForm(config).map(problemText);
    return { valid: errors.length === 0, errors };
  },
});

/**
 * Replaces a form; `is_active` stays as it is when it is left out. Errors: not_found, invalid naming every
 * problem of the config.
 */
export const updateForm = operation({
  name: "update_form",
  permission: "forms:write",
  input: UpdateForm,
  output: FormConfig,
  async run(ctx, { id, name, description = null, config, is_active }) {
    const change = {
      name,
      description,
      config: readConfig(config),
      ...(is_active === undefined ? {} : { is_active }),
    };
    return transaction(ctx, async (tx) => {
      const before = orNotFound(await queries.findForm(tx, id), "Form", id);
      const form = orNotFound(await queries.updateForm(tx, id, change), "Form", id);
      ctx.annotateAudit({ before, after: form });
      return form;
    });
  },
});

/** Deletes a form. Errors: not_found. */
export const deleteForm = operation({
  name: "delete_form",
  permission: "forms:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  async run(ctx, { id }) {
    const deletion = { deleted_at: iso(ctx.now) };
    orNotFound(await transaction(ctx, (tx) => queries.updateForm(tx, id, deletion)), "Form", id);
    return {};
  },
});

/** The scope of the caller's client. Errors: forbidden for callers that have no client. */
function clientScope({ company_id, client_id }: Scope): Required<Scope> {
  if (client_id === undefined) throw new AppError("forbidden", "Cannot add a form: only client users may");
  return { company_id, client_id };
}

/** A valid config, as it was sent. Errors: invalid naming every problem. */
function readConfig(config: unknown): FormStructure {
  const problems = checkForm(config);
  if (problems.length === 0 && Value.Check(FormStructure, config)) return config;
  const details = problems.map(({ path, message }) => ({ path: `/config${path}`, message }));
  const summary = problems.slice(0, 3).map(problemText).join("; ");
  const suffix = problems.length > 3 ? `; and ${problems.length - 3} more` : "";
  throw new AppError("invalid", `The form can't be used: ${summary}${suffix}`, { details });
}
