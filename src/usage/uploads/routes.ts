import { call } from "../../app/operation.ts";
import { answers, attachment, data, dataOf, ErrorBody } from "../../http/responses.ts";
import { endpoint, route, routes } from "../../http/route.ts";
import { LIMITS } from "../limits.ts";
import { MEDIA_TYPES, withReceivedFile } from "./folder.ts";
import { UploadName, UsageUploadDetail } from "./model.ts";
import {
  createUsageUpload,
  deleteUsageUpload,
  exportRejectedRows,
  getUsageUpload,
  listUsageUploads,
  runUsageUpload,
  stopUsageUpload,
} from "./service.ts";

const UPLOAD = `The bytes of a CSV or NDJSON file of up to ${LIMITS.usage_upload_bytes / 1024 ** 2} MB, to be imported by \`POST /usage/imports/{id}/run\`.
The answer has its columns and first ${LIMITS.usage_upload_sample} rows, to match them by. A company keeps up to ${LIMITS.usage_uploads_kept} files, each for ${LIMITS.usage_upload_days} days.`;

const RUN = `Goes on in the background, also when nobody looks: \`GET /usage/imports/{id}\` shows how far it got. Rows follow the rules of
\`POST /usage/events\`, each on its own, and none is stored twice: one without an id gets an id from the file's content and
its number. Sums and products are exact decimals; a row whose columns hold no number, or one of over six places, is
rejected. With \`dry_run\` nothing is stored. A run that was stopped goes on where it was when it is run in the same way,
else it begins anew. \`matching\` names each column by the file's own name of it.`;

export const usageUploadRoutes = routes({ tag: "Usage", admits: "company" }, [
  route("GET /usage/imports/files", listUsageUploads, {
    summary: "List uploaded files",
    description: "Newest first; columns and first rows are in a file's detail.",
  }),
  route("GET /usage/imports/:id", getUsageUpload, { summary: "Get an uploaded file" }),
  route("POST /usage/imports/:id/run", runUsageUpload, {
    summary: "Import an uploaded file",
    description: RUN,
    status: 202,
    errors: [409],
  }),
  route("POST /usage/imports/:id/stop", stopUsageUpload, {
    summary: "Stop an import",
    description: "What was stored stays. It can be run again, and goes on.",
    errors: [409],
  }),
  route("GET /usage/imports/:id/rejected", exportRejectedRows, {
    summary: "Get an import's rejected rows as CSV",
    description: `The first ${LIMITS.usage_upload_rejects.toLocaleString("en-US")}: each with its number in the file (without the header, from 1), or the line that is no row, and why.`,
    sends: attachment,
    responses: {
      200: { description: "The file.", content: { "text/csv": { schema: { type: "string" } } } },
    },
  }),
  route("DELETE /usage/imports/:id", deleteUsageUpload, {
    summary: "Delete an uploaded file",
    description: "Also its rejected rows. A run stops; what it stored stays.",
  }),
]);

/** An endpoint by hand: the file is streamed to disk. */
export const usageFileRoutes = routes({ tag: "Usage", admits: "company", keeps_answers: false }, [
  endpoint(
    "POST /usage/imports/files",
    {
      status: 201,
      query: UploadName,
      response: answers({
        201: dataOf(UsageUploadDetail),
        400: ErrorBody,
        408: ErrorBody,
        409: ErrorBody,
        413: ErrorBody,
        415: ErrorBody,
        503: ErrorBody,
      }),
      detail: {
        operationId: createUsageUpload.name,
        summary: "Upload a file of usage",
        description: UPLOAD,
        requestBody: {
          required: true,
          content: Object.fromEntries(
            MEDIA_TYPES.map((type) => [type, { schema: { type: "string", format: "binary" } }]),
          ),
        },
      },
    },
    ({ deps, ctx, request, input: { file_name } }) =>
      data(
        withReceivedFile({ deps, ctx, request, file_name }, (current, file) =>
          call(current, createUsageUpload, file),
        ),
      ),
  ),
]);
