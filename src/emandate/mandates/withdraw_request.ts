import { AppError } from "../../core/errors.ts";
import type { Tx } from "../../store/store.ts";
import { closeMandateOrders } from "../orders/queries.ts";
import { transitionMandate, recordMandateEvent } from "./transition.ts";
import { type StoredMandate, updateMandate } from "./queries.ts";

/**
 * Takes back what the bank was asked of a mandate and has not answered: an end, else a change. Errors: conflict where
 * neither is awaited, or the mandate has been changed since it was read. Decision 0136.
 */
export async function withdrawRequest(tx: Tx, mandate: StoredMandate, reason: string | null): Promise<void> {
  const { id, status } = mandate;
  const refuse = (why: string) =>
    new AppError("conflict", `Cannot withdraw what mandate ${id} awaits: ${why}`);
  if (status === "pending_termination") {
    await closeMandateOrders(tx, id, "termination");
    await transitionMandate(tx, mandate, "withdraw", { reason });
    return;
  }
  if (mandate.amendment === null) throw refuse("the bank was asked for no end and no change");
  await closeMandateOrders(tx, id, "amendment");
  const change = { amendment: null, authorization_url: null, status_reason: reason };
  const after = await updateMandate(tx, mandate, change);
  if (!after) throw refuse("it has just been changed");
  await recordMandateEvent(tx, after, "emandate.mandate.amendment_withdrawn", reason);
}
