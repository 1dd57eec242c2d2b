import { Type } from "@sinclair/typebox";
import { Id } from "../../core/schema.ts";
import { getBillingRun, listBillingRuns, runBilling } from "./service.ts";
import { page } from "../../mcp/params.ts";
import { action, finder } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { RECORD_DETAILS } from "../records/tools.ts";

const { period, subscription_ids, dry_run } = runBilling.input.properties;

const startRun = tool({
  name: "billing_run",
  title: "Bill what is due",
  description:
    "Writes the bills of every period that ended and has none; with period, of that month again, where late usage becomes an adjustment. Bills can't be taken back: use dry_run first and show the person what it would write. The service bills by itself every hour. Status running: the run goes on, see billing_find_runs.",
  ...action(runBilling),
  is_destructive: true,
  details: [...RECORD_DETAILS, "lines"],
  input: {
    period: describe(period, "The month to bill"),
    subscription_ids: describe(subscription_ids, "Only these subscriptions"),
    dry_run: describe(dry_run, "Writes nothing, and shows what it would write"),
  },
});

const findRuns = tool({
  name: "billing_find_runs",
  title: "Find billing runs",
  description:
    "Lists billing runs, newest first, with their counts and sums; or one by run_id with its errors by subscription.",
  ...finder("run_id", listBillingRuns, getBillingRun),
  details: [],
  input: { run_id: Type.Optional(describe(Id, "One run, with its errors")), ...page },
});

export const runTools = [startRun, findRuns];
