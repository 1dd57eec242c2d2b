import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { listCompaniesWithDueConsents } from "./queries.ts";
import { expireConsents } from "./service.ts";

export const LOAN_CONSENT_JOBS: readonly Job[] = [
  {
    name: "consent_expiry",
    summary: "End the consents whose time has run out",
    cron: "45 * * * * *",
    due: listCompaniesWithDueConsents,
    async run(ctx) {
      await call(ctx, expireConsents, {});
    },
  },
];
