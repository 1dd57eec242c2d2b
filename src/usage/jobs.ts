import type { Job } from "../app/context.ts";
import { call } from "../app/operation.ts";
import { checkUsage, describeSums } from "./consistency_check.ts";

export const USAGE_JOBS: readonly Job[] = [
  {
    name: "usage_check",
    summary: "Compare the sums of usage by hour with the events",
    cron: "20 15 3 * * *",
    async run(ctx) {
      const found = await call(ctx, checkUsage, {});
      // Logged as an error by whoever runs jobs.
      if (found.different > 0) throw new Error(describeSums(found));
    },
  },
];
