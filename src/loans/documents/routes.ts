import { call } from "../../app/operation.ts";
import { ById } from "../../core/schema.ts";
import { answers, attachment, data, dataOf, documentedOnly, ErrorBody } from "../../http/responses.ts";
import { endpoint, lendingRoutes, route, routes } from "../../http/route.ts";
import { reauthenticate } from "../../http/authentication.ts";
import type { Reads } from "../../store/store.ts";
import { CONTENT_TYPES, LoanDocument, UploadBody } from "./model.ts";
import {
  deleteLoanDocument,
  downloadLoanDocument,
  getLoanDocument,
  listLoanDocuments,
  listOwnLoanDocuments,
  rejectLoanDocument,
  uploadLoanDocument,
  verifyLoanDocument,
} from "./service.ts";

const UPLOAD = `One file with its type, as multipart/form-data. The media type is detected from the first bytes, not from the name. The
current document of the same type is superseded. An application takes up to 50 documents, superseded ones included,
until it is in a final status.`;

const LIST = {
  summary: "List an application's documents",
  description: "Oldest first, superseded ones included; whole, or one page when page or limit is given.",
};

const CONTENT = {
  200: {
    description: "The file.",
    content: Object.fromEntries(
      CONTENT_TYPES.map((type) => [type, { schema: { type: "string" as const, format: "binary" } }]),
    ),
  },
};

const lenderRows = [
  route("GET /lender/applications/:id/documents", listLoanDocuments, LIST),
  route("GET /lender/documents/:id", getLoanDocument, { summary: "Get a document" }),
  route("GET /lender/documents/:id/content", downloadLoanDocument, {
    summary: "Download a document",
    description: "Returns the file as an attachment. A response that breaks off is incomplete.",
    sends: attachment,
    responses: CONTENT,
  }),
  route("POST /lender/documents/:id/verify", verifyLoanDocument, {
    summary: "Verify a document",
    description: "From status pending_review.",
    errors: [409],
  }),
  route("POST /lender/documents/:id/reject", rejectLoanDocument, {
    summary: "Reject a document",
    description: "From status pending_review. The loan agent is expected to upload another one.",
    errors: [409],
  }),
];

export const lenderDocumentRoutes = routes({ tag: "Lending", admits: "lender" }, lenderRows);
export const lendingDocumentRoutes = lendingRoutes(lenderRows);

export const agentDocumentRoutes = routes({ tag: "Borrowing", admits: "agent" }, [
  route("GET /agent/applications/:id/documents", listOwnLoanDocuments, LIST),
  route("DELETE /agent/documents/:id", deleteLoanDocument, {
    summary: "Delete a document",
    description:
      "Possible while the application can be edited, and unless the lender has verified the document.",
    errors: [409],
  }),
]);

/** An endpoint by hand: the upload is streamed to disk. */
export const agentUploadRoutes = routes({ tag: "Borrowing", admits: "agent" }, [
  endpoint(
    "POST /agent/applications/:id/documents",
    {
      status: 201,
      params: ById,
      response: answers({
        201: dataOf(LoanDocument),
        400: ErrorBody,
        404: ErrorBody,
        408: ErrorBody,
        409: ErrorBody,
        413: ErrorBody,
        415: ErrorBody,
        503: ErrorBody,
      }),
      detail: {
        operationId: uploadLoanDocument.name,
        summary: "Upload a document",
        description: UPLOAD,
        requestBody: { required: true, content: { "multipart/form-data": documentedOnly(UploadBody) } },
      },
    },
    ({ deps, ctx, input, request }) => {
      const upload = { ...input, request, renew: (q: Reads) => reauthenticate(deps, request, ctx, q) };
      return data(call(ctx, uploadLoanDocument, upload));
    },
  ),
]);
