import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { AppError, invalid, notFound } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { listPage } from "../../core/pagination.ts";
import { deleteInBatches } from "../../core/delete_in_batches.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { onConsentRevoked } from "../applications/on_consent_revoked.ts";
import { extendIdleDeadline } from "../applications/transition.ts";
import { findApplication } from "../applications/queries.ts";
import { isFinal, stateAt } from "../applications/rules.ts";
import {
  Consent,
  ConsentDefinition,
  type ConsentText,
  CreateDefinition,
  CreateDefinitionVersion,
  ExpiredConsents,
  GrantConsent,
  ListConsents,
  ListDefinitions,
  ListPublishedDefinitions,
  RevokeConsent,
  UpdateDefinition,
} from "./model.ts";
import * as queries from "./queries.ts";
import {
  checkRevocable,
  consentEvent,
  endOf,
  holds,
  nextDefinitionStatus,
  readEvidence,
  subjectOf,
  textOf,
  textSha256,
} from "./rules.ts";
import { transaction } from "../../app/transaction.ts";
import { loanReadTx, type LoanScope, loanTransaction } from "../scope.ts";

/** Lists definitions by code, language and version; whole when no page is asked for. */
export const listConsentDefinitions = operation({
  name: "list_consent_definitions",
  permission: "lending:read",
  input: ListDefinitions,
  output: listed(ConsentDefinition),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listDefinitions(loanReadTx(ctx), filter, slice)),
});

/** Lists what borrowers may be asked to consent to now: the published definitions. */
export const listPublishedConsentDefinitions = operation({
  name: "list_published_consent_definitions",
  permission: "borrowing:read",
  input: ListPublishedDefinitions,
  output: listed(ConsentDefinition),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) =>
      queries.listDefinitions(loanReadTx(ctx), { ...filter, status: "published" }, slice),
    ),
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
 * Creates the first version of a definition, as a draft. Errors: conflict when its code has one in that language
 * already. Decision 0106.
 */
