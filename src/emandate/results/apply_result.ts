import type { Tx } from "../../store/store.ts";
import { type AuditSource, recordSystemChanges } from "../../audit/recorder.ts";
import { type Applied, applyPaymentResults, type OrderResult } from "./apply_to_payment.ts";
import { applyMandateResult } from "./apply_to_mandate.ts";
import type { SchemeResult } from "../scheme/connector.ts";
import { listOrders, type MandateOrder } from "../orders/queries.ts";
import type { ResultOutcome } from "./model.ts";

/** Applies the scheme's result of an order to its mandate or payment, once. */
export async function applyResult(
  tx: Tx,
  order: Pick<MandateOrder, "id">,
  result: SchemeResult,
): Promise<ResultOutcome> {
  return (await applyResults(tx, [{ order, result }])).get(order.id) ?? "ignored";
}

/** Applies one result for each of many orders, those of debits in a few statements; returns each outcome. */
export async function applyResults(
  tx: Tx,
  received: readonly { order: Pick<MandateOrder, "id">; result: SchemeResult }[],
): Promise<Map<number, ResultOutcome>> {
  const results = new Map(received.map(({ order, result }) => [order.id, result]));
  const orders = await listOrders(tx, [...results.keys()]);
  const outcomes = new Map<number, ResultOutcome>();
  const debits: OrderResult[] = [];
  for (const order of orders) {
    const result = results.get(order.id);
    if (result === undefined) continue;
    if (order.kind === "debit") {
      // A complaint about a status query says nothing of the debit.
      if (result.is_about_message !== true) debits.push({ order, result });
    } else outcomes.set(order.id, await applyMandateResult(tx, order, result));
  }
  const { changed, flagged } = await applyPaymentResults(tx, debits);
  for (const { order, result } of debits) {
    const other = result.code === order.response_code ? "repeated" : "ignored";
    const unapplied = flagged.has(order.id) ? "flagged" : other;
    outcomes.set(order.id, changed.has(order.id) ? "applied" : unapplied);
  }
  return outcomes;
}

/**
 * Applies banks' decisions on orders of mandates: of an enrolment, the bank's approval, never the customer's
 * authorization.
 */
export async function applyDecisions(tx: Tx, results: readonly OrderResult[]): Promise<Applied> {
  const changed = new Set<number>();
  const flagged = new Set<number>();
  for (const { order, result } of results) {
    const decided = order.kind === "enrolment" ? "approval" : "confirmation";
    const answers = result.answers === "end" ? "end" : decided;
    const outcome = await applyMandateResult(tx, order, { ...result, answers });
    if (outcome === "applied") changed.add(order.id);
    if (outcome === "flagged") flagged.add(order.id);
  }
  return { changed, flagged };
}

/** Records in the audit log, as the system, the changes that results made. */
export function auditResults(
  call: Omit<AuditSource, "actor">,
  tx: Tx,
  results: readonly OrderResult[],
): Promise<void> {
  const changed = results.map(({ order: { order_no, mandate_id, payment_id }, result }) => ({
    target:
      payment_id === null ? { type: "mandate", id: mandate_id } : { type: "mandate_payment", id: payment_id },
    input: { order_no, response_code: result.code, message: result.message },
  }));
  return recordSystemChanges(call, tx, "apply_scheme_answer", changed);
}
