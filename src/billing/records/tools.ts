import { type TObject, type TProperties, Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { invalid } from "../../core/errors.ts";
import { Id, oneOf } from "../../core/schema.ts";
import { RECORD_KINDS } from "../rating/record_kinds.ts";
import { getBillingRun, listBillingRuns } from "../runs/service.ts";
import { getBillingRecord, listBillingRecords, verifyBillingRecord } from "./service.ts";
import { page, rejectUnused } from "../../mcp/params.ts";
import { finder } from "../../mcp/shapes.ts";
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
  ...page,
};

const runFinder = finder("run_id", listBillingRuns, getBillingRun);

/** The fields of records, of their proofs and of runs; none of one is there on the other. */
const fields: TProperties = {
  ...getBillingRun.output.properties,
  ...verifyBillingRecord.output.properties,
  ...getBillingRecord.output.properties,
};
const either: TObject = Type.Object({
  data: Type.Array(Type.Partial(Type.Object(fields))),
  meta: Type.Optional(listBillingRecords.output.properties.meta),
});

const findRecords = tool({
  name: "billing_find_records",
  title: "Find billing records and runs",
  description:
    "Finds bills, newest first, by subscription or client; or one by record_id with its lines. totalCharges is in currency. verify proves one: its events are counted again and compared (matches), expected by the stored events, actual by the bill. kind run: billing runs instead, with counts and sums; one by run_id with its errors by subscription.",
  finds: ["record_id", "run_id"],
  operations: [...recordFinder.operations, ...runFinder.operations, verifyBillingRecord],
  details: RECORD_DETAILS,
  input: {
    ...recordFilter,
    client_id: Type.Optional(client_id),
    kind: Type.Optional(
      describe(
        oneOf([...RECORD_KINDS, "run"]),
        "period: a period's own bill; adjustment: a later correction; run: billing runs",
      ),
    ),
    run_id: Type.Optional(describe(Id, "One billing run, with its errors")),
    verify: Type.Optional(describe(Type.Boolean(), "Prove the bill that record_id names")),
  },
  output: either,
  async run(ctx, { kind, run_id, verify = false, ...input }) {
    if (verify) {
      const { record_id: id } = input;
      if (id === undefined) throw invalid("/record_id", "is required to verify a bill");
      return { data: [await call(ctx, verifyBillingRecord, { id })] };
    }
    if (run_id === undefined && kind !== "run")
      return recordFinder.run(ctx, { ...input, ...(kind === undefined ? {} : { kind }) });
    const { record_id, subscription_id: of_subscription, client_id: of_client, ...slice } = input;
    rejectUnused("billing runs", { record_id, subscription_id: of_subscription, client_id: of_client });
    return runFinder.run(ctx, { ...slice, ...(run_id === undefined ? {} : { run_id }) });
  },
});

export const recordTools = [findRecords];

const findMyRecords = tool({
  name: "billing_find_my_records",
  title: "Find my bills",
  description: "Finds your bills, newest first, by subscription; or one by record_id with its lines.",
  ...recordFinder,
  level: "client",
  input: {
    ...recordFilter,
    kind: describe(
      listBillingRecords.input.properties.kind,
      "period: a period's own bill; adjustment: a later correction",
    ),
  },
});

/** For client users. */
export const myRecordTools = [findMyRecords];
