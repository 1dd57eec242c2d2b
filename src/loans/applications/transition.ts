import type { Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { changedMeanwhile } from "../conflict.ts";
import type { LoanScope } from "../scope.ts";
import type { LoanApplication } from "./model.ts";
import { type ApplicationChange, updateApplication } from "./queries.ts";
import { applicationEvent, arrival, expiryOf, nextStatus, transition, type Trigger } from "./rules.ts";

/**
 * Applies a state transition (compare-and-set) and records its event; `change` is written along with it. `before` was
 * read in this transaction. Errors: conflict where the status forbids it, or was changed by another call.
 */
export async function applyTransition(
  tx: Tx<LoanScope>,
  before: LoanApplication,
  trigger: Trigger,
  change: ApplicationChange = {},
): Promise<LoanApplication> {
  const status = transition(before, trigger, tx.now);
  const moves = status !== before.status;
  const { offer = before.offer } = change;
  const after = await updateApplication(tx, before, {
    ...(moves ? { ...arrival(status, tx.now), status } : {}),
    expires_at: expiryOf(status, tx.now, offer?.expires_at),
    ...change,
  });
  if (!after) throw changedMeanwhile(`change application ${before.id}`);
  if (status !== "draft" && moves) await recordEvents(tx, [applicationEvent(status, after)]);
  return after;
}

/**
 * Restarts the idle deadline of an editable application, because evidence was added. It was read in this transaction.
 * Decision 0103.
 */
export async function extendIdleDeadline(tx: Tx<LoanScope>, application: LoanApplication): Promise<void> {
  const { status } = application;
  if (nextStatus(status, "edit") === undefined) return;
  await updateApplication(tx, application, { expires_at: expiryOf(status, tx.now, undefined) });
}
