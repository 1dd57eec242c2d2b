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
import type { CallbackOutcome } from "./model.ts";
import type { Amendment } from "../orders/model.ts";
import { answeredBy, classifyResult } from "./classify_mandate_result.ts";

/** What is answered, and what it is answered about. */
interface MandateResult extends Tx {
  order: MandateOrder;
  mandate: StoredMandate;
  result: SchemeResult;
}

type Outcome = Exclude<CallbackOutcome, "refused">;

/**
 * Does to an order about a mandate, and to the mandate, what the scheme's answer says; whoever brings it, how often
 * and in whatever order. An answer that was heard before changes nothing; one that comes after the order was given
 * up counts where it still can, else it is flagged. Decision 0136.
 */
export async function applyMandateResult(
  tx: Tx,
  { id }: Pick<MandateOrder, "id">,
  result: SchemeResult,
): Promise<Outcome> {
  const order = await findOrder(tx, id);
  const mandate = order && (await findStoredMandate(tx, order.mandate_id));
  if (!order || !mandate) return "ignored";
  const outcome = await apply({ ...tx, order, mandate, result });
  if (outcome === "applied") await resolveAnswered(tx, [order.id]);
  return outcome;
}

async function apply(answer: MandateResult): Promise<Outcome> {
  const { q, scope, now, order, result } = answer;
  if (result.is_about_message === true) {
    const is_raised = order.awaits !== null && (await raiseComplaint({ q, scope, now }, order, result));
    return is_raised ? "flagged" : "ignored";
  }
  const meaning = classifyResult(order, result);
  if (meaning === null) return afterEnd(answer);
  if (meaning === "end") return endedByBank(answer);
  if (order.kind === "enrolment") return onEnrolment(answer, meaning === "out_of_order");
  return order.kind === "amendment" ? onAmendment(answer) : onTermination(answer);
}

/** An answer to what was answered before, or is not awaited any more. */
async function afterEnd(answer: MandateResult): Promise<Outcome> {
  const { order, mandate, result } = answer;
  if (order.awaits !== null || result.status === "pending") return known(answer);
  if (result.status === "ok") return order.status === "failed" ? confirmedLate(answer) : known(answer);
  // A bank's own decision; that a customer did not get through at a further try says nothing.
  const is_decision = result.answers === "approval" || result.answers === "confirmation";
  const is_contrary = order.status === "succeeded" && is_decision && !isFinal(mandate.status);
  return is_contrary ? flag(answer, "refused_too_late") : known(answer);
}

/** The good answer to what had failed or was given up. */
async function confirmedLate(answer: MandateResult): Promise<Outcome> {
  const { order, mandate, result } = answer;
  const last = await findLastOrder(answer, { mandate_id: mandate.id });
  const is_last = last?.id === order.id;
  if (order.kind === "enrolment") {
    const answered = answeredBy(order, result) ?? FIRST_AWAITED.enrolment;
    if (is_last && mandate.status === "failed") {
      return onEnrolment(answer, answered === "approval");
    }
    // The customer did authorize what the bank refused then.
    const is_known = is_last && mandate.status === "rejected" && answered === "authorization";
    return is_known ? known(answer) : flag(answer, "confirmed_too_late");
  }
  if (isFinal(mandate.status)) return known(answer);
  if (order.kind === "termination") {
    if (nextStatus(mandate, "ended_by_bank") === null) return flag(answer, "confirmed_too_late");
    return settle(answer, "ended_by_bank", {}, { reason: "Ended as was asked" });
  }
  const { amendment: wanted } = order;
  const is_free = is_last && mandate.amendment === null;
  return is_free && wanted !== null ? answerAmendment(answer, wanted) : flag(answer, "confirmed_too_late");
}

function known({ order, result }: MandateResult): Outcome {
  return result.code === order.response_code ? "repeated" : "ignored";
}

async function flag({ q, scope, now, order, result }: MandateResult, reason: FlagReason): Promise<Outcome> {
  const raised = await raiseFlags({ q, scope, now }, [{ order, reason, response: result }]);
  return raised.has(order.id) ? "flagged" : "repeated";
}

async function endedByBank({ q, scope, now, mandate, result }: MandateResult): Promise<Outcome> {
  if (nextStatus(mandate, "ended_by_bank") === null) return "ignored";
  await transitionMandate({ q, scope, now }, mandate, "ended_by_bank", { reason: reasonOf(result) });
  return "applied";
}

