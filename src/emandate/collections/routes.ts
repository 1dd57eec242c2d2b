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

export const collectionRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("POST /emandate/collections/run", runCollection, {
    summary: "Collect what is due",
    description:
      "By the end of the date in Kuala Lumpur, today without one; a date ahead is for the sandbox. With status running it goes on: GET /emandate/collections/{id} tells how far it is. The service does the same every 15 minutes.",
    status: 202,
    errors: [409],
  }),
  route("GET /emandate/collections", listCollectionRuns, {
    summary: "List collection runs",
    description: "Newest first. Runs that the service began and that found nothing to do are not kept.",
  }),
  route("GET /emandate/collections/:id", getCollectionRun, { summary: "Get a collection run" }),
  route("GET /emandate/collections/:id/file", getCollectionFile, {
    summary: "Get a run's debits as a file",
    description:
      "CSV, a line for each debit of the run, for a bank that takes debits by file: of mandates that began with FPX, where the run's connector is fpx. 409 while the run goes on, and for one that was interrupted, whose debits are in the next one's file; the same bytes afterwards. Its columns are documented in docs/emandate_fpx.md.",
    errors: [409],
    sends: attachment,
    responses: { 200: { description: "The file.", content: CSV_CONTENT } },
  }),
]);

const RESULT_ANSWERS = { 200: dataOf(CollectionResults), 400: ErrorBody, 413: ErrorBody, 415: ErrorBody };
const RESULTS_SENT = { required: true, content: CSV_CONTENT };

const readCsv = (exchange: Exchange) =>
  withBody(exchange, () => readText(exchange.request, exchange.ctx, [CSV]));

/** A bank sends CSV, not JSON. */
export const collectionResultRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  endpoint(
    "POST /emandate/collections/results",
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
        summary: "Apply a bank's results, of one run",
        description:
          "CSV, a line for each debit of the run. Each line that can be used counts once, however often it comes; the others are named with the reason. Its columns are documented in docs/emandate_fpx.md.",
        requestBody: RESULTS_SENT,
      },
    },
    async (exchange) => {
      const { ctx, body } = await readCsv(exchange);
      return data(call(ctx, applyCollectionResults, { ...exchange.input, csv: body }));
    },
  ),
]);
