import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { recheckBilling, runBilling } from "./service.ts";

export const BILLING_JOBS: readonly Job[] = [
  {
    name: "billing_run",
    summary: "Bill every period that has ended and has no record",
    // Not on the hour itself: a timer that is a moment early would find the grace not over yet.
    cron: "10 0 * * * *",
    async run(ctx) {
      await call(ctx, runBilling, {});
    },
  },
  {
    name: "billing_recheck",
    summary: "Adjust the bills of the last 90 days that usage came late for",
    cron: "10 30 2 * * *",
    async run(ctx) {
      await call(ctx, recheckBilling, {});
    },
  },
];
