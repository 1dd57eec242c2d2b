import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { pruneAuthorizations } from "./service.ts";

export const AUTHORIZATION_JOBS: readonly Job[] = [
  {
    name: "authorizations_prune",
    summary: "Delete expired codes and tokens, and unused OAuth clients",
    cron: "10 35 * * * *",
    async run(ctx) {
      await call(ctx, pruneAuthorizations, {});
    },
  },
];
