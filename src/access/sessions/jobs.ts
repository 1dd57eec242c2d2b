import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { pruneEndedTokens } from "./service.ts";

export const SESSION_JOBS: readonly Job[] = [
  {
    name: "sessions_prune",
    summary: "Delete signed-out tokens that have expired",
    cron: "25 35 * * * *",
    async run(ctx) {
      await call(ctx, pruneEndedTokens, {});
    },
  },
];
