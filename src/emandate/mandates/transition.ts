import { AppError } from "../../core/errors.ts";
import { iso } from "../../core/time.ts";
import type { Tx } from "../../store/store.ts";
import type { EventType } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { closeMandateOrders } from "../orders/queries.ts";
import { onMandateNotInForce, onMandateResumed } from "../payments/on_mandate_changed.ts";
import type { MandateTrigger } from "./model.ts";
import { insertMandateEvent, type StoredMandate, updateMandate } from "./queries.ts";
import {
  transitionFields,
  isFinal,
  isInForce,
  MANDATE_EVENTS,
  type MandateChange,
  requireTransition,
} from "./rules.ts";

/**
 * A state transition with its event and cascades, as compare-and-set on the state that was read: no longer in force,
 * the open payments are cancelled; resumed, earlier failures are forgiven; ended, the open orders are closed.
 * Errors: conflict where the state does not allow the trigger, or has changed meanwhile.
 */
export async function transitionMandate(
  tx: Tx,
  mandate: StoredMandate,
  trigger: MandateTrigger,
  { reason = null, ...change }: MandateChange & { reason?: string | null | undefined } = {},
): Promise<StoredMandate> {
  const status = requireTransition(mandate, trigger);
  const after = await updateMandate(tx, mandate, {
    ...transitionFields(mandate, trigger, tx.now),
    ...change,
    status,
    status_reason: reason,
  });
  if (!after) {
    throw new AppError("conflict", `Cannot ${trigger} mandate ${mandate.id}: it has just been changed`);
  }
  await recordMandateEvent(tx, after, MANDATE_EVENTS[trigger], reason);
  if (isInForce(mandate.status) && !isInForce(status)) await onMandateNotInForce(tx, mandate.id);
  if (trigger === "resume") await onMandateResumed(tx, mandate.id);
  if (isFinal(status)) await closeMandateOrders(tx, mandate.id);
  return after;
}

/** Records a mandate event: as a domain event, and for good in the history of the mandate. */
export async function recordMandateEvent(
  tx: Tx,
  { id, reference, status, customer_id, emandate_product_id }: StoredMandate,
  type: EventType,
  reason: string | null = null,
): Promise<void> {
  const data = { id, reference, status, customer_id, emandate_product_id };
  await recordEvents(tx, [{ type, data }]);
  await insertMandateEvent(tx, id, { type, status, reason, created_at: iso(tx.now) });
}
