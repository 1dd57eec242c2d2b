import { Type } from "@sinclair/typebox";
import { invalid } from "../../core/errors.ts";
import { call } from "../../app/operation.ts";
import { Id, oneOf } from "../../core/schema.ts";
import { data, dataOf } from "../../http/responses.ts";
import { rejectUnused } from "../../mcp/params.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { loanTool } from "../tools.ts";
import { LoanDocument } from "./model.ts";
import { rejectLoanDocument, verifyLoanDocument } from "./service.ts";

const DOCUMENT_DETAILS = ["environment", "sha256", "size", "uploaded_by"];

const reviewDocument = loanTool({
  name: "loan_review_document",
  title: "Verify or reject a document",
  description:
    "Verifies or rejects a pending_review document, for good; after a rejection another must be uploaded. Its content is available over REST only: a person has to look, and decide.",
  operations: [verifyLoanDocument, rejectLoanDocument],
  is_destructive: true,
  details: DOCUMENT_DETAILS,
  input: {
    document_id: describe(Id, "The document's id"),
    verdict: describe(oneOf(["verify", "reject"]), "Which of the two"),
    reason_code: Type.Optional(
      describe(rejectLoanDocument.input.properties.reason_code, "Why; for reject only"),
    ),
    note: describe(rejectLoanDocument.input.properties.note, "A note; for reject only"),
  },
  output: dataOf(LoanDocument),
  async run(ctx, { document_id: id, verdict, reason_code, ...words }) {
    if (verdict === "reject") {
      if (reason_code === undefined) throw invalid("/reason_code", "is required for reject");
      return data(call(ctx, rejectLoanDocument, { id, reason_code, ...words }));
    }
    rejectUnused(verdict, { reason_code, ...words });
    return data(call(ctx, verifyLoanDocument, { id }));
  },
});

export const loanDocumentTools = [reviewDocument];