async function onEnrolment(answer: MandateResult, is_ahead: boolean): Promise<Outcome> {
  const { order, result } = answer;
  const is_approval = order.awaits === "approval" || is_ahead;
  const is_good = result.status === "ok";
  if (!is_approval) {
    if (!is_good) return settle(answer, "not_authorized");
    // What the scheme knows the mandate by from now on.
    const change = { scheme_reference: result.scheme_txn_id };
    return settle(answer, "authorized", { status: "pending", awaits: "approval" }, change);
  }
  if (is_ahead) {
    const { q, scope, now, mandate } = answer;
    if (nextStatus(mandate, "authorized") === null) return "ignored";
    const change = { scheme_reference: result.scheme_txn_id };
    const authorized = await transitionMandate({ q, scope, now }, mandate, "authorized", change);
    return onBankDecision({ ...answer, mandate: authorized });
  }
  return onBankDecision(answer);
}

/** The bank has decided on a mandate that the customer authorized. */
async function onBankDecision(answer: MandateResult): Promise<Outcome> {
  if (answer.result.status !== "ok") return settle(answer, "refused");
  const { q, scope, now, mandate } = answer;
  const start = collectionStart(mandate, dayAt(now), await findConfig({ q, scope, now }));
  return settle(answer, "approved", {}, start);
}

function onTermination(answer: MandateResult): Promise<Outcome> {
  return settle(answer, answer.result.status === "ok" ? "termination_confirmed" : "termination_refused");
}

/** Completes the order, unless it awaits more, and moves the mandate. */
async function settle(
  { q, scope, now, order, mandate, result }: MandateResult,
  trigger: MandateTrigger,
  extra: OrderChange = {},
  change: MandateChange & { reason?: string } = {},
): Promise<Outcome> {
  const { id, awaits, connector } = order;
  const is_good = result.status === "ok";
  const completed = { status: is_good ? "succeeded" : "failed", awaits: null } as const;
  const order_change = { ...orderFields(order, result), ...completed, ...extra };
  if (nextStatus(mandate, trigger) === null) return "ignored";
  if (!(await updateOrder({ q, scope, now }, { id, awaits, connector }, order_change))) return "repeated";
  await transitionMandate({ q, scope, now }, mandate, trigger, {
    reason: is_good ? null : reasonOf(result),
    ...change,
  });
  return "applied";
}

/** The bank took a change, or not. A mandate that has ended stays as it was. */
async function onAmendment(answer: MandateResult): Promise<Outcome> {
  const { amendment: awaited, status } = answer.mandate;
  return awaited === null || isFinal(status) ? "ignored" : answerAmendment(answer, awaited);
}

async function answerAmendment(
  { q, scope, now, order, mandate, result }: MandateResult,
  wanted: Amendment,
): Promise<Outcome> {
  const is_good = result.status === "ok";
  const order_change = {
    ...orderFields(order, result),
    status: is_good ? "succeeded" : "failed",
    awaits: null,
  } as const;
  if (!(await updateOrder({ q, scope, now }, order, order_change))) return "repeated";
  const taken = is_good
    ? applyAmendment(mandate, wanted, dayAt(now), await findConfig({ q, scope, now }))
    : { terms: {}, due: [] };
  const reason = is_good ? null : reasonOf(result);
  const change = { ...taken.terms, amendment: null, authorization_url: null, status_reason: reason };
  const after = await updateMandate({ q, scope, now }, mandate, change);
  if (!after) return "ignored";
  const { amount = null } = is_good ? wanted : {};
  await onMandateAmended({ q, scope, now }, mandate.id, { due: taken.due, amount });
  const type = is_good ? "emandate.mandate.amended" : "emandate.mandate.amendment_refused";
  await recordMandateEvent({ q, scope, now }, after, type, reason);
  return "applied";
}

function orderFields(order: MandateOrder, { code, message, scheme_txn_id }: SchemeResult) {
  return {
    response_code: code,
    response_message: message,
    scheme_txn_id: scheme_txn_id ?? order.scheme_txn_id,
  };
}

function reasonOf({ code, message }: SchemeResult): string | null {
  return message ?? code;
}
