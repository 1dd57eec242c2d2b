import { type Static, Type } from "@sinclair/typebox";
import { rangeFields } from "../../core/instants.ts";
import { At, Id, nullable, oneOf, pageFields, strict } from "../../core/schema.ts";
import { LIMITS } from "../limits.ts";

export const REVENUE_INTERVALS = ["day", "week", "month", "quarter", "year"] as const;
export type RevenueInterval = (typeof REVENUE_INTERVALS)[number];

export const REVENUE_GROUPS = ["client", "product", "billing_model", "subscription", "kind"] as const;
export type RevenueGroup = (typeof REVENUE_GROUPS)[number];

export const ReportRevenue = strict({
  ...rangeFields,
  interval: Type.Optional(oneOf(REVENUE_INTERVALS, "month unless given")),
  group_by: Type.Optional(
    oneOf(REVENUE_GROUPS, "kind is that of records; sums are by currency, whatever else they are by"),
  ),
  ...pageFields,
});

const Amount = Type.String({ description: "a decimal with exactly the currency's digits" });

const Sums = {
  currency: Type.String(),
  amount: { ...Amount, description: "of the whole range" },
  records: Type.Integer({ description: "how many records it is the sum of" }),
  amounts: Type.Array(Amount, { description: "of each of the buckets" }),
};

const RevenueTotal = Type.Object(Sums, { title: "RevenueTotal" });
export type RevenueTotal = Static<typeof RevenueTotal>;

const RevenueRow = Type.Object(
  {
    id: nullable({
      ...Id,
      description: "of the client, product, billing model or subscription; null of a kind",
    }),
    name: Type.String({ description: "of what the id names, or the kind" }),
    ...Sums,
  },
  { title: "RevenueRow" },
);
export type RevenueRow = Static<typeof RevenueRow>;

/** What was billed for the periods that begin in a range of time. Decision 0272. */
export const Revenue = Type.Object(
  {
    from: At,
    to: At,
    interval: oneOf(REVENUE_INTERVALS),
    buckets: Type.Array(Type.Object({ from: At, to: At }, { title: "RevenueBucket" }), {
      description: `days or months by the company's time zone, the first and the last cut by the range; at most ${LIMITS.revenue_buckets}`,
    }),
    totals: Type.Array(RevenueTotal, { description: "by currency" }),
    groups: Type.Integer({ description: "how many there are; rows are a page of them" }),
    rows: Type.Array(RevenueRow, {
      description: "by currency, the largest amount first; none without group_by",
    }),
  },
  { title: "Revenue" },
);
