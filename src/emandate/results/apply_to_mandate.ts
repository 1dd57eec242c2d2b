import { dayAt } from "../working_days.ts";
import type { Tx } from "../../store/store.ts";
import { findConfig } from "../merchant_config/queries.ts";
import { raiseComplaint, raiseFlags, resolveAnswered } from "../flags/queries.ts";
import type { FlagReason } from "../flags/model.ts";
import {
  findLastOrder,
  findOrder,
  type MandateOrder,
  type OrderChange,
  updateOrder,
} from "../orders/queries.ts";
import { FIRST_AWAITED } from "../orders/rules.ts";
import { onMandateAmended } from "../payments/on_mandate_changed.ts";
import { collectionStart, applyAmendment } from "../mandates/amendments.ts";
import type { MandateTrigger } from "../mandates/model.ts";
import { transitionMandate, recordMandateEvent } from "../mandates/transition.ts";
import { findStoredMandate, type StoredMandate, updateMandate } from "../mandates/queries.ts";
import { isFinal, type MandateChange, nextStatus } from "../mandates/rules.ts";
import type { SchemeResult } from "../scheme/connector.ts";
import type { ResultOutcome } from "./model.ts";
import type { Amendment } from "../orders/model.ts";
import { answeredBy, classifyResult } from "./classify_mandate_result.ts";

/** A result with the order and the mandate that it is about. */
interface MandateResult {
  readonly order: MandateOrder;
  readonly mandate: StoredMandate;
  readonly result: SchemeResult;
}

/**
 * Applies a result to an order of a mandate, and to the mandate, in whichever order results come and however often.
 * A repeated result changes nothing; one that comes after the order was closed counts where it still can, and is
 * flagged where it cannot. Decision 0136.
 */
export async function applyMandateResult(
  tx: Tx,
  { id }: Pick<MandateOrder, "id">,
  result: SchemeResult,
): Promise<ResultOutcome> {
  const order = await findOrder(tx, id);
  const mandate = order && (await findStoredMandate(tx, order.mandate_id));
  if (!order || !mandate) return "ignored";
  const outcome = await apply(tx, { order, mandate, result });
  if (outcome === "applied") await resolveAnswered(tx, [order.id]);
  return outcome;
}

async function apply(tx: Tx, received: MandateResult): Promise<ResultOutcome> {
  const { order, result } = received;
  if (result.is_about_message === true) {
    const is_raised = order.awaits !== null && (await raiseComplaint(tx, order, result));
    return is_raised ? "flagged" : "ignored";
  }
  const meaning = classifyResult(order, result);
  if (meaning === null) return onClosedOrder(tx, received);
  if (meaning === "end") return onEndedByBank(tx, received);
  if (order.kind === "enrolment") return onEnrolment(tx, received, meaning === "out_of_order");
  return order.kind === "amendment" ? onAmendment(tx, received) : onTermination(tx, received);
}

/** A result of an order that is complete, or one that says nothing new. */
async function onClosedOrder(tx: Tx, received: MandateResult): Promise<ResultOutcome> {
  const { order, mandate, result } = received;
  if (order.awaits !== null || result.status === "pending") return known(received);
  if (result.status === "ok")
    return order.status === "failed" ? onLateConfirmation(tx, received) : known(received);
  // Only a bank's own decision contradicts; a customer's further failed attempt does not.
  const is_decision = result.answers === "approval" || result.answers === "confirmation";
  const is_contrary = order.status === "succeeded" && is_decision && !isFinal(mandate.status);
  return is_contrary ? flag(tx, received, "refused_too_late") : known(received);
}

/** A good result of an order that had failed or timed out. */
async function onLateConfirmation(tx: Tx, received: MandateResult): Promise<ResultOutcome> {
  const { order, mandate, result } = received;
  const last = await findLastOrder(tx, { mandate_id: mandate.id });
  const is_last = last?.id === order.id;
  if (order.kind === "enrolment") {
    const answered = answeredBy(order, result) ?? FIRST_AWAITED.enrolment;
    if (is_last && mandate.status === "failed") {
      return onEnrolment(tx, received, answered === "approval");
    }
    // The customer had authorized before the bank refused.
    const is_known = is_last && mandate.status === "rejected" && answered === "authorization";
    return is_known ? known(received) : flag(tx, received, "confirmed_too_late");
  }
  if (isFinal(mandate.status)) return known(received);
  if (order.kind === "termination") {
    if (nextStatus(mandate, "ended_by_bank") === null) return flag(tx, received, "confirmed_too_late");
    return settle(tx, received, "ended_by_bank", {}, { reason: "Ended as requested" });
  }
  const { amendment: wanted } = order;
  const is_free = is_last && mandate.amendment === null;
  return is_free && wanted !== null
    ? settleAmendment(tx, received, wanted)
    : flag(tx, received, "confirmed_too_late");
}

