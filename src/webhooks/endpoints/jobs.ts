import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { resealWebhookSecrets } from "./service.ts";

export const WEBHOOK_SECRET_JOBS: readonly Job[] = [
  {
    name: "webhook_reseal",
    summary: "Seal webhook secrets with the newest key of SECRETS_KEY",
    cron: "55 35 3 * * *",
    runs_at_start: true,
    async run(ctx) {
      await call(ctx, resealWebhookSecrets, {});
    },
  },
];
