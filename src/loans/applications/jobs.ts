import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { listCompaniesWithExpired } from "./queries.ts";
import { expireLoanApplications } from "./expiry.ts";

export const LOAN_APPLICATION_JOBS: readonly Job[] = [
  {
    name: "loan_application_expiry",
    summary: "End loan offers, drafts and unanswered questions whose time has run out",
    cron: "25 * * * * *",
    due: listCompaniesWithExpired,
    async run(ctx) {
      await call(ctx, expireLoanApplications, {});
    },
  },
];