function known({ order, result }: MandateResult): ResultOutcome {
  return result.code === order.response_code ? "repeated" : "ignored";
}

async function flag(tx: Tx, { order, result }: MandateResult, reason: FlagReason): Promise<ResultOutcome> {
  const raised = await raiseFlags(tx, [{ order, reason, response: result }]);
  return raised.has(order.id) ? "flagged" : "repeated";
}

async function onEndedByBank(tx: Tx, { mandate, result }: MandateResult): Promise<ResultOutcome> {
  if (nextStatus(mandate, "ended_by_bank") === null) return "ignored";
  await transitionMandate(tx, mandate, "ended_by_bank", { reason: result.message ?? result.code });
  return "applied";
}

/** A result of an enrolment; `is_early` where the approval came before the authorization. */
async function onEnrolment(tx: Tx, received: MandateResult, is_early: boolean): Promise<ResultOutcome> {
  const { order, result } = received;
  // The scheme's key for the mandate from now on.
  const reference = { scheme_reference: result.scheme_txn_id };
  if (is_early) {
    if (nextStatus(received.mandate, "authorized") === null) return "ignored";
    const mandate = await transitionMandate(tx, received.mandate, "authorized", reference);
    return onBankDecision(tx, { ...received, mandate });
  }
  if (order.awaits === "approval") return onBankDecision(tx, received);
  if (result.status !== "ok") return settle(tx, received, "not_authorized");
  return settle(tx, received, "authorized", { status: "pending", awaits: "approval" }, reference);
}

/** The bank's decision on a mandate that its customer authorized. */
async function onBankDecision(tx: Tx, received: MandateResult): Promise<ResultOutcome> {
  if (received.result.status !== "ok") return settle(tx, received, "refused");
  const start = collectionStart(received.mandate, dayAt(tx.now), await findConfig(tx));
  return settle(tx, received, "approved", {}, start);
}

function onTermination(tx: Tx, received: MandateResult): Promise<ResultOutcome> {
  return settle(
    tx,
    received,
    received.result.status === "ok" ? "termination_confirmed" : "termination_refused",
  );
}

/** Completes the order, unless it awaits another step, and transitions the mandate. */
async function settle(
  tx: Tx,
  { order, mandate, result }: MandateResult,
  trigger: MandateTrigger,
  extra: OrderChange = {},
  change: MandateChange & { reason?: string } = {},
): Promise<ResultOutcome> {
  if (nextStatus(mandate, trigger) === null) return "ignored";
  if (!(await updateOrder(tx, order, { ...completed(order, result), ...extra }))) return "repeated";
  await transitionMandate(tx, mandate, trigger, { reason: failureReason(result), ...change });
  return "applied";
}

/** A result of an amendment. A mandate that has ended stays as it was. */
async function onAmendment(tx: Tx, received: MandateResult): Promise<ResultOutcome> {
  const { amendment: awaited, status } = received.mandate;
  return awaited === null || isFinal(status) ? "ignored" : settleAmendment(tx, received, awaited);
}

/** Completes the order and gives the mandate the new terms, or leaves it the old ones. */
async function settleAmendment(
  tx: Tx,
  { order, mandate, result }: MandateResult,
  wanted: Amendment,
): Promise<ResultOutcome> {
  const is_good = result.status === "ok";
  if (!(await updateOrder(tx, order, completed(order, result)))) return "repeated";
  const taken = is_good
    ? applyAmendment(mandate, wanted, dayAt(tx.now), await findConfig(tx))
    : { terms: {}, due: [] };
  const reason = failureReason(result);
  const change = { ...taken.terms, amendment: null, authorization_url: null, status_reason: reason };
  const after = await updateMandate(tx, mandate, change);
  if (!after) return "ignored";
  const { amount = null } = is_good ? wanted : {};
  await onMandateAmended(tx, mandate.id, { due: taken.due, amount });
  const type = is_good ? "emandate.mandate.amended" : "emandate.mandate.amendment_refused";
  await recordMandateEvent(tx, after, type, reason);
  return "applied";
}

/** An order as its result completes it. */
function completed(order: MandateOrder, { status, code, message, scheme_txn_id }: SchemeResult) {
  return {
    status: status === "ok" ? "succeeded" : "failed",
    awaits: null,
    response_code: code,
    response_message: message,
    scheme_txn_id: scheme_txn_id ?? order.scheme_txn_id,
  } as const;
}

function failureReason({ status, code, message }: SchemeResult): string | null {
  return status === "ok" ? null : (message ?? code);
}
