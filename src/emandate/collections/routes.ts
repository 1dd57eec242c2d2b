import { call } from "../../app/operation.ts";
import { ById } from "../../core/schema.ts";
import { answers, attachment, data, dataOf, ErrorBody } from "../../http/responses.ts";
import { readText } from "../../http/body.ts";
import type { Exchange } from "../../http/handle.ts";
import { endpoint, route, routes } from "../../http/route.ts";
import { withBody } from "../../http/authentication.ts";
import {
  applyCollectionResults,
  applyDebitResults,
  getCollectionFile,
  getCollectionRun,
  listCollectionRuns,
  runCollection,
} from "./service.ts";
import { CollectionResults } from "../results/model.ts";

const CSV = "text/csv";
const CSV_CONTENT = { [CSV]: { schema: { type: "string" as const } } };

const RESULT_ANSWERS = { 200: dataOf(CollectionResults), 400: ErrorBody, 413: ErrorBody, 415: ErrorBody };
const RESULTS_SENT = { required: true, content: CSV_CONTENT };

const readCsv = (exchange: Exchange) =>
  withBody(exchange, () => readText(exchange.request, exchange.ctx, [CSV]));

export const collectionRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("POST /emandate/collections/run", runCollection, {
    summary: "Collect what is due",
    description:
      "Up to the end of date in Kuala Lumpur, by default today; only the sandbox takes a later date. While status is running, GET /emandate/collections/{id} shows the progress. The service does the same every 15 minutes.",
    status: 202,
    errors: [409],
  }),
  route("GET /emandate/collections", listCollectionRuns, {
    summary: "List collection runs",
    description: "Newest first. The service starts no run when nothing is due.",
  }),
  route("GET /emandate/collections/:id", getCollectionRun, { summary: "Get a collection run" }),
  route("GET /emandate/collections/:id/file", getCollectionFile, {
    summary: "Get a run's debits as a file",
    description:
      "CSV, a line for each debit of the run, for a bank that takes debits by file: of mandates that began with FPX, where the run's connector is fpx. 409 while the run goes on, and for an interrupted one, whose debits are in the next one's file; afterwards always the same bytes. docs/emandate_fpx.md documents the columns.",
    errors: [409],
    sends: attachment,
    responses: { 200: { description: "The file.", content: CSV_CONTENT } },
  }),
  // A bank sends CSV, not JSON.
  endpoint(
    "POST /emandate/collections/results",
    {
      response: answers(RESULT_ANSWERS),
      detail: {
        operationId: applyDebitResults.name,
        summary: "Apply a bank's results of any runs",
        description:
          "CSV, a line for each debit, found by its order_no, whether a run or a call made it: charge-backs come months later. Each valid line is applied once, however often it is sent; the others are listed with the reason. docs/emandate_fpx.md documents the columns.",
        requestBody: RESULTS_SENT,
      },
    },
    async (exchange) => {
      const { ctx, body } = await readCsv(exchange);
      return data(call(ctx, applyDebitResults, { csv: body }));
    },
  ),
  endpoint(
    "POST /emandate/collections/:id/results",
    {
      params: ById,
      response: answers({ ...RESULT_ANSWERS, 404: ErrorBody }),
      detail: {
        operationId: applyCollectionResults.name,
        summary: "Apply a bank's results of one run",
        description:
          "CSV, a line for each debit of the run. Each valid line is applied once, however often it is sent; the others are listed with the reason. docs/emandate_fpx.md documents the columns.",
        requestBody: RESULTS_SENT,
      },
    },
    async (exchange) => {
      const { ctx, body } = await readCsv(exchange);
      return data(call(ctx, applyCollectionResults, { ...exchange.input, csv: body }));
    },
  ),
]);
