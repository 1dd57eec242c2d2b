import type { BillingRecordDetail, Verification } from "../../../billing/records/model.ts";
import type { CreditRow } from "../../../billing/credits/model.ts";
import type { Revenue } from "../../../billing/revenue/model.ts";
import type { RunningBills } from "../../../billing/running_bills/model.ts";
import type {
  BillingRun,
  BillingRunDetail,
  BillingRunResult,
  UnbilledUsage,
} from "../../../billing/runs/model.ts";
import { get, list, post } from "../../api/call.ts";

export const getBill = get<typeof BillingRecordDetail>("/billing-records/:id");
export const verifyBill = get<typeof Verification>("/billing-records/:id/verify");

export const listRuns = list<typeof BillingRun>("/billing-runs");
export const getRun = get<typeof BillingRunDetail>("/billing-runs/:id");
export const runBilling = post<typeof BillingRunResult>("/billing-runs");
export const listUnbilledUsage = list<typeof UnbilledUsage>("/unbilled-usage");

export const listCredits = list<typeof CreditRow>("/credits");
export const getRevenue = get<typeof Revenue>("/revenue");
export const getRunningBills = get<typeof RunningBills>("/running-bills");
