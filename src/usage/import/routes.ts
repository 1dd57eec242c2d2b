import { answers, data, dataOf, ErrorBody } from "../../http/responses.ts";
import { endpoint, route, routes } from "../../http/route.ts";
import { call } from "../../app/operation.ts";
import { LIMITS } from "../limits.ts";
import { BLOCK_COLUMNS } from "./block_reader.ts";
import { importUsageBlock, listImportedFiles } from "./block_service.ts";
import { BlockOrigin, ImportedBlock } from "./model.ts";
import { startUsageImport } from "./service.ts";
import { withSentBlock } from "./sent_block.ts";

const IMPORT = `Up to ${LIMITS.usage_block_rows.toLocaleString("en-US")} events and ${LIMITS.usage_block_bytes / 1024 ** 2} MB as a Parquet file of the columns ${BLOCK_COLUMNS.join(", ")}
(or subscription_id, \`<company_id>:<external id>\`), all of them text (VARCHAR). Each row is an event by the rules of \`POST /usage/events\`,
but judged on its own: the answer counts what was accepted, what was stored before, and names the rejected rows. A row
needs its timestamp; without an id it gets one from the block's content and its place. Sent again, a block changes nothing.
\`file_name\`, \`digest\`, \`bytes\` and \`rows\` name the file that it is of, for the list of imported files.`;

/** Imports: what \`import\` at the command line sends. */
export const importRoutes = routes({ tag: "Usage", admits: ["company", "ingest"], keeps_answers: false }, [
  endpoint(
    "POST /usage/import",
    {
      query: BlockOrigin,
      response: answers({
        200: dataOf(ImportedBlock),
        400: ErrorBody,
        408: ErrorBody,
        413: ErrorBody,
        415: ErrorBody,
        503: ErrorBody,
      }),
      detail: {
        operationId: "import_usage",
        summary: "Import usage events",
        description: IMPORT,
        requestBody: {
          required: true,
          content: { "application/vnd.apache.parquet": { schema: { type: "string", format: "binary" } } },
        },
      },
    },
    ({ deps, ctx, request, input: origin }) =>
      data(
        withSentBlock({ deps, ctx, request }, (current, block) =>
          call(current, importUsageBlock, { block, origin }),
        ),
      ),
  ),
  route("GET /usage/imports", listImportedFiles, {
    summary: "List imported files",
    description:
      "The newest 10,000: what rows without an id are recognized by when a file is imported again.",
    bare: true,
  }),
  route("POST /usage/imports", startUsageImport, {
    summary: "Begin an import",
    description: "Writes the audit entry of an import of a file, before its first block.",
    status: 201,
  }),
]);
