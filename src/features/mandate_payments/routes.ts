import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { Nothing, paged } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import {
  CreateMandatePaymentBody,
  ListMandatePayments,
  MandatePayment,
  MandatePaymentDetail,
} from "./model.ts";
import {
  cancelMandatePayment,
  createMandatePayment,
  getMandatePayment,
  listMandatePayments,
  retryMandatePayment,
} from "./service.ts";

const TAGS = ["E-mandates"];

export const mandatePaymentRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/emandate/payments", tags: TAGS })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listMandatePayments, query), {
      query: fromText(ListMandatePayments),
      response: answers({ 200: paged(MandatePayment) }),
      detail: {
        operationId: listMandatePayments.name,
        summary: "List payments",
        description: "Newest first; from and to are days on which they are due, both included.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getMandatePayment, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(MandatePaymentDetail), 404: ErrorBody }),
      detail: { operationId: getMandatePayment.name, summary: "Get a payment with its attempts" },
    })
    .post("/:id/retry", ({ ctx, params }) => data(call(ctx, retryMandatePayment, params)), {
      params: IdPath,
      body: Nothing,
      response: answers({ 200: dataOf(MandatePaymentDetail), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: retryMandatePayment.name,
        summary: "Try a payment again now",
        description:
          "While its status is retry_scheduled, counted as an attempt; or skipped, as a debit of today. A payment that failed for good stays so.",
      },
    })
    .post("/:id/cancel", ({ ctx, params }) => data(call(ctx, cancelMandatePayment, params)), {
      params: IdPath,
      body: Nothing,
      response: answers({ 200: dataOf(MandatePaymentDetail), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: cancelMandatePayment.name,
        summary: "Cancel a payment that was not submitted yet, or waits to be tried again",
      },
    });

export const mandateDebitRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/emandate/mandates", tags: TAGS })
    .use(session(deps, "company"))
    .post(
      "/:id/payments",
      async ({ ctx, params, body, status }) =>
        status(201, await data(call(ctx, createMandatePayment, { ...params, ...body }))),
      {
        params: IdPath,
        body: CreateMandatePaymentBody,
        response: answers({ 201: dataOf(MandatePaymentDetail), 404: ErrorBody, 409: ErrorBody }),
        detail: {
          operationId: createMandatePayment.name,
          summary: "Debit a mandate by hand",
          description:
            "Without a due_date, or with one that is not in the future, the debit is submitted before the answer; else it waits as scheduled. It counts towards max_no_debit of the calendar period in which it is due.",
        },
      },
    );
