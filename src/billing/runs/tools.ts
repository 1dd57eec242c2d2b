import { call } from "../../app/operation.ts";
import { runBilling } from "./service.ts";
import { action } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { RECORD_DETAILS } from "../records/tools.ts";

const { period, subscription_ids, dry_run } = runBilling.input.properties;

const startRun = tool({
  name: "billing_run",
  title: "Bill what is due",
  description:
    "Writes the bills of every period that ended and has none; with period, of that month again, where late usage becomes an adjustment. Bills can't be taken back: use dry_run first and show the person what it would write. The service bills by itself every hour. Status running: the run goes on, see billing_find_records with kind run.",
  ...action(runBilling),
  is_destructive: true,
  details: [...RECORD_DETAILS, "lines"],
  input: {
    period: describe(period, "The month to bill"),
    subscription_ids: describe(subscription_ids, "Only these subscriptions"),
    dry_run: describe(dry_run, "Writes nothing, and shows what it would write"),
  },
  async asks(ctx, input) {
    if (input.dry_run === true) return null;
    const { counts, totals, status } = await call(ctx, runBilling, { ...input, dry_run: true });
    const which = input.period === undefined ? "of every period that is due" : `of ${input.period}`;
    if (status !== "finished") return `Writes the bills ${which}. They can't be taken back.`;
    const sums = totals.map(({ currency, totalCharges }) => `${currency} ${totalCharges}`).join(", ");
    return `Writes ${counts.periods} bills and ${counts.adjustments} adjustments ${which}: ${sums === "" ? "nothing to charge" : sums}. They can't be taken back.`;
  },
});

export const runTools = [startRun];
