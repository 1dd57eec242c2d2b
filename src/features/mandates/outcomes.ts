import type { Scope } from "../../core/access.ts";
import { dayAt } from "../../core/kuala_lumpur.ts";
import type { Queries } from "../../store/store.ts";
import { findConfig } from "../emandate_config/queries.ts";
import type { CallbackOutcome } from "../mandate_orders/model.ts";
import { findOrder, type MandateOrder, type OrderChange, updateOrder } from "../mandate_orders/queries.ts";
import { meaningOf } from "../mandate_orders/rules.ts";
import { amendPayments } from "../mandate_payments/amending.ts";
import { collectionStart, takeAmendment } from "./amending.ts";
import type { MandateTrigger } from "./model.ts";
import { moveMandate, tellOfMandate } from "./moves.ts";
import { findStoredMandate, type StoredMandate, updateMandate } from "./queries.ts";
import { isFinal, type MandateChange, moved } from "./rules.ts";
import type { SchemeResult } from "./schemes/scheme.ts";

/** What is answered, and what it is answered about. */
interface Answer {
  q: Queries;
  scope: Scope;
  now: Temporal.Instant;
  order: MandateOrder;
  mandate: StoredMandate;
  result: SchemeResult;
}

/**
 * Does to an order about a mandate, and to the mandate, what the scheme's answer says; whoever brings it, how often
 * and in whatever order. An answer that was heard before, or that comes when the mandate has ended, changes nothing.
 */
export async function applyMandateResult(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  { id }: Pick<MandateOrder, "id">,
  result: SchemeResult,
): Promise<Exclude<CallbackOutcome, "refused">> {
  const order = await findOrder(q, scope, id);
  const mandate = order && (await findStoredMandate(q, scope, order.mandate_id));
  if (!order || !mandate) return "ignored";
  const meaning = meaningOf(order, result);
  if (meaning === null) return result.code === order.response_code ? "repeated" : "ignored";
  const answer = { q, scope, now, order, mandate, result };
  if (meaning === "end") return endedByBank(answer);
  if (order.kind === "enrolment") return enrolment(answer, meaning === "ahead");
  return order.kind === "amendment" ? amendment(answer) : termination(answer);
}

/** Only the mandate's own enrolment speaks for it. */
async function endedByBank({ q, scope, now, order, mandate, result }: Answer) {
  if (order.kind !== "enrolment" || moved(mandate, "ended_by_bank") === null) return "ignored";
  await moveMandate(q, scope, now, mandate, "ended_by_bank", { reason: reasonOf(result) });
  return "applied";
}

async function enrolment(answer: Answer, is_ahead: boolean) {
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
    if (moved(mandate, "authorized") === null) return "ignored";
    const change = { scheme_reference: result.scheme_txn_id };
    const authorized = await moveMandate(q, scope, now, mandate, "authorized", change);
    return decided({ ...answer, mandate: authorized });
  }
  return decided(answer);
}

/** The bank has decided on a mandate that the customer authorized. */
async function decided(answer: Answer) {
  if (answer.result.status !== "ok") return settle(answer, "refused");
  const { q, scope, now, mandate } = answer;
  const start = collectionStart(mandate, dayAt(now), await findConfig(q, scope));
  return settle(answer, "approved", {}, start);
}

function termination(answer: Answer) {
  return settle(answer, answer.result.status === "ok" ? "termination_confirmed" : "termination_refused");
}

/** Completes the order, unless it awaits more, and moves the mandate. */
async function settle(
  { q, scope, now, order, mandate, result }: Answer,
  trigger: MandateTrigger,
  more: OrderChange = {},
  change: MandateChange = {},
) {
  const { id, awaits, connector } = order;
  const is_good = result.status === "ok";
  const completed = { status: is_good ? "succeeded" : "failed", awaits: null } as const;
  const heard = { ...told(order, result), ...completed, ...more };
  if (moved(mandate, trigger) === null) return "ignored";
  if (!(await updateOrder(q, scope, now, { id, awaits, connector }, heard))) return "repeated";
  await moveMandate(q, scope, now, mandate, trigger, {
    ...change,
    reason: is_good ? null : reasonOf(result),
  });
  return "applied";
}

/** The bank took a change, or not. A mandate that has ended stays as it was. */
async function amendment({ q, scope, now, order, mandate, result }: Answer) {
  if (mandate.amendment === null || isFinal(mandate.status)) return "ignored";
  const is_good = result.status === "ok";
  const heard = {
    ...told(order, result),
    status: is_good ? "succeeded" : "failed",
    awaits: null,
  } as const;
  if (!(await updateOrder(q, scope, now, order, heard))) return "repeated";
  const taken = is_good
    ? takeAmendment(mandate, mandate.amendment, dayAt(now), await findConfig(q, scope))
    : { terms: {}, due: [] };
  const reason = is_good ? null : reasonOf(result);
  const change = { ...taken.terms, amendment: null, authorization_url: null, status_reason: reason };
  const after = await updateMandate(q, scope, now, mandate, change);
  if (!after) return "ignored";
  const { amount = null } = is_good ? mandate.amendment : {};
  await amendPayments(q, scope, now, mandate.id, { due: taken.due, amount });
  const type = is_good ? "emandate.mandate.amended" : "emandate.mandate.amendment_refused";
  await tellOfMandate(q, scope, now, after, type, reason);
  return "applied";
}

function told(order: MandateOrder, { code, message, scheme_txn_id }: SchemeResult) {
  return {
    response_code: code,
    response_message: message,
    scheme_txn_id: scheme_txn_id ?? order.scheme_txn_id,
  };
}

function reasonOf({ code, message }: SchemeResult): string | null {
  return message ?? code;
}
