import type { Tx } from "../../store/store.ts";
import type { LoanScope } from "../scope.ts";
import { applyTransition } from "./transition.ts";
import { findApplication, findTerms } from "./queries.ts";
import { nextStatus } from "./rules.ts";

/**
 * Consent revoked: a submitted application that requires it moves to action_required, in the same transaction.
 * See docs/loans.md#states.
 */
export async function onConsentRevoked(
  tx: Tx<LoanScope>,
  { application_id, code }: { application_id: number; code: string },
): Promise<void> {
  const application = await findApplication(tx, application_id);
  if (!application || nextStatus(application.status, "lose_consent") === undefined) return;
  const { requested } = await findTerms(tx, application_id);
  const is_needed =
    application.program_snapshot.required_consents.includes(code) ||
    requested.some((item) => item.kind === "consent" && item.code === code);
  if (!is_needed) return;
  const missing = [...application.missing, { kind: "consent" as const, code, note: null }];
  await applyTransition(tx, application, "lose_consent", { missing });
}
