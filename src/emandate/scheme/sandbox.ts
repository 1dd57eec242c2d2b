import { AppError } from "../../core/errors.ts";
import { schemeBanks } from "./banks.ts";
import { resultOf } from "./response_codes.ts";
import type { OrderAwaits, SchemeConnector, SchemeOrder, SchemeResult } from "./connector.ts";

// The sandbox has no state: its results follow from the order and the time alone, so it survives restarts and works
// with any number of instances.

const OK = resultOf("00");
const PENDING = resultOf("09");
/** While a customer waits for scenarios. */
const NOT_COME: SchemeResult = { ...PENDING, is_idle: true };
const CHARGED_BACK: SchemeResult = { ...OK, status: "charged_back", code: "CB", message: "Charged back" };
const CLOSED = resultOf("53");
/** A bank refuses a mandate. */
const REFUSED: SchemeResult = { ...resultOf("92"), message: "Refused by the bank" };

/** The results at each step for customers whose first name drives the sandbox. */
const ANSWERS: Record<string, Partial<Record<OrderAwaits, SchemeResult>>> = {
  Successful: { authorization: OK, approval: OK, payment: OK, settlement: OK },
  Penniless: { authorization: OK, approval: OK, payment: resultOf("51") },
  Fickle: { authorization: OK, approval: OK, payment: OK, settlement: CHARGED_BACK },
  Late: { authorization: OK, approval: OK, payment: OK, settlement: CLOSED },
  Invalid: { authorization: resultOf("14") },
};

/** Seconds from the submission of an order to the result of a step; orders are polled every second. */
const ANSWERED_AFTER_S: Record<OrderAwaits, number> = {
  authorization: 1,
  confirmation: 1,
  payment: 1,
  approval: 2,
  settlement: 2,
};

/** The results of scenarios, each for an order that awaits this step. */
export const SCENARIO_RESULTS = {
  mandate_authorized: { awaits: "authorization", result: OK },
  mandate_activated: { awaits: "approval", result: OK },
  mandate_rejected: { awaits: "approval", result: REFUSED },
  payment_paid: { awaits: "payment", result: OK },
  payment_insufficient_funds: { awaits: "payment", result: resultOf("51") },
  payment_account_closed: { awaits: "payment", result: CLOSED },
  payment_pending: { awaits: "payment", result: PENDING },
  payment_late_failure: { awaits: "settlement", result: CLOSED },
  payment_charged_back: { awaits: "settlement", result: CHARGED_BACK },
} as const satisfies Record<string, { awaits: OrderAwaits; result: SchemeResult }>;

/** The sandbox connector: it plays the scheme, the bank and the customer. */
export const sandbox: SchemeConnector = {
  name: "sandbox",
  listBanks: async () => schemeBanks({ with_tests: true }).map((bank) => ({ ...bank, status: "online" })),
  startEnrolment: async () => PENDING,
  amend: async () => PENDING,
  terminate: async () => PENDING,
  authorizationForm: () => null,
  collect: async (orders) => new Map(orders.map(({ order_no }) => [order_no, PENDING])),
  queryStatus: async (orders, now) => new Map(orders.map((order) => [order.order_no, answerTo(order, now)])),
  parseCallback() {
    throw new AppError("malformed", "Cannot take a callback: the sandbox sends none");
  },
};

function answerTo({ awaits, mandate, order_no, submitted_at }: SchemeOrder, now: Temporal.Instant) {
  if (awaits === null) return PENDING;
  const answered_at = submitted_at.add({ seconds: ANSWERED_AFTER_S[awaits] });
  if (Temporal.Instant.compare(now, answered_at) < 0) return PENDING;
  // Amendments and terminations are always confirmed; customers with other names wait for scenarios.
  const answer = awaits === "confirmation" ? OK : ANSWERS[firstWord(mandate.customer_name)]?.[awaits];
  if (answer === undefined) return awaits === "authorization" ? NOT_COME : PENDING;
  return { ...answer, scheme_txn_id: `SANDBOX-${order_no}` };
}

function firstWord(name: string): string {
  return name.trim().split(/\s/)[0] ?? "";
}
