import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { sweepLoanDocuments } from "./service.ts";

export const LOAN_DOCUMENT_JOBS: readonly Job[] = [
  {
    name: "loan_documents",
    summary:
      "Forget documents of applications that came to nothing LOAN_DOCUMENT_DAYS ago; remove lost files",
    cron: "20 25 3 * * *",
    async run(ctx) {
      await call(ctx, sweepLoanDocuments, {});
    },
  },
];
