import type { Job } from "../../context.ts";
import { call } from "../../core/operation.ts";
import { pruneEndedTokens } from "./service.ts";

export const SESSION_JOBS: readonly Job[] = [
  {
    name: "sessions_prune",
    summary: "Forget tokens that were signed out and have expired since",
    cron: "25 35 * * * *",
    async run(ctx) {
      await call(ctx, pruneEndedTokens, {});
    },
  },
];
