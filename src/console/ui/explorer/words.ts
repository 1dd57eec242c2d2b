import type { UsageField, UsageFilter } from "../../../usage/filters/model.ts";
import { isolated } from "../../text/isolated.ts";
import { span } from "../../text/time.ts";
import { type ChartKind, type Explored, RANGE_WORDS } from "./question.ts";

// Words for what the interface calls by a code.

export const MEASURE_NAMES: Record<Explored["measure"], string> = {
  units: "Units",
  events: "Events",
  mean: "Mean of events",
  smallest: "Smallest event",
  largest: "Largest event",
  active_subscriptions: "Active subscriptions",
};

export const INTERVAL_NAMES: Record<Explored["interval"], string> = {
  auto: "Automatic",
  minute: "Minute",
  five_minutes: "5 minutes",
  fifteen_minutes: "15 minutes",
  hour: "Hour",
  day: "Day",
  week: "Week",
  month: "Month",
};

export const CHART_NAMES: Record<ChartKind, string> = {
  line: "Lines",
  bar: "Bars",
  stacked: "Stacked",
  share: "Shares",
  table: "Table",
};

const FIELD_NAMES: Record<string, string> = {
  client: "Client",
  product: "Product",
  subscription: "Subscription",
  billing_model: "Billing model",
};

export const COMPARE_NAMES: Record<Explored["compare"], string> = {
  "": "Nothing",
  before: "Range before",
  last_year: "Last year",
};

/** A field by its name: that of a metadata key is the key. */
export const fieldName = (field: UsageField): string =>
  FIELD_NAMES[field] ?? isolated(field.slice("metadata:".length));

export const OP_NAMES: Record<UsageFilter["op"], string> = {
  is: "is",
  is_not: "is not",
  contains: "contains",
  present: "is present",
  missing: "is missing",
};

export const RANGE_NAMES: Record<(typeof RANGE_WORDS)[number], string> = {
  last_1h: "Last hour",
  last_24h: "Last 24 hours",
  last_7d: "Last 7 days",
  last_30d: "Last 30 days",
  last_90d: "Last 90 days",
  last_12_months: "12 months",
  today: "Today",
  yesterday: "Yesterday",
  this_week: "This week",
  last_week: "Last week",
  this_month: "This month",
  last_month: "Last month",
  this_quarter: "This quarter",
  last_quarter: "Last quarter",
  this_year: "This year",
  last_year: "Last year",
  all: "All time",
};

/** A group of a series by its names: "Acme, large"; what events lack is a dash. `written` is how a name stands among others. */
export const groupName = (
  names: readonly (string | null)[],
  by: readonly UsageField[],
  written: (name: string) => string = isolated,
): string =>
  names
    .map((name, i) => (name === null ? `no ${fieldName(by[i] ?? "client").toLowerCase()}` : written(name)))
    .join(", ");

/** A range in words. */
export function rangeName(text: string, shown: { from: string; to: string } | undefined): string {
  const word = RANGE_WORDS.find((one) => one === text);
  if (word !== undefined) return RANGE_NAMES[word];
  const [, subscription] = /^subscription:(\d+)/.exec(text) ?? [];
  if (subscription !== undefined) return `Period of subscription ${subscription}`;
  return shown === undefined ? text : span(shown.from, shown.to);
}

export const filterText = (
  { field, op, values = [] }: UsageFilter,
  nameOf: (key: string) => string,
): string =>
  `${fieldName(field)} ${OP_NAMES[op]}${values.length === 0 ? "" : ` ${values.map((key) => isolated(nameOf(key))).join(" or ")}`}`;
