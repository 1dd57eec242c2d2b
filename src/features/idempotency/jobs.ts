import type { Job } from "../../context.ts";
import { call } from "../../core/operation.ts";
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
