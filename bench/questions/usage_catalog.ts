import { RARE_PAIR } from "../events.ts";

// What is asked of usage: charts of some days, and the values of fields.

export type Interval = "fifteen_minutes" | "hour" | "day" | "week" | "month";

export interface Filter {
  field: string;
  op: "is" | "is_not" | "contains" | "present" | "missing";
  values?: string[];
}

/** A question for a series: the days of it end with the last day of events. */
export interface SeriesQuestion {
  what: string;
  days: number;
  interval: Interval;
  measure?: string;
  group_by?: string[];
  top?: number;
  filters?: Filter[];
  min_usage?: number;
  compared?: boolean;
  /** Whether the events themselves have to be read. */
  scans?: boolean;
  /** Asked by a client user, of its own usage. */
  mine?: boolean;
}

export const is = (field: string, ...values: string[]): Filter => ({ field, op: "is", values });
const pairs = Object.entries(RARE_PAIR).map(([key, value]) => is(`metadata:${key}`, value));
const [pair] = pairs;

/** Those that sums answer first, then those that read events. */
export const SERIES: readonly SeriesQuestion[] = [
  { what: "90 days by day, beside those before", days: 90, interval: "day", compared: true },
  ...["client", "product", "subscription", "billing_model"].map(
    (field): SeriesQuestion => ({
      what: `90 days by day and ${field}, beside those before`,
      days: 90,
      interval: "day",
      group_by: [field],
      compared: true,
    }),
  ),
  { what: "a year by month and product", days: 365, interval: "month", group_by: ["product"] },
  { what: "two weeks by hour and client", days: 14, interval: "hour", group_by: ["client"], top: 20 },
  {
    what: "client and product by week",
    days: 90,
    interval: "week",
    group_by: ["client", "product"],
    top: 50,
  },
  { what: "active subscriptions by day", days: 90, interval: "day", measure: "active_subscriptions" },
  {
    what: "active subscriptions by week and product",
    days: 90,
    interval: "week",
    measure: "active_subscriptions",
    group_by: ["product"],
  },
  { what: "mean by week and product", days: 90, interval: "week", measure: "mean", group_by: ["product"] },
  {
    what: "smallest by week and client",
    days: 90,
    interval: "week",
    measure: "smallest",
    group_by: ["client"],
  },
  { what: "largest by day", days: 90, interval: "day", measure: "largest" },
  {
    what: "events by day of one client",
    days: 90,
    interval: "day",
    measure: "events",
    filters: [is("client", "1")],
  },
  {
    what: "by day and client, without two products",
    days: 90,
    interval: "day",
    group_by: ["client"],
    filters: [{ field: "product", op: "is_not", values: ["1", "2"] }],
  },
  {
    what: "by day and subscription, of a part of a name",
    days: 90,
    interval: "day",
    group_by: ["subscription"],
    filters: [{ field: "subscription", op: "contains", values: ["tion-99"] }],
  },
  {
    what: "own usage by day and subscription",
    days: 90,
    interval: "day",
    group_by: ["subscription"],
    mine: true,
  },
  { what: "by day and a metadata key", days: 90, interval: "day", group_by: ["metadata:region"] },
  { what: "by day, of a metadata pair", days: 90, interval: "day", filters: pair ? [pair] : [] },
  { what: "by day, of two metadata pairs", days: 90, interval: "day", filters: pairs, scans: true },
  { what: "a year by week, of two metadata pairs", days: 365, interval: "week", filters: pairs, scans: true },
  {
    what: "by day and two metadata keys",
    days: 90,
    interval: "day",
    group_by: ["metadata:path", "metadata:region"],
    scans: true,
  },
  {
    what: "a year by month and two metadata keys",
    days: 365,
    interval: "month",
    group_by: ["metadata:path", "metadata:region"],
    scans: true,
  },
  {
    what: "by day and product, of a metadata pair",
    days: 90,
    interval: "day",
    group_by: ["product"],
    filters: pair ? [pair] : [],
    scans: true,
  },
  {
    what: "a year by month, of a part of a metadata value",
    days: 365,
    interval: "month",
    filters: [{ field: "metadata:region", op: "contains", values: ["NORTH"] }],
    scans: true,
  },
  {
    what: "a year by month, without a metadata value",
    days: 365,
    interval: "month",
    filters: [{ field: "metadata:status", op: "is_not", values: ["200"] }],
    scans: true,
  },
  {
    what: "a year by month, where a metadata key is missing",
    days: 365,
    interval: "month",
    filters: [{ field: "metadata:status", op: "missing" }],
    scans: true,
  },
  { what: "a year by month, of large events", days: 365, interval: "month", min_usage: 90, scans: true },
  { what: "a week by quarter of an hour", days: 7, interval: "fifteen_minutes", scans: true },
  {
    what: "a week by quarter of an hour and product",
    days: 7,
    interval: "fifteen_minutes",
    group_by: ["product"],
    scans: true,
  },
];

export interface ValuesQuestion {
  what: string;
  field: string;
  search?: string;
  filters?: Filter[];
  scans?: boolean;
}

/** The values of fields, as somebody types them. */
export const VALUES: readonly ValuesQuestion[] = [
  { what: "values of client", field: "client" },
  { what: "values of subscription by a letter", field: "subscription", search: "9" },
  { what: "values of a metadata key", field: "metadata:region" },
  { what: "values of a metadata key by a letter", field: "metadata:path", search: "s" },
  {
    what: "values of a metadata key, of another pair",
    field: "metadata:region",
    filters: pair ? [pair] : [],
    scans: true,
  },
];
