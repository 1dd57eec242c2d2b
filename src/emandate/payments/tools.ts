import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id, oneOf } from "../../core/schema.ts";
import { MandatePayment } from "./model.ts";
import {
  cancelMandatePayment,
  createMandatePayment,
  getMandatePayment,
  listMandatePayments,
  retryMandatePayment,
} from "./service.ts";
import { data, dataOf } from "../../http/responses.ts";
import { action, finder } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { emandate_page, mandate_id, mandateInWords } from "../tools.ts";

/** Left out of concise results. */
export const PAYMENT_DETAILS = [
  "period_key",
  "currency",
  "order_no",
  "scheme_txn_id",
  "response_code",
  "submitted_at",
  "flagged_at",
];

const filter = listMandatePayments.input.properties;

const findPayments = tool({
  name: "emandate_find_payments",
  title: "Find debits",
  description:
    "Finds payments, the debits of mandates, by status, mandate or due date, newest first; or one by payment_id with its attempts. response_message says why one failed, next_attempt_at when it is retried.",
  ...finder("payment_id", listMandatePayments, getMandatePayment),
  details: PAYMENT_DETAILS,
  input: {
    payment_id: Type.Optional(describe(Id, "One, by id or order_no; other filters do not apply")),
    mandate_id: Type.Optional(mandate_id),
    status: describe(filter.status, "Only in this state"),
    from: describe(filter.from, "Due then or later"),
    to: describe(filter.to, "Due then or before"),
    ...emandate_page,
  },
});

const debitFields = createMandatePayment.input.properties;

const debit = tool({
  name: "emandate_debit",
  title: "Debit a customer",
  description:
    "Takes money from a customer's account under an active mandate: at once where it is due today or earlier, else on its due date. Counts towards max_no_debit. Can't be undone here. Ask the person first; emandate_get_setup says whether the money is real.",
  ...action(createMandatePayment, "mandate_id"),
  // Without its attempts, which concise results therefore leave whole.
  output: dataOf(MandatePayment),
  is_destructive: true,
  is_open_world: true,
  takes_request_id: true,
  details: PAYMENT_DETAILS,
  input: {
    mandate_id,
    amount: describe(debitFields.amount, "At most the mandate's max_amount"),
    due_date: describe(debitFields.due_date, "Default: today in Kuala Lumpur"),
    description: describe(debitFields.description, "What the customer reads"),
  },
  async asks(ctx, { mandate_id: id, amount, due_date }) {
    const { words, money } = await mandateInWords(ctx, id);
    return `Debits MYR ${amount} under ${words}, ${due_date === undefined ? "today" : `due ${due_date}`}. ${money}`;
  },
});

const PAYMENT_CHANGES = { retry: retryMandatePayment, cancel: cancelMandatePayment };

const changePayment = tool({
  name: "emandate_change_payment",
  title: "Retry or cancel a debit",
  description:
    "kind retry: repeats a debit now that failed for lack of funds or by a system fault, or makes one that was skipped; takes money and counts as an attempt. kind cancel: cancels one that is scheduled or waits for its next attempt. Ask the person first.",
  operations: Object.values(PAYMENT_CHANGES),
  is_destructive: true,
  is_open_world: true,
  takes_request_id: true,
  details: PAYMENT_DETAILS,
  input: {
    payment_id: describe(Id, "The payment's id"),
    kind: describe(oneOf(["retry", "cancel"]), "What to do"),
  },
  async asks(ctx, { payment_id: id, kind }) {
    if (kind === "cancel") return null;
    const { mandate_id: of_mandate, amount, due_date } = await call(ctx, getMandatePayment, { id });
    const { words, money } = await mandateInWords(ctx, of_mandate);
    return `Debits MYR ${amount} of ${due_date} again, under ${words}. ${money}`;
  },
  output: dataOf(MandatePayment),
  run: (ctx, { payment_id: id, kind }) => data(call(ctx, PAYMENT_CHANGES[kind], { id })),
});

export const paymentTools = [findPayments, debit, changePayment];
