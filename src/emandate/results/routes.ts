import { type TSchema, Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import type { Deps } from "../../app/deps.ts";
import { answers, data, dataOf, documentedOnly, ErrorBody, HTML_PAGE } from "../../http/responses.ts";
import { readText } from "../../http/body.ts";
import { endpoint, route, routes } from "../../http/route.ts";
import { withBody } from "../../http/authentication.ts";
import { callbackEndpoints } from "./callback_endpoints.ts";
import { applyMandateDecisions, runScenario } from "./service.ts";
import { CollectionResults, OrderNumber } from "./model.ts";

const refusals = answers({ 400: ErrorBody, 404: ErrorBody, 413: ErrorBody, 415: ErrorBody });

/** A form body, documented but read by the endpoint itself. */
const form = (schema: TSchema) => ({
  required: true,
  content: { "application/x-www-form-urlencoded": documentedOnly(schema) },
});
const Callback = Type.Object({
  fpx_sellerExOrderNo: Type.String({ description: "the number of an order" }),
  fpx_checkSum: Type.String({ description: "the scheme's signature" }),
});

/** Endpoints for the scheme and customers' browsers: forms, answered with plain text or a page. */
export const schemeRoutes = (deps: Deps) => {
  const endpoints = callbackEndpoints(deps);
  return routes({ tag: "E-mandates", admits: "open" }, [
    endpoint(
      "POST /emandate/callbacks/fpx",
      {
        response: refusals,
        detail: {
          operationId: "take_scheme_callback",
          summary: "Receive a callback from the debit scheme",
          description:
            "No bearer token: the signature is the authentication, and is checked first. The response is OK; a repeated callback changes nothing.",
          requestBody: form(Callback),
          responses: {
            200: { description: "OK", content: { "text/plain": { schema: { type: "string" } } } },
          },
        },
      },
      endpoints.callback,
    ),
    endpoint(
      "POST /emandate/callbacks/fpx/return",
      {
        response: refusals,
        detail: {
          operationId: "find_return_address",
          summary: "Return a customer's browser from the bank",
          description:
            "Redirects to the company's return_url, with order_no. Without a return_url it shows a page, the same for every order and for unknown ones. Never changes anything.",
          requestBody: form(Type.Pick(Callback, ["fpx_sellerExOrderNo"])),
          responses: {
            ...HTML_PAGE,
            303: { description: "To the return_url", headers: { location: { schema: { type: "string" } } } },
          },
        },
      },
      endpoints.redirectBack,
    ),
    endpoint(
      "GET /emandate/authorizations/:order_no",
      {
        params: OrderNumber,
        response: answers({ 404: ErrorBody, 409: ErrorBody }),
        detail: {
          operationId: "show_authorization_page",
          summary: "Show the page that leads a customer to the bank",
          description: "A mandate's authorization_url leads here until the customer has authorized it.",
          responses: HTML_PAGE,
        },
      },
      endpoints.authorize,
    ),
  ])(deps);
};

export const simulatorRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("POST /emandate/simulator/scenarios/:name/run", runScenario, {
    summary: "Run a sandbox scenario",
    description:
      "With mandate_id: mandate_authorized, mandate_activated, mandate_rejected, mandate_cancelled_by_customer, mandate_terminated_by_bank, mandate_expired. With payment_id: payment_paid, payment_insufficient_funds, payment_account_closed, payment_pending, payment_late_failure, payment_charged_back.",
    status: 202,
    errors: [409],
  }),
]);

/** An endpoint, not a row: a bank sends CSV, not JSON. */
export const mandateDecisionRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  endpoint(
    "POST /emandate/mandates/results",
    {
      response: answers({ 200: dataOf(CollectionResults), 400: ErrorBody, 413: ErrorBody, 415: ErrorBody }),
      detail: {
        operationId: applyMandateDecisions.name,
        summary: "Apply banks' decisions on mandates",
        description:
          "CSV, a line for each order_no of a mandate, with its amount and response_code: 00 approves, other codes refuse, 09 and 99 leave it pending. Each usable line counts once, however often it comes; the others are listed with the reason. The columns are those of a run's results, see docs/emandate_fpx.md.",
        requestBody: { required: true, content: { "text/csv": { schema: { type: "string" } } } },
      },
    },
    async (exchange) => {
      const { ctx, body } = await withBody(exchange, () =>
        readText(exchange.request, exchange.ctx, ["text/csv"]),
      );
      return data(call(ctx, applyMandateDecisions, { csv: body }));
    },
  ),
]);
