import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { pruneWebhookLogs } from "./service.ts";

export const WEBHOOK_JOBS: readonly Job[] = [
  {
    name: "webhook_log_prune",
    summary: "Delete webhook deliveries that ended more than 30 days ago",
    cron: "40 45 3 * * *",
    async run(ctx) {
      await call(ctx, pruneWebhookLogs, {});
    },
  },
];
