import type { Scope } from "../../core/access.ts";
import type { Queries } from "../../store/store.ts";
import { applyPaymentResult } from "../mandate_payments/outcomes.ts";
import { applyMandateResult } from "../mandates/outcomes.ts";
import type { SchemeResult } from "../mandates/schemes/scheme.ts";
import type { CallbackOutcome } from "./model.ts";
import { findOrder, type MandateOrder } from "./queries.ts";

/** Does what the scheme's answer says, to the mandate or to the payment that the order is about, once. */
export async function applyResult(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  { id }: Pick<MandateOrder, "id">,
  result: SchemeResult,
): Promise<Exclude<CallbackOutcome, "refused">> {
  const order = await findOrder(q, scope, id);
  if (!order) return "ignored";
  if (order.kind !== "debit") return applyMandateResult(q, scope, now, order, result);
  if (await applyPaymentResult(q, scope, now, order, result)) return "applied";
  return result.code === order.response_code ? "repeated" : "ignored";
}

/**
 * Does what a bank decided on an order about a mandate: of an enrolment that is the approval, never the customer's
 * word. Returns whether anything changed.
 */
export async function applyDecision(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  order: MandateOrder,
  result: SchemeResult,
): Promise<boolean> {
  const answers = order.kind === "enrolment" ? "approval" : "confirmation";
  return (await applyMandateResult(q, scope, now, order, { ...result, answers })) === "applied";
}
