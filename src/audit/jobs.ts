import type { Job } from "../app/context.ts";
import { call } from "../app/operation.ts";
import { pruneAuditLog } from "./service.ts";

export const AUDIT_JOBS: readonly Job[] = [
  {
    name: "audit_log_prune",
    summary: "Delete entries of the audit log that are older than AUDIT_LOG_DAYS",
    cron: "40 45 3 * * *",
    async run(ctx) {
      await call(ctx, pruneAuditLog, {});
    },
  },
];
