import { type TObject, Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id, oneOf } from "../../core/schema.ts";
import { decode } from "../../core/validate.ts";
import { Mandate } from "./model.ts";
import {
  cancelMandate,
  createMandate,
  getMandate,
  listMandates,
  resumeMandate,
  suspendMandate,
} from "./service.ts";
import { data, dataOf } from "../../http/responses.ts";
import { search } from "../../mcp/params.ts";
import { action, finder } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { customer_id, emandate_page, emandate_product_id, mandate_id, mandateInWords } from "../tools.ts";
import { PAYMENT_DETAILS } from "../payments/tools.ts";
import {
  amendMandate,
  authorizeMandate,
  terminateMandate,
  withdrawMandateRequest,
} from "./request_service.ts";

/** Left out of concise results. */
const MANDATE_DETAILS = [
  "scheme_reference",
  "customer_id",
  "phone",
  "ic_number",
  "emandate_product_id",
  "connector",
  "application_type",
  "frequency_mode",
  "currency",
  "bank_code",
  "bank_account_last4",
  "effective_date",
  "authorized_at",
  "activated_at",
  "terminated_at",
  ...PAYMENT_DETAILS,
];

const mandateFinder = finder("mandate_id", listMandates, getMandate);
const { payments, events } = getMandate.output.properties;

/** Without the mandate's order_no, which concise results therefore show; they leave out those of payments. */
const output: TObject = Type.Object({
  data: Type.Array(
    Type.Object({ ...Mandate.properties, payments: Type.Optional(payments), events: Type.Optional(events) }),
  ),
  meta: Type.Optional(listMandates.output.properties.meta),
});

const findMandates = tool({
  name: "emandate_find_mandates",
  title: "Find mandates",
  description:
    "Finds direct debit mandates by status, customer, product, or text in the customer's name or email or the reference, newest first; or one by mandate_id, with its payments and history. status_reason explains the status.",
  ...mandateFinder,
  output,
  details: MANDATE_DETAILS,
  input: {
    mandate_id: Type.Optional(describe(Id, "One mandate; the other filters then do not apply")),
    status: describe(listMandates.input.properties.status, "Only in this state"),
    customer_id: Type.Optional(customer_id),
    emandate_product_id: Type.Optional(emandate_product_id),
    search: describe(search, "Text in name, email or reference"),
    ...emandate_page,
  },
  run: (ctx, { emandate_product_id: product_id, ...query }) =>
    mandateFinder.run(ctx, { ...query, ...(product_id === undefined ? {} : { product_id }) }),
});

const fields = createMandate.input.properties;

const addMandate = tool({
  name: "emandate_create_mandate",
  title: "Create a mandate",
  description:
    "Creates a mandate for a customer, who is found by email or created. It is pending: nothing is sent to the bank until emandate_authorize_mandate. Without a product it is Monthly; without a product and an amount it is debited by hand only (emandate_debit).",
  ...action(createMandate),
  takes_request_id: true,
  details: MANDATE_DETAILS,
  input: {
    customer_name: describe(fields.customer_name, "As the bank has it"),
    customer_email: describe(fields.customer_email, "Identifies the customer"),
    customer_phone: describe(fields.customer_phone, "Malaysian, or E.164"),
    customer_ic_number: describe(fields.customer_ic_number, "12 digits, dashes allowed"),
    emandate_product_id: describe(fields.emandate_product_id, "Sets frequency, limits and amount"),
    bankscheme_txn_amount: describe(fields.bankscheme_txn_amount, "Amount of each debit"),
    frequency: describe(fields.frequency, "Must be the product's, if any"),
  },
});

const authorize = tool({
  name: "emandate_authorize_mandate",
  title: "Ask a customer to authorize a mandate",
  description:
    "Sends a pending or failed mandate to the bank and returns authorization_url: give it to the customer, who authorizes there within 24 hours; the bank approves on the next day. emandate_find_mandates shows the status.",
  ...action(authorizeMandate, "mandate_id"),
  is_open_world: true,
  details: MANDATE_DETAILS,
  input: {
    mandate_id,
    bank_code: describe(
      authorizeMandate.input.properties.bank_code,
      "The customer's bank, from emandate_get_setup",
    ),
  },
});

const ACTIONS = { suspend: suspendMandate, resume: resumeMandate, withdraw: withdrawMandateRequest };
const change = amendMandate.input.properties;

const changeMandate = tool({
  name: "emandate_change_mandate",
  title: "Suspend, resume or amend a mandate, or withdraw a request",
  description:
    "kind suspend: an active mandate is not debited until it is resumed. kind resume: a suspended one is debited again, but not for past periods. kind amend: asks the bank for another amount, frequency or expiry_date, valid once it agrees: an amount for open collections too, a frequency from the next collection on. kind withdraw: withdraws a termination or an amendment that the bank has not answered. Ask the person first.",
  operations: [amendMandate, ...Object.values(ACTIONS)],
  is_destructive: true,
  is_open_world: true,
  details: MANDATE_DETAILS,
  input: {
    mandate_id,
    kind: describe(oneOf(["suspend", "resume", "amend", "withdraw"]), "The action"),
    reason: describe(suspendMandate.input.properties.reason, "Why, for all but amend"),
    amount: describe(change.amount, "For amend: amount of each debit"),
    frequency: describe(change.frequency, "For amend"),
    expiry_date: describe(change.expiry_date, "For amend: the last day"),
  },
  output: dataOf(Mandate),
  run(ctx, { mandate_id: id, kind, ...given }) {
    if (kind === "amend") return data(call(ctx, amendMandate, decode(amendMandate.input, { id, ...given })));
    const chosen = ACTIONS[kind];
    return data(call(ctx, chosen, decode(chosen.input, { id, ...given })));
  },
});

const ENDS = { cancel: cancelMandate, terminate: terminateMandate };

const endMandate = tool({
  name: "emandate_end_mandate",
  title: "Cancel or terminate a mandate",
  description:
    "Ends a mandate for good and cancels its scheduled payments; a new one needs the customer's authorization again. kind cancel: one that the customer has not authorized yet. kind terminate: an active or suspended one; the bank confirms. Ask the person first.",
  operations: Object.values(ENDS),
  is_destructive: true,
  is_open_world: true,
  details: MANDATE_DETAILS,
  input: {
    mandate_id,
    kind: describe(oneOf(["cancel", "terminate"]), "The way to end it"),
    reason: describe(cancelMandate.input.properties.reason, "Why"),
  },
  async asks(ctx, { mandate_id: id, kind }) {
    const { words } = await mandateInWords(ctx, id);
    const verb = kind === "cancel" ? "Cancels" : "Terminates";
    return `${verb} ${words}, for good, with its scheduled payments. Another one needs the customer's authorization.`;
  },
  output: dataOf(Mandate),
  run: (ctx, { mandate_id: id, kind, ...body }) => data(call(ctx, ENDS[kind], { id, ...body })),
});

export const mandateTools = [findMandates, addMandate, authorize, changeMandate, endMandate];
