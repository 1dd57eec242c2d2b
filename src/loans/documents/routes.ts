import { call } from "../../app/operation.ts";
import { ById } from "../../core/schema.ts";
import { answers, attachment, data, dataOf, documentedOnly, ErrorBody } from "../../http/responses.ts";
import { endpoint, route, routes } from "../../http/route.ts";
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

const UPLOAD = `One file with its type, as multipart/form-data. What the file is is read from its first bytes, whatever it is called. A
document of the same type that was there before is superseded; an application takes up to 50 documents, those too,
until it has come to its end.`;

const CONTENT = {
  200: {
    description: "The file.",
    content: Object.fromEntries(
      CONTENT_TYPES.map((type) => [type, { schema: { type: "string" as const, format: "binary" } }]),
    ),
  },
};

export const lenderDocumentRoutes = routes({ tag: "Lending", admits: "lender" }, [
  route("GET /lender/applications/:id/documents", listLoanDocuments, {
    summary: "List an application's documents",
    description:
      "In the order in which they came, superseded ones too; whole, or one page when page or limit is given.",
  }),
  route("GET /lender/documents/:id", getLoanDocument, { summary: "Get a document" }),
  route("GET /lender/documents/:id/content", downloadLoanDocument, {
    summary: "Download a document",
    description: "Its bytes, to be saved. An answer that breaks off is not whole.",
    sends: attachment,
    responses: CONTENT,
  }),
  route("POST /lender/documents/:id/verify", verifyLoanDocument, {
    summary: "Verify a document",
    description: "It must be waiting for its review.",
    errors: [409],
  }),
  route("POST /lender/documents/:id/reject", rejectLoanDocument, {
    summary: "Reject a document",
    description: "It must be waiting for its review. The agent is expected to upload another one.",
    errors: [409],
  }),
]);

export const agentDocumentRoutes = routes({ tag: "Borrowing", admits: "agent" }, [
  route("GET /agent/applications/:id/documents", listOwnLoanDocuments, {
    summary: "List the documents of one of the agent's applications",
    description:
      "In the order in which they came, superseded ones too; whole, or one page when page or limit is given.",
  }),
  route("DELETE /agent/documents/:id", deleteLoanDocument, {
    summary: "Delete a document",
    description: "While the application may be edited, and unless the lender has verified the document.",
    errors: [409],
  }),
]);

/** An upload is read while it comes in. */
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
