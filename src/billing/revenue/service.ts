import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { ReportRevenue, Revenue } from "./model.ts";
import { revenueOf } from "./report.ts";

/**
 * Reports what was billed for the periods that begin in a range of time, by currency and in days or months, and by what
 * is asked for; amounts are added as decimals. Errors: invalid. Decision 0272.
 */
export const reportRevenue = operation({
  name: "report_revenue",
  permission: "revenue:read",
  input: ReportRevenue,
  output: Revenue,
  run: (ctx, input) => revenueOf(readTx(ctx), input),
});
