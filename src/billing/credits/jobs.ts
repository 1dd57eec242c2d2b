import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { listCompaniesWithCredits } from "./queries.ts";
import { watchedInstants } from "./rules.ts";
import { tellThresholds } from "./service.ts";

export const CREDIT_JOBS: readonly Job[] = [
  {
    name: "credit_thresholds",
    summary: "Tell of subscriptions that have used up 80 or 100 percent of their credits",
    cron: "30 * * * * *",
    due(q, now) {
      const [, since] = watchedInstants(now);
      return listCompaniesWithCredits(q, since);
    },
    async run(ctx) {
      await call(ctx, tellThresholds, {});
    },
  },
];
