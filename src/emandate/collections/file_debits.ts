import { LIMITS } from "../limits.ts";
import type { Decimal } from "../../core/money.ts";
import { iso } from "../../core/time.ts";
import type { Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { updateOrders } from "../orders/queries.ts";
import { cancelUnpayable } from "../payments/cancel_unpayable.ts";
import { listWithMandates, type PaymentWithMandate, setDebitDate } from "../payments/queries.ts";
import { paymentEvent } from "../payments/rules.ts";
import { partitionPayable } from "../payments/submit.ts";
import type { CollectionCounts } from "./model.ts";
import { fileOrders, listUnfiled, setAmounts, type UnfiledOrder } from "./queries.ts";

/**
 * Takes debits that left in no file into that of a run, as debits of its day. They are checked as any debit is
 * before it goes: the bank has not heard of them. Those are given up whose period is over, but for what was asked for
 * by hand in the last days. Decision 0140.
 */
export async function fileDebits(
  tx: Tx,
  ids: readonly number[],
  { today, run_id }: { today: Temporal.PlainDate; run_id: number },
): Promise<Partial<CollectionCounts>> {
  // Those that stand in a file since they were listed are none of ours.
  const orders = await listUnfiled(tx, { after_id: 0, limit: ids.length, ids });
  const payment_ids = orders.map(({ payment_id }) => payment_id);
  const listed = await listWithMandates(tx, payment_ids);
  // The bank may have said meanwhile that the attempt before was paid.
  const submitted = listed.filter(({ status }) => status === "submitted");
  const amounts = new Map<number, Decimal>();
  for (const payment of submitted) {
    const amount = amountNow(payment);
    if (amount !== payment.amount) amounts.set(payment.id, amount);
  }
  const payments = submitted.map((one) => ({ ...one, amount: amounts.get(one.id) ?? one.amount }));
  const by_hand = lateByHand(orders, payments, tx.now);
  const { payable, unpayable } = await partitionPayable(tx, payments, today, by_hand);
  const going = new Set(payable.map(({ id }) => id));
  const filed = orders.flatMap(({ id, payment_id }) => (going.has(payment_id) ? id : []));
  const amended = orders.flatMap(({ id, payment_id }) => {
    const amount = amounts.get(payment_id);
    return amount === undefined ? [] : { id, payment_id, amount };
  });
  await setAmounts(tx, amended);
  await fileOrders(tx, run_id, filed);
  await setDebitDate(tx, [...going], today.toString());
  const refused = await cancelUnpayable(tx, unpayable);
  // Those of mandates that may be debited later wait.
  const given_up = new Set(refused.map(({ id }) => id));
  const waiting = new Set(payments.flatMap(({ id }) => (given_up.has(id) ? [] : id)));
  const over = orders.filter(({ payment_id }) => !waiting.has(payment_id));
  const closed = over.map((order) => ({
    order,
    change: { status: "failed" as const, awaits: null, response_message: "Never given to the bank" },
  }));
  await updateOrders(tx, closed);
  await recordEvents(tx, refused.map(paymentEvent));
  return { submitted: payable.length, refused: refused.length };
}

/** What a debit takes by now: a collection what its mandate says, one by hand what was asked for. Decision 0141. */
function amountNow({ period_key, amount, mandate }: PaymentWithMandate): Decimal {
  return period_key === null ? amount : (mandate.bankscheme_txn_amount ?? amount);
}

/** What was asked for by hand, not long ago: its period may be over. */
function lateByHand(
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
  const manual_orders = orders.filter(
    ({ is_by_hand, submitted_at, payment_id }) =>
      submitted_at >= since && (is_by_hand || without_period.has(payment_id)),
  );
  return new Set(manual_orders.map(({ payment_id }) => payment_id));
}
