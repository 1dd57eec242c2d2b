import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { listCompaniesWithExpired } from "./queries.ts";
import { expireMandates } from "./service.ts";

export const MANDATE_JOBS: readonly Job[] = [
  {
    name: "mandates_expire",
    summary: "End the mandates whose last day has passed",
    cron: "* * * * * *",
    due: listCompaniesWithExpired,
    async run(ctx) {
      await call(ctx, expireMandates, {});
    },
  },
];
