import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id, oneOf, paged } from "../../core/schema.ts";
import { CollectionRun, RunCollection } from "../../features/collections/model.ts";
import { getCollectionRun, listCollectionRuns, runCollection } from "../../features/collections/service.ts";
import {
  CreateMandatePayment,
  ListMandatePayments,
  MandatePayment,
  MandatePaymentDetail,
} from "../../features/mandate_payments/model.ts";
import {
  cancelMandatePayment,
  createMandatePayment,
  getMandatePayment,
  listMandatePayments,
  retryMandatePayment,
} from "../../features/mandate_payments/service.ts";
import { RanScenario, RunScenario } from "../../features/mandate_orders/model.ts";
import { runScenario } from "../../features/mandate_orders/service.ts";
import { data, dataOf } from "../../http/answers.ts";
import { emandate_page, mandate_id, payment_id } from "../params.ts";
import { tool } from "../tool.ts";
import { said } from "../wire_schema.ts";

/** What a concise answer leaves out of a payment. */
export const PAYMENT_DETAILS = [
  "period_key",
  "currency",
  "order_no",
  "scheme_txn_id",
  "response_code",
  "submitted_at",
  "flagged_at",
];

const { attempts } = MandatePaymentDetail.properties;
const filter = ListMandatePayments.properties;

const findPayments = tool({
  name: "emandate_find_payments",
  title: "Find debits",
  description:
    "Finds payments, the debits of mandates, by status, mandate or due date, newest first; or one by payment_id with each attempt. response_message says why one failed, next_attempt_at when it is tried again.",
  level: "company",
  operations: [listMandatePayments, getMandatePayment],
  details: PAYMENT_DETAILS,
  input: {
    payment_id: Type.Optional(said(Id, "One payment; the other filters then do not apply")),
    mandate_id: Type.Optional(mandate_id),
    status: said(filter.status, "Only in this state"),
    from: said(filter.from, "Due then or later"),
    to: said(filter.to, "Due then or before"),
    ...emandate_page,
  },
  output: Type.Object({
    data: Type.Array(Type.Object({ ...MandatePayment.properties, attempts: Type.Optional(attempts) })),
    meta: Type.Optional(paged(MandatePayment).properties.meta),
  }),
  run: async (ctx, { payment_id: id, ...query }) =>
    id === undefined
      ? call(ctx, listMandatePayments, query)
      : { data: [await call(ctx, getMandatePayment, { id })] },
});

const debitFields = CreateMandatePayment.properties;

const debit = tool({
  name: "emandate_debit",
  title: "Debit a customer",
  description:
    "Takes money from a customer's account under an active mandate: at once where it is due today or earlier, else on its day. Counts towards max_no_debit. It can't be taken back here. Ask the person first; emandate_get_setup tells whether the money is real.",
  level: "company",
  operations: [createMandatePayment],
  is_outlined_elsewhere: true,
  is_destructive: true,
  reaches_out: true,
  takes_request_id: true,
  details: PAYMENT_DETAILS,
  input: {
    mandate_id,
    amount: said(debitFields.amount, "At most the mandate's max_amount"),
    due_date: said(debitFields.due_date, "Today in Kuala Lumpur unless told"),
    description: said(debitFields.description, "What the customer reads"),
  },
  output: dataOf(MandatePayment),
  run: (ctx, { mandate_id: id, ...body }) => data(call(ctx, createMandatePayment, { id, ...body })),
});

const PAYMENT_CHANGES = { retry: retryMandatePayment, cancel: cancelMandatePayment };
const CHANGE_KINDS = ["retry", "cancel"] as const;

const changePayment = tool({
  name: "emandate_change_payment",
  title: "Retry or cancel a debit",
  description:
    "kind retry: tries a debit that failed for want of funds or by a fault of the system once more, now, or makes one that was skipped: takes money, and counts as an attempt. kind cancel: gives up one that is scheduled or waits for its next attempt. Ask the person first.",
  level: "company",
  operations: Object.values(PAYMENT_CHANGES),
  is_outlined_elsewhere: true,
  is_destructive: true,
  reaches_out: true,
  takes_request_id: true,
  details: PAYMENT_DETAILS,
  input: { payment_id, kind: said(oneOf(CHANGE_KINDS), "What is done") },
  output: dataOf(MandatePayment),
  run: (ctx, { payment_id: id, kind }) => data(call(ctx, PAYMENT_CHANGES[kind], { id })),
});

const collect = tool({
  name: "emandate_run_collection",
  title: "Collect what is due",
  description:
    "Debits every active mandate of the company that is due: takes money from many customers. It runs every 15 minutes by itself, so that this is rarely needed. Answers the run, which goes on: emandate_find_collections tells how it ended. Ask the person first.",
  level: "company",
  operations: [runCollection],
  is_outlined_elsewhere: true,
  is_destructive: true,
  reaches_out: true,
  input: {
    date: said(RunCollection.properties.date, "As of the end of that day in Kuala Lumpur; today unless told"),
  },
  output: dataOf(CollectionRun),
  run: (ctx, input) => data(call(ctx, runCollection, input)),
});

const findCollections = tool({
  name: "emandate_find_collections",
  title: "Find collection runs",
  description: "Lists collection runs with what they did, newest first, or one by collection_id.",
  level: "company",
  operations: [listCollectionRuns, getCollectionRun],
  details: ["requested_by", "finished_at"],
  input: {
    collection_id: Type.Optional(said(Id, "One run; the page then does not apply")),
    ...emandate_page,
  },
  output: Type.Object({
    data: Type.Array(CollectionRun),
    meta: Type.Optional(paged(CollectionRun).properties.meta),
  }),
  run: async (ctx, { collection_id: id, ...query }) =>
    id === undefined
      ? call(ctx, listCollectionRuns, query)
      : { data: [await call(ctx, getCollectionRun, { id })] },
});

const scenario = tool({
  name: "emandate_run_scenario",
  title: "Make something happen in the sandbox",
  description:
    "Plays the bank and the customer in the sandbox; refused elsewhere. Of a mandate: mandate_authorized, then mandate_activated; mandate_rejected, mandate_cancelled_by_customer, mandate_terminated_by_bank, mandate_expired. Of a payment: payment_paid, payment_insufficient_funds, payment_account_closed, payment_pending; once paid, payment_late_failure, payment_charged_back.",
  level: "company",
  operations: [runScenario],
  is_destructive: true,
  input: {
    scenario: said(RunScenario.properties.name, "Its name"),
    mandate_id: said(RunScenario.properties.mandate_id, "For what is of a mandate"),
    payment_id: said(RunScenario.properties.payment_id, "For what is of a payment"),
  },
  output: dataOf(RanScenario),
  run: (ctx, { scenario: name, ...subject }) => data(call(ctx, runScenario, { name, ...subject })),
});

export const emandatePaymentTools = [findPayments, debit, changePayment, collect, findCollections, scenario];
