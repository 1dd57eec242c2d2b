import type { BillingRecord, BillingRecordDetail, Verification } from "../../../billing/records/model.ts";
import type { CreditRow } from "../../../billing/credits/model.ts";
import type { Revenue } from "../../../billing/revenue/model.ts";
import type { RunningBills } from "../../../billing/running_bills/model.ts";
import type {
  BillingRun,
  BillingRunDetail,
  BillingRunResult,
  UnbilledUsage,
} from "../../../billing/runs/model.ts";
import type { Client } from "../../../tenancy/clients/model.ts";
import type { ClientDetail } from "../../../billing/clients/model.ts";
import { get, list, post } from "../../api/call.ts";
import type { Source } from "../../ui/picker.tsx";

export const listBills = list<typeof BillingRecord>("/billing-records", "BillingRecord");
export const getBill = get<typeof BillingRecordDetail>("/billing-records/:id", "BillingRecordDetail");
export const verifyBill = get<typeof Verification>(
  "/billing-records/:id/verify",
  "BillingRecordVerification",
);

export const listRuns = list<typeof BillingRun>("/billing-runs", "BillingRun");
export const getRun = get<typeof BillingRunDetail>("/billing-runs/:id", "BillingRunDetail");
export const runBilling = post<typeof BillingRunResult>("/billing-runs", "BillingRunResult");
export const listUnbilledUsage = list<typeof UnbilledUsage>("/unbilled-usage", "UnbilledUsage");

export const listCredits = list<typeof CreditRow>("/credits", "CreditRow");
export const getRevenue = get<typeof Revenue>("/revenue", "Revenue");
export const getRunningBills = get<typeof RunningBills>("/running-bills", "RunningBills");

export const CLIENTS: Source<Client> = {
  from: list<typeof Client>("/clients", "Client"),
  one: get<typeof ClientDetail>("/clients/:id", "ClientDetail"),
  nameOf: ({ name }) => name,
};
