import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { pruneEvents } from "./service.ts";

export const EVENT_JOBS: readonly Job[] = [
  {
    name: "event_prune",
    summary: "Delete events older than 90 days",
    cron: "10 45 3 * * *",
    async run(ctx) {
      await call(ctx, pruneEvents, {});
    },
  },
];
