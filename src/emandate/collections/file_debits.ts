import { LIMITS } from "../limits.ts";
import type { Decimal } from "../../core/money.ts";
import { iso } from "../../core/time.ts";
import type { Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { checkNotHeld } from "../holds/queries.ts";
import { updateOrders } from "../orders/queries.ts";
import { cancelUnpayable } from "../payments/cancel_unpayable.ts";
import { listWithMandates, type PaymentWithMandate, setDebitDate } from "../payments/queries.ts";
import { paymentEvent } from "../payments/rules.ts";
import { partitionPayable } from "../payments/submit.ts";
import { assignToRun, listUnfiled, setAmounts, type UnfiledOrder } from "./file_queries.ts";
import type { CollectionCounts } from "./model.ts";

/**
 * Takes debits that are in no file into that of a run, as debits of its day. No bank has seen them, so they are
 * checked like any debit before it is sent; those whose period is over are cancelled, except recent ones by hand.
 * Errors: conflict while debits are held. Decision 0140.
 */
export async function fileDebits(
  tx: Tx,
  ids: readonly number[],
  { today, run_id }: { today: Temporal.PlainDate; run_id: number },
): Promise<Partial<CollectionCounts>> {
  await checkNotHeld(tx, "file debits");
  // Another run may have filed some since they were listed.
  const orders = await listUnfiled(tx, { after_id: 0, limit: ids.length, ids });
  const payment_ids = orders.map(({ payment_id }) => payment_id);
  const listed = await listWithMandates(tx, payment_ids);
  // The bank may have reported meanwhile that an earlier attempt was paid.
  const submitted = listed.filter(({ status }) => status === "submitted");
  const amounts = new Map<number, Decimal>();
  for (const payment of submitted) {
    const amount = currentAmount(payment);
    if (amount !== payment.amount) amounts.set(payment.id, amount);
  }
  const payments = submitted.map((payment) => ({
    ...payment,
    amount: amounts.get(payment.id) ?? payment.amount,
  }));
  const late_by_hand = recentByHand(orders, payments, tx.now);
  const { payable, unpayable } = await partitionPayable(tx, payments, today, late_by_hand);
  const payable_ids = new Set(payable.map(({ id }) => id));
  const filed = orders.filter(({ payment_id }) => payable_ids.has(payment_id));
  const amended = orders.flatMap(({ id, payment_id }) => {
    const amount = amounts.get(payment_id);
    return amount === undefined ? [] : { id, payment_id, amount };
  });
  await setAmounts(tx, amended);
  await assignToRun(
    tx,
    run_id,
    filed.map(({ id }) => id),
  );
  await setDebitDate(tx, [...payable_ids], today.toString());
  const refused = await cancelUnpayable(tx, unpayable);
  // Debits of suspended mandates keep waiting.
  const refused_ids = new Set(refused.map(({ id }) => id));
  const kept = new Set(payments.flatMap(({ id }) => (refused_ids.has(id) ? [] : id)));
  const closed = orders.filter(({ payment_id }) => !kept.has(payment_id));
  const change = { status: "failed" as const, awaits: null, response_message: "Never given to the bank" };
  await updateOrders(
    tx,
    closed.map((order) => ({ order, change })),
  );
  await recordEvents(tx, refused.map(paymentEvent));
  return { submitted: payable.length, refused: refused.length };
}

/** The current amount: a collection's follows its mandate, that of a debit by hand stays. Decision 0141. */
function currentAmount({ period_key, amount, mandate }: PaymentWithMandate): Decimal {
  return period_key === null ? amount : (mandate.bankscheme_txn_amount ?? amount);
}

/** Payments debited by hand in the last days: they may be made although their period is over. */
function recentByHand(
  orders: readonly UnfiledOrder[],
  payments: readonly PaymentWithMandate[],
  now: Temporal.Instant,
): Set<number> {
  const since = iso(now.subtract({ hours: 24 * LIMITS.collection_by_hand_days }));
  const without_period = new Set(
    payments.flatMap(({ id, period_key, attempt_count }) =>
      period_key === null && attempt_count === 1 ? id : [],
    ),
  );
  const by_hand = orders.filter(
    ({ is_by_hand, submitted_at, payment_id }) =>
      submitted_at >= since && (is_by_hand || without_period.has(payment_id)),
  );
  return new Set(by_hand.map(({ payment_id }) => payment_id));
}
