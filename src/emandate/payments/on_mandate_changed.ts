import type { Decimal } from "../../core/money.ts";
import type { Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { dayAt } from "../working_days.ts";
import { cancelUnpayable, MISSED } from "./cancel_unpayable.ts";
import { cancelOpenPayments, listOpenPayments, updateOpenAmounts } from "./open_queries.ts";
import { forgiveFailures, insertPayments, listWithMandates, type NewPayment } from "./queries.ts";
import { isPeriodOver, paymentEvent } from "./rules.ts";

// What changes of a mandate do to its payments, in the same transaction.

/**
 * Amendment accepted: payments due by the old frequency are written before the new one counts, and collections that
 * wait take the new amount. Decision 0141.
 */
export async function onMandateAmended(
  tx: Tx,
  mandate_id: number,
  { due, amount }: { due: readonly NewPayment[]; amount: Decimal | null },
): Promise<void> {
  const payments = await insertPayments(tx, due);
  await recordEvents(tx, payments.map(paymentEvent));
  if (amount !== null) await updateOpenAmounts(tx, mandate_id, amount);
}

/**
 * Mandate resumed: earlier failures are forgiven, and payments whose period is over are cancelled instead of made on
 * another day, debits by hand too. Decision 0142.
 */
export async function onMandateResumed(tx: Tx, mandate_id: number): Promise<void> {
  await forgiveFailures(tx, mandate_id);
  const payments = await listWithMandates(tx, await listOpenPayments(tx, mandate_id));
  const over = payments.filter((payment) => isPeriodOver(payment, dayAt(tx.now)));
  const cancelled = await cancelUnpayable(
    tx,
    over.map((payment) => ({ payment, problem: MISSED })),
  );
  await recordEvents(tx, cancelled.map(paymentEvent));
}

/** Mandate no longer in force: its open payments are cancelled. */
export async function onMandateNotInForce(tx: Tx, mandate_id: number): Promise<void> {
  const cancelled = await cancelOpenPayments(tx, mandate_id);
  await recordEvents(tx, cancelled.map(paymentEvent));
}
