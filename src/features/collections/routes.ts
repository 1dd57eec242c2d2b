import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { paged } from "../../core/schema.ts";
import { answers, attachment, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { readText } from "../../http/body.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session, withBody } from "../../http/session.ts";
import { CollectionResults, CollectionRun, ListCollectionRuns, RunCollection } from "./model.ts";
import {
  applyCollectionResults,
  applyDebitResults,
  getCollectionFile,
  getCollectionRun,
  listCollectionRuns,
  runCollection,
} from "./service.ts";

const TAGS = ["E-mandates"];

const CSV = "text/csv";
const CSV_CONTENT = { [CSV]: { schema: { type: "string" as const } } };

export const collectionRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/emandate/collections", tags: TAGS })
    .use(session(deps, "company"))
    .post("/run", async ({ ctx, body, status }) => status(202, await data(call(ctx, runCollection, body))), {
      body: RunCollection,
      response: answers({ 202: dataOf(CollectionRun), 409: ErrorBody }),
      detail: {
        operationId: runCollection.name,
        summary: "Collect what is due",
        description:
          "By the end of the date in Kuala Lumpur, today without one; a date ahead is for the sandbox. With status running it goes on: GET /emandate/collections/{id} tells how far it is. The service does the same every 15 minutes.",
      },
    })
    .get("", ({ ctx, query }) => call(ctx, listCollectionRuns, query), {
      query: fromText(ListCollectionRuns),
      response: answers({ 200: paged(CollectionRun) }),
      detail: {
        operationId: listCollectionRuns.name,
        summary: "List collection runs",
        description: "Newest first. Runs that the service began and that found nothing to do are not kept.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getCollectionRun, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(CollectionRun), 404: ErrorBody }),
      detail: { operationId: getCollectionRun.name, summary: "Get a collection run" },
    })
    .get("/:id/file", ({ ctx, params }) => attachment(call(ctx, getCollectionFile, params)), {
      params: IdPath,
      response: answers({ 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: getCollectionFile.name,
        summary: "Get a run's debits as a file",
        description:
          "CSV, a line for each debit of the run, for a bank that takes debits by file: of mandates that began with FPX, where the run's connector is fpx. 409 while the run goes on, and for one that was interrupted, whose debits are in the next one's file; the same bytes afterwards. Its columns are documented in docs/emandate_fpx.md.",
        responses: { 200: { description: "The file.", content: CSV_CONTENT } },
      },
    });

const RESULT_ANSWERS = { 200: dataOf(CollectionResults), 400: ErrorBody, 413: ErrorBody, 415: ErrorBody };
const RESULTS_SENT = { required: true, content: CSV_CONTENT };

/** What a bank sends is no JSON. */
export const collectionResultRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/emandate/collections", tags: TAGS })
    .use(session(deps, "company", { reads_body: false }))
    .post(
      "/results",
      async ({ ctx, request }) => {
        const sent = await withBody(deps, request, ctx, () => readText(request, ctx, [CSV]));
        return data(call(sent.ctx, applyDebitResults, { csv: sent.body }));
      },
      {
        response: answers(RESULT_ANSWERS),
        detail: {
          operationId: applyDebitResults.name,
          summary: "Apply a bank's results, of any runs",
          description:
            "CSV, a line for each debit, which is found by its order_no, whichever run made it, or none: charge-backs come months later. Each line that can be used counts once, however often it comes; the others are named with the reason. Its columns are documented in docs/emandate_fpx.md.",
          requestBody: RESULTS_SENT,
        },
      },
    )
    .post(
      "/:id/results",
      async ({ ctx, params, request }) => {
        const sent = await withBody(deps, request, ctx, () => readText(request, ctx, [CSV]));
        return data(call(sent.ctx, applyCollectionResults, { ...params, csv: sent.body }));
      },
      {
        params: IdPath,
        response: answers({ ...RESULT_ANSWERS, 404: ErrorBody }),
        detail: {
          operationId: applyCollectionResults.name,
          summary: "Apply a bank's results, of one run",
          description:
            "CSV, a line for each debit of the run. Each line that can be used counts once, however often it comes; the others are named with the reason. Its columns are documented in docs/emandate_fpx.md.",
          requestBody: RESULTS_SENT,
        },
      },
    );
