import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { LIMITS } from "../limits.ts";
import { listCompaniesWithDueOrders } from "./polling_queries.ts";
import { pollOrders, pruneSchemeCallbacks } from "./service.ts";

export const MANDATE_ORDER_JOBS: readonly Job[] = [
  {
    name: "mandate_orders",
    summary: "Ask the debit scheme what became of orders",
    cron: "* * * * * *",
    due: listCompaniesWithDueOrders,
    at_once: LIMITS.scheme_companies,
    async run(ctx) {
      await call(ctx, pollOrders, {});
    },
  },
  {
    name: "scheme_callbacks_prune",
    summary: "Forget callbacks of the debit scheme of more than 400 days ago",
    cron: "10 55 3 * * *",
    async run(ctx) {
      await call(ctx, pruneSchemeCallbacks, {});
    },
  },
];
