import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { answers, attachment, data, dataOf, described, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { renew, session } from "../../http/session.ts";
import type { Reads } from "../../store/store.ts";
import { CONTENT_TYPES, DocumentRejection, ListDocumentsQuery, LoanDocument, UploadBody } from "./model.ts";
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

export const lenderDocumentRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/lender", tags: ["Lending"] })
    .use(session(deps, "lender"))
    .get(
      "/applications/:id/documents",
      ({ ctx, params, query }) => call(ctx, listLoanDocuments, { ...params, ...query }),
      {
        params: IdPath,
        query: fromText(ListDocumentsQuery),
        response: answers({ 200: listed(LoanDocument), 404: ErrorBody }),
        detail: {
          operationId: listLoanDocuments.name,
          summary: "List an application's documents",
          description:
            "In the order in which they came, superseded ones too; whole, or one page when page or limit is given.",
        },
      },
    )
    .get("/documents/:id", ({ ctx, params }) => data(call(ctx, getLoanDocument, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(LoanDocument), 404: ErrorBody }),
      detail: { operationId: getLoanDocument.name, summary: "Get a document" },
    })
    .get("/documents/:id/content", ({ ctx, params }) => attachment(call(ctx, downloadLoanDocument, params)), {
      params: IdPath,
      response: answers({ 404: ErrorBody }),
      detail: {
        operationId: downloadLoanDocument.name,
        summary: "Download a document",
        description: "Its bytes, to be saved. An answer that breaks off is not whole.",
        responses: CONTENT,
      },
    })
    .post("/documents/:id/verify", ({ ctx, params }) => data(call(ctx, verifyLoanDocument, params)), {
      params: IdPath,
      body: Nothing,
      response: answers({ 200: dataOf(LoanDocument), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: verifyLoanDocument.name,
        summary: "Verify a document",
        description: "It must be waiting for its review.",
      },
    })
    .post(
      "/documents/:id/reject",
      ({ ctx, params, body }) => data(call(ctx, rejectLoanDocument, { ...params, ...body })),
      {
        params: IdPath,
        body: DocumentRejection,
        response: answers({ 200: dataOf(LoanDocument), 404: ErrorBody, 409: ErrorBody }),
        detail: {
          operationId: rejectLoanDocument.name,
          summary: "Reject a document",
          description: "It must be waiting for its review. The agent is expected to upload another one.",
        },
      },
    );

export const agentDocumentRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/agent", tags: ["Borrowing"] })
    .use(session(deps, "agent"))
    .get(
      "/applications/:id/documents",
      ({ ctx, params, query }) => call(ctx, listOwnLoanDocuments, { ...params, ...query }),
      {
        params: IdPath,
        query: fromText(ListDocumentsQuery),
        response: answers({ 200: listed(LoanDocument), 404: ErrorBody }),
        detail: {
          operationId: listOwnLoanDocuments.name,
          summary: "List the documents of one's own application",
          description:
            "In the order in which they came, superseded ones too; whole, or one page when page or limit is given.",
        },
      },
    )
    .delete("/documents/:id", ({ ctx, params }) => data(call(ctx, deleteLoanDocument, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Nothing), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: deleteLoanDocument.name,
        summary: "Delete a document",
        description: "While the application may be edited, and unless the lender has verified the document.",
      },
    });

/** Uploads are read while they come in. */
export const agentUploadRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/agent", tags: ["Borrowing"] })
    .use(session(deps, "agent", { reads_body: false }))
    .post(
      "/applications/:id/documents",
      async ({ ctx, params, request, status }) => {
        const upload = { ...params, request, renew: (q: Reads) => renew(deps, request, ctx, q) };
        return status(201, await data(call(ctx, uploadLoanDocument, upload)));
      },
      {
        params: IdPath,
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
          requestBody: { required: true, content: { "multipart/form-data": described(UploadBody) } },
        },
      },
    );