export const createConsentDefinition = operation({
  name: "create_consent_definition",
  permission: "lending:write",
  input: CreateDefinition,
  output: ConsentDefinition,
  run: (ctx, { locale = "en", ...said }) =>
    loanTransaction(ctx, async (tx) => {
      const text = { data_life_days: null, validity_days: null, ...said, locale };
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
 * Changes the text of a draft; what is left out stays as it is. Errors: not_found; invalid for another code or language; conflict once it is
 * published.
 */
export const updateConsentDefinition = operation({
  name: "update_consent_definition",
  permission: "lending:write",
  input: UpdateDefinition,
  output: ConsentDefinition,
  run: (ctx, { id, ...said }) =>
    loanTransaction(ctx, async (tx) => {
      const before = await findDefinition(tx, id);
      const status = nextDefinitionStatus(before, "edit");
      const { code, locale } = before;
      for (const [field, kept, asked] of [
        ["code", code, said.code],
        ["locale", locale, said.locale],
      ] as const) {
        if (asked !== undefined && asked !== kept) throw invalid(`/${field}`, `must stay ${kept}`);
      }
      const text = { ...textOf(before), ...said, code, locale };
      const change = { ...text, status, text_sha256: textSha256(text) };
      const after = await queries.updateDefinition(tx, before, change);
      if (!after) throw justChanged("edit consent definition", id);
      ctx.annotateAudit({ before, after });
      return after;
    }),
});

/**
 * Publishes a draft: agents ask for it from now on, and the version before it is retired. Errors: not_found,
 * conflict.
 */
export const publishConsentDefinition = operation({
  name: "publish_consent_definition",
  permission: "lending:write",
  input: ById,
  output: ConsentDefinition,
  run: (ctx, { id }) =>
    loanTransaction(ctx, async (tx) => {
      const draft = await findDefinition(tx, id);
      const status = nextDefinitionStatus(draft, "publish");
      await queries.retirePublished(tx, draft);
      const change = { status, published_at: iso(ctx.now) };
      const published = await queries.updateDefinition(tx, draft, change);
      if (!published) throw justChanged("publish consent definition", id);
      return published;
    }),
});

/** Retires a published definition: nobody can consent to it any more. Errors: not_found, conflict. */
export const retireConsentDefinition = operation({
  name: "retire_consent_definition",
  permission: "lending:write",
  input: ById,
  output: ConsentDefinition,
  run: (ctx, { id }) =>
    loanTransaction(ctx, async (tx) => {
      const found = await findDefinition(tx, id);
      const change = { status: nextDefinitionStatus(found, "retire"), retired_at: iso(ctx.now) };
      const retired = await queries.updateDefinition(tx, found, change);
      if (!retired) throw justChanged("retire consent definition", id);
      return retired;
    }),
});

/**
 * Makes the next version of a definition, as a draft: its text, but for what is said to differ. Errors: not_found.
 * See docs/loans.md#states.
 */
export const createConsentDefinitionVersion = operation({
  name: "create_consent_definition_version",
  permission: "lending:write",
  target: "consent_definition",
  input: CreateDefinitionVersion,
  output: ConsentDefinition,
  run: (ctx, { id, ...said }) =>
    loanTransaction(ctx, async (tx) => {
      const text = { ...textOf(await findDefinition(tx, id)), ...said };
      const last = await queries.findLastVersion(tx, text);
      return insertVersion(tx, text, last + 1);
    }),
});

/** Lists an application's consents, whatever became of them. Errors: not_found. */
export const listConsents = operation({
  name: "list_consents",
  permission: "lending:read",
  input: ListConsents,
  output: listed(Consent),
  run: listOf,
});

/** The same for the agent, of its own applications. Errors: not_found. */
export const listOwnConsents = operation({
  name: "list_own_consents",
  permission: "borrowing:read",
  input: ListConsents,
  output: listed(Consent),
  run: listOf,
});

/**
 * Writes down that an application's borrower has consented to a published definition. Errors: not_found; invalid
 * for a definition that is not published, or evidence that can't be; conflict when it is granted already, or the
 * application has come to its end. Decision 0106.
 */
export const grantConsent = operation({
  name: "grant_consent",
  permission: "borrowing:write",
  input: GrantConsent,
  output: Consent,
  run: (ctx, { id: application_id, definition_id, evidence }) =>
    loanTransaction(ctx, async (tx) => {
      const application = await findApplication(tx, application_id);
      if (!application) throw notFound("Application", application_id);
      const status = stateAt(application, ctx.now);
      if (isFinal(status)) {
        const state = `application ${application_id} is ${status}`;
        throw new AppError("conflict", `Cannot grant the consent: ${state}`);
      }
      const definition = await queries.findDefinition(tx, definition_id);
      if (definition?.status !== "published") {
        throw invalid("/definition_id", "must be the id of a published consent definition");
      }
      const { code, version, locale, text_sha256, validity_days } = definition;
      const evidence_read = readEvidence(evidence, validity_days, ctx.now);
      await makeRoom(tx, { application_id, definition_id });
      const consent = await queries.insertConsent(tx, {
        application_id,
        definition_id,
        code,
        version,
        locale,
        text_sha256,
        ...subjectOf(application),
        evidence: evidence_read,
        granted_at: iso(ctx.now),
        expires_at: endOf(instant(evidence_read.captured_at), validity_days),
      });
      await extendIdleDeadline(tx, application);
      await recordEvents(tx, [consentEvent("granted", consent)]);
      return consent;
    }),
});

/**
 * Takes a consent back, as a borrower may at any time. An application that needs it and is submitted or under
 * review is moved to action_required. Errors: not_found, conflict unless it is granted. See docs/loans.md#states.
 */
export const revokeConsent = operation({
  name: "revoke_consent",
  permission: "borrowing:write",
  input: RevokeConsent,
  output: Consent,
  run: (ctx, { id, reason = null }) =>
    loanTransaction(ctx, async (tx) => {
      const found = await queries.findConsent(tx, id);
      if (!found) throw notFound("Consent", id);
      checkRevocable(found, ctx.now);
      const consent = await queries.revokeConsent(tx, id, reason);
      if (!consent) throw justChanged("revoke consent", id);
      await recordEvents(tx, [consentEvent("revoked", consent)]);
      // What another consent of the code still covers is not lost.
      if (!(await queries.hasConsentOf(tx, consent))) await onConsentRevoked(tx, consent);
      return consent;
    }),
});

/** Ends the consents whose time has run out. May run twice at once: each is ended once. See docs/loans.md#states. */
export const expireConsents = operation({
  name: "expire_consents",
  permission: "lending:write",
  unaudited: true,
  input: Nothing,
  output: ExpiredConsents,
  async run(ctx) {
    let all = 0;
    await deleteInBatches(ctx.background, async (limit) => {
      const expired = await transaction(ctx, (tx) => expireDue(tx, { limit }));
      all += expired;
      return expired;
    });
    return { expired: all };
  },
});

async function expireDue(tx: Tx, which: { id?: number; limit?: number }): Promise<number> {
  const expired = await queries.expireConsents(tx, which);
  const events = expired.map((consent) => consentEvent("expired", consent));
  await recordEvents(tx, events);
  return expired.length;
}

/** Makes room for a consent. Errors: conflict. */
async function makeRoom(
  tx: Tx<LoanScope>,
  wanted: Pick<Consent, "application_id" | "definition_id">,
): Promise<void> {
  const granted = await queries.findGranted(tx, wanted);
  if (granted && holds(granted, tx.now)) {
    throw new AppError(
      "conflict",
      `Cannot grant the consent: it is granted already, as consent ${granted.id}`,
    );
  }
  // Its time has run out, and the job has not come to it.
  if (granted) await expireDue(tx, { id: granted.id });
  const { application_id } = wanted;
  if ((await queries.countConsents(tx, application_id)) >= LIMITS.consents_application) {
    throw new AppError(
      "conflict",
      `Cannot grant the consent: application ${application_id} has ${LIMITS.consents_application} already`,
    );
  }
}

async function insertVersion(
  tx: Tx<LoanScope>,
  text: ConsentText,
  version: number,
): Promise<ConsentDefinition> {
  return queries.insertDefinition(tx, { ...text, version, text_sha256: textSha256(text) });
}

async function listOf(ctx: Context, { id, ...page }: { id: number; page?: number; limit?: number }) {
  if (!(await findApplication(loanReadTx(ctx), id))) throw notFound("Application", id);
  return listPage(page, (slice) => queries.listConsents(loanReadTx(ctx), id, slice));
}

/** Errors: not_found. */
async function findDefinition(tx: ReadTx<LoanScope>, id: number): Promise<ConsentDefinition> {
  const definition = await queries.findDefinition(tx, id);
  if (!definition) throw notFound("Consent definition", id);
  return definition;
}

function justChanged(noun: string, id: number): AppError {
  return new AppError("conflict", `Cannot ${noun} ${id}: it was changed at the same time`);
}
