import type { Scope } from "../../core/access.ts";
import type { Queries, Tx } from "../../store/store.ts";
import { type AuditSource, recordSystemChanges } from "../../audit/recorder.ts";
import { type Applied, applyPaymentResults, type OrderResult } from "./apply_to_payment.ts";
import { applyMandateResult } from "./apply_to_mandate.ts";
import type { SchemeResult } from "../scheme/connector.ts";
import { listOrders, type MandateOrder } from "../orders/queries.ts";
import type { CallbackOutcome } from "./model.ts";

/** What an answer came to. */
type Outcome = Exclude<CallbackOutcome, "refused">;

/** Does what the scheme's answer says, to the mandate or to the payment that the order is about, once. */
export async function applyResult(
  tx: Tx,
  order: Pick<MandateOrder, "id">,
  result: SchemeResult,
): Promise<Outcome> {
  return (await applyResults(tx, [{ order, result }])).get(order.id) ?? "ignored";
}

/** The same for many orders, each answered once; those about payments in a few statements. Returns what became of each. */
export async function applyResults(
  tx: Tx,
  received: readonly { order: Pick<MandateOrder, "id">; result: SchemeResult }[],
): Promise<Map<number, Outcome>> {
  const results = new Map(received.map(({ order, result }) => [order.id, result]));
  const orders = await listOrders(tx, [...results.keys()]);
  const outcomes = new Map<number, Outcome>();
  const debits: OrderResult[] = [];
  for (const order of orders) {
    const result = results.get(order.id);
    if (result === undefined) continue;
    if (order.kind === "debit") {
      // A complaint about an enquiry says nothing of what was asked for.
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
 * Does what a bank decided on orders about mandates: of an enrolment that is the approval, never the customer's
 * word.
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

/** Notes in the audit log what the scheme's answers changed, though nobody of the company did anything. */
export function auditAnswers(
  call: Omit<AuditSource, "actor">,
  q: Queries,
  scope: Scope,
  results: readonly OrderResult[],
): Promise<void> {
  const changed = results.map(({ order: { order_no, mandate_id, payment_id }, result }) => ({
    target:
      payment_id === null ? { type: "mandate", id: mandate_id } : { type: "mandate_payment", id: payment_id },
    input: { order_no, response_code: result.code, message: result.message },
  }));
  return recordSystemChanges(call, q, scope, "apply_scheme_answer", changed);
}
