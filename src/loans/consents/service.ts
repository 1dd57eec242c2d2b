import type { Static } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { transaction } from "../../app/transaction.ts";
import { deleteInBatches } from "../../core/delete_in_batches.ts";
import { AppError, invalid, orNotFound } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { listPage } from "../../core/pagination.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import type { Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { onConsentRevoked } from "../applications/on_consent_revoked.ts";
import { requireApplication } from "../applications/queries.ts";
import { isFinal, stateAt } from "../applications/rules.ts";
import { extendIdleDeadline } from "../applications/transition.ts";
import { changedMeanwhile } from "../conflict.ts";
import { findDefinition } from "../consent_definitions/queries.ts";
import { loanReadTx, type LoanScope, loanTransaction } from "../scope.ts";
import { Consent, ExpiredConsents, GrantConsent, ListConsents, RevokeConsent } from "./model.ts";
import * as queries from "./queries.ts";
import { checkRevocable, consentEvent, endOf, isValidAt, readEvidence, subjectOf } from "./rules.ts";

/** Lists an application's consents, whatever their status. Errors: not_found. */
export const listConsents = operation({
  name: "list_consents",
  permission: "lending:read",
  input: ListConsents,
  output: listed(Consent),
  run: list,
});

/** Lists the consents of one of the loan agent's applications. Errors: not_found. */
export const listOwnConsents = operation({
  name: "list_own_consents",
  permission: "borrowing:read",
  input: ListConsents,
  output: listed(Consent),
  run: list,
});

/**
 * Records that an application's borrower has consented to a published definition. Errors: not_found; invalid
 * for a definition that is not published, or impossible evidence; conflict when it is granted already, or the
 * application is in a final state. Decision 0106.
 */
export const grantConsent = operation({
  name: "grant_consent",
  permission: "borrowing:write",
  input: GrantConsent,
  output: Consent,
  run: (ctx, { id: application_id, definition_id, evidence: given }) =>
    loanTransaction(ctx, async (tx) => {
      const application = await requireApplication(tx, application_id);
      const status = stateAt(application, tx.now);
      if (isFinal(status)) throw cannotGrant(`application ${application_id} is ${status}`);
      const definition = await findDefinition(tx, definition_id);
      if (definition?.status !== "published") {
        throw invalid("/definition_id", "must be the id of a published consent definition");
      }
      const { code, version, locale, text_sha256, validity_days } = definition;
      const evidence = readEvidence(given, validity_days, tx.now);
      await makeRoom(tx, { application_id, definition_id });
      const consent = await queries.insertConsent(tx, {
        application_id,
        definition_id,
        code,
        version,
        locale,
        text_sha256,
        ...subjectOf(application),
        evidence,
        granted_at: iso(tx.now),
        expires_at: endOf(instant(evidence.captured_at), validity_days),
      });
      await extendIdleDeadline(tx, application);
      await recordEvents(tx, [consentEvent("granted", consent)]);
      return consent;
    }),
});

/**
 * Revokes a consent, as a borrower may at any time. An application that requires it and is submitted or under
 * review moves to action_required. Errors: not_found, conflict unless it is granted. See docs/loans.md#states.
 */
export const revokeConsent = operation({
  name: "revoke_consent",
  permission: "borrowing:write",
  uses_reserve: true,
  input: RevokeConsent,
  output: Consent,
  run: (ctx, { id, reason = null }) =>
    loanTransaction(ctx, async (tx) => {
      const granted = orNotFound(await queries.findConsent(tx, id), "Consent", id);
      checkRevocable(granted, tx.now);
      const [consent] = await queries.revokeConsents(tx, { id }, reason);
      if (!consent) throw changedMeanwhile(`revoke consent ${id}`);
      await recordEvents(tx, [consentEvent("revoked", consent)]);
      // Another valid consent of the code still covers the application.
      if (!(await queries.hasConsentOf(tx, consent))) await onConsentRevoked(tx, consent);
      return consent;
    }),
});

/** Marks consents past their expiry as expired; concurrent runs mark each once. See docs/loans.md#states. */
export const expireConsents = operation({
  name: "expire_consents",
  permission: "lending:write",
  unaudited: true,
  input: Nothing,
  output: ExpiredConsents,
  async run(ctx) {
    let expired = 0;
    await deleteInBatches(ctx.background, async (limit) => {
      const count = await transaction(ctx, (tx) => expireDue(tx, { limit }));
      expired += count;
      return count;
    });
    return { expired };
  },
});

async function list(ctx: Context, { id, ...page }: Static<typeof ListConsents>) {
  const tx = loanReadTx(ctx);
  await requireApplication(tx, id);
  return listPage(page, (slice) => queries.listConsents(tx, id, slice));
}

async function expireDue(tx: Tx, which: { id?: number; limit?: number }): Promise<number> {
  const expired = await queries.expireConsents(tx, which);
  await recordEvents(
    tx,
    expired.map((consent) => consentEvent("expired", consent)),
  );
  return expired.length;
}

/** Errors: conflict when the definition has a valid consent, or the application as many as it may have. */
async function makeRoom(
  tx: Tx<LoanScope>,
  wanted: Pick<Consent, "application_id" | "definition_id">,
): Promise<void> {
  const granted = await queries.findGranted(tx, wanted);
  if (granted && isValidAt(granted, tx.now)) {
    throw cannotGrant(`it is granted already, as consent ${granted.id}`);
  }
  // Past its expiry, and the job has not marked it yet.
  if (granted) await expireDue(tx, { id: granted.id });
  const { application_id } = wanted;
  if ((await queries.countConsents(tx, application_id)) >= LIMITS.consents_application) {
    throw cannotGrant(`application ${application_id} has ${LIMITS.consents_application} already`);
  }
}

const cannotGrant = (why: string) => new AppError("conflict", `Cannot grant the consent: ${why}`);
