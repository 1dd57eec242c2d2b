import { Type } from "@sinclair/typebox";
import { At, Id, nullable } from "../../core/schema.ts";
import { Revenue } from "../../billing/revenue/model.ts";
import { RunningBills } from "../../billing/running_bills/model.ts";
import { LIMITS } from "../limits.ts";

const UsageSum = Type.Object(
  { from: At, to: At, units: Type.Number(), events: Type.Integer() },
  { title: "OverviewUsage" },
);

const Debits = Type.Object(
  { count: Type.Integer(), amount: Type.String({ description: "in MYR" }) },
  { title: "OverviewDebits" },
);

const TopClient = Type.Object(
  { id: Id, name: Type.String(), currency: Type.String(), amount: Type.String() },
  { title: "TopClient" },
);

/** How a company does, of what the caller may read: null elsewhere. */
export const Overview = Type.Object(
  {
    as_of: At,
    today: nullable(
      Type.Object(
        {
          so_far: UsageSum,
          same_weekday: Type.Object(
            { ...UsageSum.properties },
            { description: "a week ago, until the same local time" },
          ),
          same_weekday_whole: Type.Object({ ...UsageSum.properties }, { description: "all of that day" }),
        },
        { title: "OverviewToday" },
      ),
    ),
    revenue: nullable({
      ...Revenue,
      description:
        "billed for the last twelve months, by product and currency: GET /revenue?group_by=product",
    }),
    running_bills: nullable({ ...RunningBills, description: "what running periods come to so far" }),
    top_clients: nullable(
      Type.Array(TopClient, {
        description: `by what was billed for these months, at most ${LIMITS.top_clients} of each currency`,
      }),
    ),
    debits: nullable(
      Type.Object(
        { from: At, to: At, paid: Debits, failed: Debits },
        {
          title: "OverviewDebitsOfMonth",
          description: "this month: paid, and failed for good or charged back",
        },
      ),
    ),
    coming: nullable(
      Type.Object(
        {
          until: At,
          periods_closing: Type.Integer({ description: "billing periods that end" }),
          subscriptions_ending: Type.Integer(),
          plan_changes: Type.Integer({ description: "scheduled changes that take effect" }),
          collections: nullable(Debits),
        },
        { title: "OverviewComing", description: `in the next ${LIMITS.coming_days} days` },
      ),
    ),
  },
  { title: "Overview" },
);
