import type { Static } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { AppError, invalid, orNotFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { changedMeanwhile } from "../conflict.ts";
import { loanReadTx, type LoanScope, loanTransaction } from "../scope.ts";
import {
  ConsentDefinition,
  type ConsentText,
  CreateDefinition,
  CreateDefinitionVersion,
  ListDefinitions,
  ListPublishedDefinitions,
  UpdateDefinition,
} from "./model.ts";
import * as queries from "./queries.ts";
import { type DefinitionTrigger, nextDefinitionStatus, textOf, textSha256 } from "./rules.ts";

/** Lists definitions by code, locale and version; whole unless a page is requested. */
export const listConsentDefinitions = operation({
  name: "list_consent_definitions",
  permission: "lending:read",
  input: ListDefinitions,
  output: listed(ConsentDefinition),
  run: list,
});

/** Lists the published definitions, which borrowers can consent to. */
export const listPublishedConsentDefinitions = operation({
  name: "list_published_consent_definitions",
  permission: "borrowing:read",
  input: ListPublishedDefinitions,
  output: listed(ConsentDefinition),
  run: (ctx, query) => list(ctx, { ...query, status: "published" }),
});

/** Finds one definition. Errors: not_found. */
export const getConsentDefinition = operation({
  name: "get_consent_definition",
  permission: "lending:read",
  input: ById,
  output: ConsentDefinition,
  run: (ctx, { id }) => findDefinition(loanReadTx(ctx), id),
});

/**
 * Creates the first version of a definition, as a draft. Errors: conflict when the code already has one in that
 * locale. Decision 0106.
 */
export const createConsentDefinition = operation({
  name: "create_consent_definition",
  permission: "lending:write",
  input: CreateDefinition,
  output: ConsentDefinition,
  run: (ctx, { locale = "en", ...input }) =>
    loanTransaction(ctx, async (tx) => {
      const text = { data_life_days: null, validity_days: null, ...input, locale };
      if ((await queries.findLastVersion(tx, text)) > 0) {
        throw new AppError(
          "conflict",
          `Cannot create consent definition ${text.code}: it exists in ${locale}; make a new version of it`,
        );
      }
      return insertVersion(tx, text, 1);
    }),
});

/**
 * Changes the text of a draft; fields left out keep their value. Errors: not_found; invalid for another code or
 * locale; conflict once it is published.
 */
export const updateConsentDefinition = operation({
  name: "update_consent_definition",
  permission: "lending:write",
  input: UpdateDefinition,
  output: ConsentDefinition,
  run: (ctx, { id, ...input }) =>
    changeDefinition(ctx, id, "edit", async (_, before) => {
      for (const field of ["code", "locale"] as const) {
        const value = before[field];
        if ((input[field] ?? value) !== value) throw invalid(`/${field}`, `must stay ${value}`);
      }
      const text = { ...textOf(before), ...input };
      return { ...text, text_sha256: textSha256(text) };
    }),
});

/** Publishes a draft and retires the version before it. Errors: not_found, conflict. */
export const publishConsentDefinition = operation({
  name: "publish_consent_definition",
  permission: "lending:write",
  input: ById,
  output: ConsentDefinition,
  run: (ctx, { id }) =>
    changeDefinition(ctx, id, "publish", async (tx, draft) => {
      await queries.retirePublished(tx, draft);
      return { published_at: iso(tx.now) };
    }),
});

/** Retires a published definition: borrowers can no longer consent to it. Errors: not_found, conflict. */
export const retireConsentDefinition = operation({
  name: "retire_consent_definition",
  permission: "lending:write",
  input: ById,
  output: ConsentDefinition,
  run: (ctx, { id }) => changeDefinition(ctx, id, "retire", async (tx) => ({ retired_at: iso(tx.now) })),
});

/**
 * Creates the next version of a definition, as a draft: its text with the changes given. Errors: not_found.
 * See docs/loans.md#states.
 */
export const createConsentDefinitionVersion = operation({
  name: "create_consent_definition_version",
  permission: "lending:write",
  target: "consent_definition",
  input: CreateDefinitionVersion,
  output: ConsentDefinition,
  run: (ctx, { id, ...changes }) =>
    loanTransaction(ctx, async (tx) => {
      const text = { ...textOf(await findDefinition(tx, id)), ...changes };
      const last = await queries.findLastVersion(tx, text);
      return insertVersion(tx, text, last + 1);
    }),
});

function list(ctx: Context, { page, limit, ...filter }: Static<typeof ListDefinitions>) {
  return listPage({ page, limit }, (slice) => queries.listDefinitions(loanReadTx(ctx), filter, slice));
}

/** Errors: not_found. */
async function findDefinition(tx: ReadTx<LoanScope>, id: number): Promise<ConsentDefinition> {
  return orNotFound(await queries.findDefinition(tx, id), "Consent definition", id);
}

function insertVersion(tx: Tx<LoanScope>, text: ConsentText, version: number): Promise<ConsentDefinition> {
  return queries.insertDefinition(tx, { ...text, version, text_sha256: textSha256(text) });
}

/** Applies a trigger to a definition, with the changes that `prepare` returns. Errors: not_found, conflict. */
function changeDefinition(
  ctx: Context,
  id: number,
  trigger: DefinitionTrigger,
  prepare: (tx: Tx<LoanScope>, before: ConsentDefinition) => Promise<Partial<ConsentDefinition>>,
): Promise<ConsentDefinition> {
  return loanTransaction(ctx, async (tx) => {
    const before = await findDefinition(tx, id);
    const status = nextDefinitionStatus(before, trigger);
    const after = await queries.updateDefinition(tx, before, { ...(await prepare(tx, before)), status });
    if (!after) throw changedMeanwhile(`${trigger} consent definition ${id}`);
    // The audit entry of the other triggers is complete with the operation's name.
    if (trigger === "edit") ctx.annotateAudit({ before, after });
    return after;
  });
}
