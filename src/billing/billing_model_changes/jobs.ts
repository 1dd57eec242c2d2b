import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { listCompaniesWithDueChanges } from "./due_queries.ts";
import { applyDueChanges } from "./service.ts";

export const BILLING_MODEL_CHANGE_JOBS: readonly Job[] = [
  {
    name: "billing_model_changes",
    summary: "Apply the billing model changes whose time has come",
    cron: "* * * * * *",
    due: listCompaniesWithDueChanges,
    async run(ctx) {
      await call(ctx, applyDueChanges, {});
    },
  },
];
