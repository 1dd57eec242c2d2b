import type { Job } from "../../context.ts";
import { call } from "../../core/operation.ts";
import { pruneAuthorizations } from "./service.ts";

export const AUTHORIZATION_JOBS: readonly Job[] = [
  {
    name: "authorizations_prune",
    summary: "Forget expired codes and tokens, and agents that nobody uses",
    cron: "10 35 * * * *",
    async run(ctx) {
      await call(ctx, pruneAuthorizations, {});
    },
  },
];
