import { Type } from "@sinclair/typebox";
import { call } from "../app/operation.ts";
import { listCredits } from "../billing/credits/list_credits.ts";
import { listRunningBills } from "../billing/running_bills/service.ts";
import { reportRevenue } from "../billing/revenue/service.ts";
import { client_id } from "../billing/tools.ts";
import { rangeFields } from "../core/instants.ts";
import { oneOf } from "../core/schema.ts";
import { decode } from "../core/validate.ts";
import { data } from "../http/responses.ts";
import { page, rejectUnused } from "../mcp/params.ts";
import { tool } from "../mcp/tool.ts";
import { describe, describeOnly } from "../mcp/wire_schema.ts";
import { getAttention } from "./attention/service.ts";

const { interval, group_by } = reportRevenue.input.properties;

const getFigures = tool({
  name: "billing_get_figures",
  title: "Get the figures of the company",
  description:
    "kind revenue: what was billed, by currency, of periods that begin in month, relative, or from and to, summed by interval and group. kind credits: the credits of this month of all subscriptions, those first that have used most; runs_out_on is the day on which they run out at this rate. kind running: what periods that run come to so far, by group_by client, product or subscription. kind attention: what needs a person, such as failed bills, debits and webhooks, credits used up, applications that wait.",
  operations: [reportRevenue, listCredits, listRunningBills, getAttention],
  input: {
    kind: describe(oneOf(["revenue", "credits", "running", "attention"]), "Which figures"),
    ...rangeFields,
    from: describe(rangeFields.from, "Of revenue: the first instant"),
    to: describe(rangeFields.to, "The end, not included"),
    interval: describeOnly(interval, "Of revenue; default month"),
    group_by: describeOnly(group_by, "Of revenue and running: rows beside the totals"),
    client_id: Type.Optional(describe(client_id, "Of credits: one client's")),
    ...page,
  },
  output: Type.Object({ data: Type.Unknown(), meta: Type.Optional(Type.Object({})) }),
  async run(ctx, { kind, client_id: client, page: number, limit, ...report }) {
    const paging = {
      ...(number === undefined ? {} : { page: number }),
      ...(limit === undefined ? {} : { limit }),
    };
    if (kind !== "credits") rejectUnused(`kind ${kind}`, { client_id: client });
    if (kind === "revenue") return data(call(ctx, reportRevenue, { ...report, ...paging }));
    if (kind === "running") {
      const { group_by: by, ...unused } = report;
      rejectUnused("kind running", unused);
      const grouped = by === undefined ? {} : { group_by: by };
      return data(call(ctx, listRunningBills, decode(listRunningBills.input, { ...grouped, ...paging })));
    }
    rejectUnused(`kind ${kind}`, report);
    if (kind === "credits")
      return call(ctx, listCredits, {
        page: 1,
        ...paging,
        ...(client === undefined ? {} : { client_id: client }),
      });
    rejectUnused(`kind ${kind}`, paging);
    return data(call(ctx, getAttention, {}));
  },
});

export const figureTools = [getFigures];
