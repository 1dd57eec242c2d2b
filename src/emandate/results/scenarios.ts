import { AppError, invalid, notFound } from "../../core/errors.ts";
import { instant } from "../../core/time.ts";
import type { Tx } from "../../store/store.ts";
import { findPayment } from "../payments/queries.ts";
import type { PaymentStatus } from "../payments/model.ts";
import type { MandateTrigger } from "../mandates/model.ts";
import { transitionMandate } from "../mandates/transition.ts";
import { findStoredMandate, type StoredMandate } from "../mandates/queries.ts";
import { nextStatus } from "../mandates/rules.ts";
import { resultOf } from "../scheme/response_codes.ts";
import { SCENARIO_RESULTS } from "../scheme/sandbox.ts";
import type { OrderAwaits, SchemeResult } from "../scheme/connector.ts";
import { applyResult } from "./apply_result.ts";
import { rescheduleStatusQueries } from "./polling_queries.ts";
import { findLastOrder } from "../orders/queries.ts";
import { nextQueryAt } from "../orders/rules.ts";
import type { RanScenario, ScenarioSubject } from "./model.ts";

// The scenarios of the sandbox. See docs/emandate.md#scenarios.

/** A scenario that answers what an order awaits. */
type ResultScenario = keyof typeof SCENARIO_RESULTS;

/** Scenarios that no order asked for. */
const REPORTED = {
  mandate_terminated_by_bank: { trigger: "ended_by_bank", reason: "Ended by the bank" },
  mandate_expired: { trigger: "expire", reason: "Its last day has passed" },
} as const satisfies Record<string, { trigger: MandateTrigger; reason: string }>;

/** A customer declines on the way to the bank, or ends a mandate in force there. */
const BY_CUSTOMER = "mandate_cancelled_by_customer";
const DECLINED = resultOf("1C");

function isResult(name: string): name is ResultScenario {
  return Object.hasOwn(SCENARIO_RESULTS, name);
}

function isReported(name: string): name is keyof typeof REPORTED {
  return Object.hasOwn(REPORTED, name);
}

/** Runs a scenario on its subject. Errors: not_found for an unknown scenario; invalid; conflict. */
export async function runScenarioOn(tx: Tx, name: string, subject: ScenarioSubject): Promise<RanScenario> {
  if (!isResult(name) && !isReported(name) && name !== BY_CUSTOMER) throw notFound("Scenario", name);
  const is_of_payment = name.startsWith("payment_");
  checkSubject(subject, is_of_payment);
  if (isResult(name) && is_of_payment) return runOnPayment(tx, name, subject.payment_id ?? 0);

  const mandate = await findSandboxed(tx, subject.mandate_id ?? 0, "/mandate_id", name);
  if (isResult(name)) await applyToMandate(tx, mandate, name, SCENARIO_RESULTS[name]);
  else if (isReported(name)) await report(tx, mandate, name, REPORTED[name]);
  else if (mandate.status === "pending_authorization") {
    await applyToMandate(tx, mandate, name, { awaits: "authorization", result: DECLINED });
  } else {
    const reason = "Ended by the customer at the bank";
    await report(tx, mandate, name, { trigger: "ended_by_bank", reason });
  }
  const after = await findStoredMandate(tx, mandate.id);
  return { name, mandate_id: mandate.id, payment_id: null, status: after?.status ?? mandate.status };
}

/** Errors: invalid. */
function checkSubject({ mandate_id, payment_id }: ScenarioSubject, is_of_payment: boolean): void {
  const [wanted, other] = is_of_payment ? ["payment_id", "mandate_id"] : ["mandate_id", "payment_id"];
  const [given, besides] = is_of_payment ? [payment_id, mandate_id] : [mandate_id, payment_id];
  if (besides !== undefined)
    throw invalid(`/${other}`, `must be left out: the scenario is about a ${wanted}`);
  if (given === undefined) throw invalid(`/${wanted}`, "is required");
}

/** Errors: invalid for a mandate that is not the company's, conflict for one of a real bank. */
async function findSandboxed(tx: Tx, id: number, path: string, name: string): Promise<StoredMandate> {
  const mandate = await findStoredMandate(tx, id);
  if (!mandate) throw invalid(path, "must be one of the company's");
  if (mandate.connector === "sandbox") return mandate;
  throw new AppError("conflict", `Cannot run ${name}: mandate ${id} is not in the sandbox`);
}

async function applyToMandate(
  tx: Tx,
  { id, status }: StoredMandate,
  name: string,
  { awaits, result }: { awaits: OrderAwaits; result: SchemeResult },
): Promise<void> {
  const order = await findLastOrder(tx, { mandate_id: id });
  const scheme_txn_id = `SANDBOX-${order?.order_no}`;
  if (order?.awaits === awaits) {
    const outcome = await applyResult(tx, order, { ...result, scheme_txn_id });
    if (outcome === "applied") return;
  }
  throw new AppError("conflict", `Cannot run ${name} on mandate ${id}: it is ${status}`);
}

async function report(
  tx: Tx,
  mandate: StoredMandate,
  name: string,
  { trigger, reason }: { trigger: MandateTrigger; reason: string },
): Promise<void> {
  if (nextStatus(mandate, trigger) !== null) await transitionMandate(tx, mandate, trigger, { reason });
  else throw new AppError("conflict", `Cannot run ${name} on mandate ${mandate.id}: it is ${mandate.status}`);
}

/** The state of a payment while its order awaits this step. */
const STATUS_WHILE: Partial<Record<OrderAwaits, PaymentStatus>> = {
  payment: "submitted",
  settlement: "paid",
};

async function runOnPayment(tx: Tx, name: ResultScenario, id: number): Promise<RanScenario> {
  const payment = await findPayment(tx, id);
  if (!payment) throw invalid("/payment_id", "must be one of the company's");
  const { mandate_id } = payment;
  await findSandboxed(tx, mandate_id, "/payment_id", name);
  const { awaits, result } = SCENARIO_RESULTS[name];
  const order = await findLastOrder(tx, { payment_id: id });
  if (!order || payment.status !== STATUS_WHILE[awaits]) {
    throw new AppError("conflict", `Cannot run ${name} on payment ${id}: it is ${payment.status}`);
  }
  const response = { ...result, scheme_txn_id: `SANDBOX-${order.order_no}` };
  if (response.status === "pending") {
    const next = nextQueryAt(order.connector, instant(order.awaits_since), tx.now);
    await rescheduleStatusQueries(tx, [{ order, next, response }]);
  } else await applyResult(tx, order, response);
  const after = await findPayment(tx, id);
  return { name, mandate_id, payment_id: id, status: after?.status ?? payment.status };
}
