import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { Id, paged } from "../../core/schema.ts";
import {
  BillingRecord,
  BillingRecordDetail,
  BillingRun,
  BillingRunDetail,
  BillingRunResult,
  ListMyBillingRecords,
  RunBilling,
  Verification,
} from "../../features/billing/model.ts";
import {
  getBillingRecord,
  getBillingRun,
  listBillingRecords,
  listBillingRuns,
  runBilling,
} from "../../features/billing/service.ts";
import { verifyBillingRecord } from "../../features/billing/statements.ts";
import { data, dataOf } from "../../http/answers.ts";
import { client_id, page, subscription_id } from "../params.ts";
import { tool } from "../tool.ts";
import { said } from "../wire_schema.ts";

/** What a bill knows for its proof; concise answers leave it out. */
export const RECORD_DETAILS = ["usage_digest", "usage_until", "billing_run_id", "proration"];

const { lines, subscription } = BillingRecordDetail.properties;

/** Records, or one with its lines and its subscription. */
export const FoundRecords = Type.Object({
  data: Type.Array(
    Type.Object({
      ...BillingRecord.properties,
      lines: Type.Optional(lines),
      subscription: Type.Optional(subscription),
    }),
  ),
  meta: Type.Optional(paged(BillingRecord).properties.meta),
});

export const recordFilter = {
  record_id: Type.Optional(said(Id, "One record, with its lines and its subscription")),
  subscription_id: Type.Optional(subscription_id),
  kind: said(
    ListMyBillingRecords.properties.kind,
    "period: a period's own bill; adjustment: what was learned later",
  ),
  ...page,
};

export const RECORD_OPERATIONS = [listBillingRecords, getBillingRecord];

interface RecordQuery {
  record_id?: number;
  subscription_id?: number;
  client_id?: number;
  kind?: BillingRecord["kind"];
  page?: number;
  limit?: number;
}

export async function findRecordsOf(ctx: Context, { record_id: id, ...filter }: RecordQuery) {
  return id === undefined
    ? call(ctx, listBillingRecords, filter)
    : { data: [await call(ctx, getBillingRecord, { id })] };
}

const findRecords = tool({
  name: "billing_find_records",
  title: "Find billing records",
  description:
    "Finds bills, the last written first, by subscription or client; or one by record_id with its lines. totalCharges is in currency. Then billing_verify_record proves a bill's usage.",
  level: "company",
  operations: RECORD_OPERATIONS,
  details: RECORD_DETAILS,
  input: { ...recordFilter, client_id: Type.Optional(client_id) },
  output: FoundRecords,
  run: findRecordsOf,
});

const verifyRecord = tool({
  name: "billing_verify_record",
  title: "Verify a bill",
  description:
    "Counts the usage events behind a bill again and tells whether it says the same (matches): expected is what the stored events come to, actual what the bill says.",
  level: "company",
  operations: [verifyBillingRecord],
  input: { record_id: said(Id, "The billing record's id") },
  output: dataOf(Verification),
  run: (ctx, { record_id: id }) => data(call(ctx, verifyBillingRecord, { id })),
});

const { period, subscription_ids, dry_run } = RunBilling.properties;

const startRun = tool({
  name: "billing_run",
  title: "Bill what is due",
  description:
    "Writes the bills of every period that ended and has none; with period, of that month again, where late usage becomes an adjustment. Bills can't be taken back: use dry_run first and show the person what it would write. The service bills by itself every hour. Status running means that it goes on: billing_find_runs.",
  level: "company",
  operations: [runBilling],
  is_destructive: true,
  details: [...RECORD_DETAILS, "lines"],
  input: {
    period: said(period, "The month to bill"),
    subscription_ids: said(subscription_ids, "Only these subscriptions"),
    dry_run: said(dry_run, "Writes nothing, and tells what it would write"),
  },
  output: dataOf(BillingRunResult),
  run: (ctx, input) => data(call(ctx, runBilling, input)),
});

const findRuns = tool({
  name: "billing_find_runs",
  title: "Find billing runs",
  description:
    "Lists billing runs, newest first, with what they came to; or one by run_id with its errors by subscription.",
  level: "company",
  operations: [listBillingRuns, getBillingRun],
  details: [],
  input: { run_id: Type.Optional(said(Id, "One run, with its errors")), ...page },
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        ...BillingRun.properties,
        errors: Type.Optional(BillingRunDetail.properties.errors),
      }),
    ),
    meta: Type.Optional(paged(BillingRun).properties.meta),
  }),
  run: async (ctx, { run_id: id, ...query }) =>
    id === undefined ? call(ctx, listBillingRuns, query) : { data: [await call(ctx, getBillingRun, { id })] },
});

export const billingTools = [findRecords, verifyRecord, startRun, findRuns];
