import type { Job } from "../app/context.ts";
import { call } from "../app/operation.ts";
import { pruneIdempotencyKeys } from "./service.ts";

export const IDEMPOTENCY_JOBS: readonly Job[] = [
  {
    name: "idempotency_keys_prune",
    summary: "Delete Idempotency-Keys that are older than 24 hours",
    cron: "50 20 * * * *",
    async run(ctx) {
      await call(ctx, pruneIdempotencyKeys, {});
    },
  },
];
