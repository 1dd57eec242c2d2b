import type { Decimal } from "../../core/money.ts";
import type { Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { updateWaitingAmounts } from "./due_queries.ts";
import { insertPayments, type NewPayment } from "./queries.ts";
import { paymentEvent } from "./rules.ts";

/**
 * What a change that the bank took means to the payments of a mandate: what is due by the frequency that it had is
 * on record before another one counts, and collections that wait take the amount that it says now. Decision 0141.
 */
export async function amendPayments(
  tx: Tx,
  mandate_id: number,
  { due, amount }: { due: readonly NewPayment[]; amount: Decimal | null },
): Promise<void> {
  const payments = await insertPayments(tx, due);
  await recordEvents(tx, payments.map(paymentEvent));
  if (amount !== null) await updateWaitingAmounts(tx, mandate_id, amount);
}
