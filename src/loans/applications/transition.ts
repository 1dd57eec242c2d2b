import { AppError } from "../../core/errors.ts";
import type { Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import type { LoanApplication } from "./model.ts";
import { type ApplicationChange, updateApplication } from "./queries.ts";
import { applicationEvent, arrival, expiryOf, nextStatus, transition, type Trigger } from "./rules.ts";
import type { LoanScope } from "../scope.ts";

/**
 * Leads an application, as it was just read in this transaction, through a trigger: its state, what comes with
 * that, and the event are written together. `change` is what else is written. Errors: conflict where the state
 * forbids it, also when another call has just changed it.
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
  const after = await updateApplication(
    tx,
    { id: before.id, from: before.status },
    {
      ...(moves ? { ...arrival(status, tx.now), status } : {}),
      expires_at: expiryOf(status, tx.now, offer?.expires_at),
      ...change,
    },
  );
  if (!after) throw new AppError("conflict", `Cannot change application ${before.id}: it has just changed`);
  if (status !== "draft" && moves) {
    await recordEvents(tx, [applicationEvent(status, after)]);
  }
  return after;
}

/**
 * Notes that something was handed in with an application, as it was just read in this transaction: one that waits
 * for its agent is not idle then, and its time begins anew. Decision 0103.
 */
export async function extendIdleDeadline(tx: Tx<LoanScope>, { id, status }: LoanApplication): Promise<void> {
  if (nextStatus(status, "edit") === undefined) return;
  await updateApplication(tx, { id, from: status }, { expires_at: expiryOf(status, tx.now, undefined) });
}
