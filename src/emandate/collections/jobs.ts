import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { collectDue } from "./service.ts";

export const COLLECTION_JOBS: readonly Job[] = [
  {
    name: "collections",
    summary: "Collect what is due of active mandates, by hand and again",
    // The quarters of an hour are the same in Kuala Lumpur.
    cron: "5 */15 * * * *",
    runs_at_start: true,
    async run(ctx) {
      await call(ctx, collectDue, {});
    },
  },
];
