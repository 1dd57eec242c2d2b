import type { Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { revokeConsents } from "../consents/queries.ts";
import { consentEvent } from "../consents/rules.ts";
import { voidReviews } from "../documents/queries.ts";
import type { LoanScope } from "../scope.ts";

/**
 * Another borrower: revokes the previous one's consents, and returns verified documents to pending_review.
 * Decision 0103.
 */
export async function voidEvidence(tx: Tx<LoanScope>, application_id: number): Promise<void> {
  const reason = "The application's borrower was changed";
  const revoked = await revokeConsents(tx, { application_id }, reason);
  await recordEvents(
    tx,
    revoked.map((consent) => consentEvent("revoked", consent)),
  );
  await voidReviews(tx, application_id);
}
