import { Type } from "@sinclair/typebox";
import { Id } from "../../core/schema.ts";
import { getBillingRecord, listBillingRecords, verifyBillingRecord } from "./service.ts";
import { page } from "../../mcp/params.ts";
import { action, finder } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { client_id, subscription_id } from "../tools.ts";

/** Fields left out of concise results: the proof of a bill. */
export const RECORD_DETAILS = ["usage_digest", "usage_until", "billing_run_id", "proration"];

const recordFinder = {
  ...finder("record_id", listBillingRecords, getBillingRecord),
  details: RECORD_DETAILS,
};

const recordFilter = {
  record_id: Type.Optional(describe(Id, "One record, with its lines and its subscription")),
  subscription_id: Type.Optional(subscription_id),
  kind: describe(
    listBillingRecords.input.properties.kind,
    "period: a period's own bill; adjustment: a later correction",
  ),
  ...page,
};

const findRecords = tool({
  name: "billing_find_records",
  title: "Find billing records",
  description:
    "Finds bills, newest first, by subscription or client; or one by record_id with its lines. totalCharges is in currency. Then billing_verify_record proves a bill's usage.",
  ...recordFinder,
  input: { ...recordFilter, client_id: Type.Optional(client_id) },
});

const verifyRecord = tool({
  name: "billing_verify_record",
  title: "Verify a bill",
  description:
    "Counts the usage events behind a bill again and compares (matches): expected by the stored events, actual by the bill.",
  ...action(verifyBillingRecord, "record_id"),
  input: { record_id: describe(Id, "The billing record's id") },
});

export const recordTools = [findRecords, verifyRecord];

const findMyRecords = tool({
  name: "billing_find_my_records",
  title: "Find my bills",
  description: "Finds your bills, newest first, by subscription; or one by record_id with its lines.",
  ...recordFinder,
  level: "client",
  input: recordFilter,
});

/** For client users. */
export const myRecordTools = [findMyRecords];
