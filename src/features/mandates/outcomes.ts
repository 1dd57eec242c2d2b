import type { Scope } from "../../core/access.ts";
import { dayAt, startOfDay } from "../../core/kuala_lumpur.ts";
import { iso } from "../../core/time.ts";
import type { Queries } from "../../store/store.ts";
import { findConfig } from "../emandate_config/queries.ts";
import type { CallbackOutcome } from "../mandate_orders/model.ts";
import { findOrder, type MandateOrder, type OrderChange, updateOrder } from "../mandate_orders/queries.ts";
import { meaningOf } from "../mandate_orders/rules.ts";
import { firstCollection, nextCollection } from "../mandate_payments/rules.ts";
import type { Amendment, MandateTrigger } from "./model.ts";
import { moveMandate, tellOfMandate } from "./moves.ts";
import { findStoredMandate, type StoredMandate, updateMandate } from "./queries.ts";
import { amended, isFinal, type MandateChange, moved } from "./rules.ts";
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
  return settle(answer, "approved", {}, await collectionStart(answer));
}

/** When a mandate that is active from now on is collected first; never where debits are made by hand only. */
async function collectionStart({
  q,
  scope,
  now,
  mandate,
}: Pick<Answer, "q" | "scope" | "now" | "mandate">): Promise<MandateChange> {
  const first = firstCollection(mandate, dayAt(now), await findConfig(q, scope));
  if (first === null || mandate.bankscheme_txn_amount === null) return {};
  return { anchor_date: first.toString(), next_collection_at: iso(startOfDay(first)) };
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
  const terms = is_good ? await takenTerms(q, scope, now, mandate, mandate.amendment) : {};
  const reason = is_good ? null : reasonOf(result);
  const change = { ...terms, amendment: null, authorization_url: null, status_reason: reason };
  const after = await updateMandate(q, scope, now, mandate, change);
  if (!after) return "ignored";
  const type = is_good ? "emandate.mandate.amended" : "emandate.mandate.amendment_refused";
  await tellOfMandate(q, scope, now, after, type, reason);
  return "applied";
}

/**
 * What the mandate says from now on. One that was not collected any more is again: it was debited by hand and now
 * has an amount, or its last day was put off.
 */
async function takenTerms(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  mandate: StoredMandate,
  taken: Amendment,
): Promise<MandateChange> {
  const terms = amended(mandate, taken);
  if (mandate.next_collection_at !== null) return terms;
  const then = { ...mandate, ...terms };
  if (then.anchor_date === null)
    return { ...terms, ...(await collectionStart({ q, scope, now, mandate: then })) };
  const next = nextCollection(then, dayAt(now));
  return { ...terms, next_collection_at: next && iso(startOfDay(next)) };
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
