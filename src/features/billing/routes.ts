import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { paged } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody, HTML_PAGE, page } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import {
  BillingRecord,
  BillingRecordDetail,
  BillingRun,
  BillingRunDetail,
  BillingRunResult,
  BillPreview,
  ListBillingRecords,
  ListBillingRuns,
  ListMyBillingRecords,
  ListUnbilledUsage,
  RunBilling,
  UnbilledUsage,
  Verification,
} from "./model.ts";
import {
  getBillingRecord,
  getBillingRun,
  listBillingRecords,
  listBillingRuns,
  listUnbilledUsage,
  runBilling,
} from "./service.ts";

import { getInvoice, previewSubscription, verifyBillingRecord } from "./statements.ts";

const TAGS = ["Billing"];
const ORDER = "The last written first. A record's lines are in its detail.";

const PREVIEW =
  "The lines that a bill of it would have now: the fee whole, the usage so far. Of a cancelled subscription its last period. Nothing is written.";
const VERIFY =
  "Of each usage line: what the events come to that were stored when the record was written (expected), and what the record says (actual). Prices, amounts and sums are worked out again too: differences names what is not as it should be. It stays true when usage arrives later.";

const statusOf = ({ status }: BillingRunResult) => (status === "running" ? 202 : 200);

export const billingRunRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/billing-runs", tags: TAGS })
    .use(session(deps, "company"))
    .post(
      "",
      async ({ ctx, body, status }) => {
        const run = await call(ctx, runBilling, body);
        return status(statusOf(run), { data: run });
      },
      {
        body: RunBilling,
        response: answers({ 200: dataOf(BillingRunResult), 202: dataOf(BillingRunResult) }),
        detail: {
          operationId: runBilling.name,
          summary: "Bill what is due",
          description:
            "Without a period: every period that ended long enough ago and has no record, oldest first. With one: the periods that start in that month, again too; late usage becomes an adjustment. 202 means that the run goes on: GET /billing-runs/{id} tells how far it is. A dry run writes no record and answers those that it would write; name fewer subscriptions when it takes too long to answer them.",
        },
      },
    )
    .get("", ({ ctx, query }) => call(ctx, listBillingRuns, query), {
      query: fromText(ListBillingRuns),
      response: answers({ 200: paged(BillingRun) }),
      detail: {
        operationId: listBillingRuns.name,
        summary: "List billing runs",
        description: "Newest first; the errors are in a run's detail.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getBillingRun, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(BillingRunDetail), 404: ErrorBody }),
      detail: { operationId: getBillingRun.name, summary: "Get a billing run with its errors" },
    });

export const unbilledUsageRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/unbilled-usage", tags: TAGS })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listUnbilledUsage, query), {
      query: fromText(ListUnbilledUsage),
      response: answers({ 200: paged(UnbilledUsage) }),
      detail: {
        operationId: listUnbilledUsage.name,
        summary: "List usage that no bill counts",
        description:
          "As the daily recheck found it, the latest found first: usage that came too late for it, which a run that names the month bills, and usage dated after its subscription's end.",
      },
    });

export const billingRecordRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/billing-records", tags: TAGS })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listBillingRecords, query), {
      query: fromText(ListBillingRecords),
      response: answers({ 200: paged(BillingRecord) }),
      detail: { operationId: listBillingRecords.name, summary: "List billing records", description: ORDER },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getBillingRecord, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(BillingRecordDetail), 404: ErrorBody }),
      detail: {
        operationId: getBillingRecord.name,
        summary: "Get a billing record with its lines and subscription",
      },
    })
    .get("/:id/verify", ({ ctx, params }) => data(call(ctx, verifyBillingRecord, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Verification), 404: ErrorBody, 503: ErrorBody }),
      detail: {
        operationId: verifyBillingRecord.name,
        summary: "Count a billing record's events again",
        description: VERIFY,
      },
    })
    .get("/:id/invoice", ({ ctx, params }) => page(call(ctx, getInvoice, params)), {
      params: IdPath,
      response: answers({ 404: ErrorBody }),
      detail: {
        operationId: getInvoice.name,
        summary: "Get a billing record as a page to print",
        responses: HTML_PAGE,
      },
    });

export const previewRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/subscriptions", tags: TAGS })
    .use(session(deps, "company"))
    .get("/:id/preview", ({ ctx, params }) => data(call(ctx, previewSubscription, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(BillPreview), 404: ErrorBody, 503: ErrorBody }),
      detail: {
        operationId: previewSubscription.name,
        summary: "Preview the bill of the running period",
        description: PREVIEW,
      },
    });

export const myPreviewRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/my/subscriptions", tags: ["Self-service"] })
    .use(session(deps, "client"))
    .get("/:id/preview", ({ ctx, params }) => data(call(ctx, previewSubscription, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(BillPreview), 404: ErrorBody, 503: ErrorBody }),
      detail: {
        operationId: previewSubscription.name,
        summary: "Preview my bill of the running period",
        description: PREVIEW,
      },
    });

export const myBillingRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/my/billing-records", tags: ["Self-service"] })
    .use(session(deps, "client"))
    .get("", ({ ctx, query }) => call(ctx, listBillingRecords, query), {
      query: fromText(ListMyBillingRecords),
      response: answers({ 200: paged(BillingRecord) }),
      detail: {
        operationId: listBillingRecords.name,
        summary: "List my billing records",
        description: ORDER,
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getBillingRecord, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(BillingRecordDetail), 404: ErrorBody }),
      detail: { operationId: getBillingRecord.name, summary: "Get one of my billing records" },
    })
    .get("/:id/invoice", ({ ctx, params }) => page(call(ctx, getInvoice, params)), {
      params: IdPath,
      response: answers({ 404: ErrorBody }),
      detail: {
        operationId: getInvoice.name,
        summary: "Get one of my billing records as a page to print",
        responses: HTML_PAGE,
      },
    });
