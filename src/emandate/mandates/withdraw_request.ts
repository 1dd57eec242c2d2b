import { AppError } from "../../core/errors.ts";
import type { Tx } from "../../store/store.ts";
import { closeMandateOrders } from "../orders/queries.ts";
import { transitionMandate, recordMandateEvent } from "./transition.ts";
import { type StoredMandate, updateMandate } from "./queries.ts";

/**
 * Withdraws what a mandate awaits from the bank: a termination, else an amendment. Errors: conflict where it awaits
 * neither, or has been changed since it was read. Decision 0136.
 */
export async function withdrawRequest(tx: Tx, mandate: StoredMandate, reason: string | null): Promise<void> {
  const { id, status } = mandate;
  const conflict = (problem: string) =>
    new AppError("conflict", `Cannot withdraw a request of mandate ${id}: ${problem}`);
  if (status === "pending_termination") {
    await closeMandateOrders(tx, id, "termination");
    await transitionMandate(tx, mandate, "withdraw", { reason });
    return;
  }
  if (mandate.amendment === null) throw conflict("none awaits the bank");
  await closeMandateOrders(tx, id, "amendment");
  const change = { amendment: null, authorization_url: null, status_reason: reason };
  const after = await updateMandate(tx, mandate, change);
  if (!after) throw conflict("it has just been changed");
  await recordMandateEvent(tx, after, "emandate.mandate.amendment_withdrawn", reason);
}
