import type { UsageField, UsageFilter } from "../../../usage/filters/model.ts";
import type { RangeInput, SeriesQuestion, UsageSeries } from "../../../usage/series/model.ts";
import { nextDay } from "../../text/time.ts";

// What is explored, as an address holds it and as the service is asked for it.

const INTERVALS = [
  "auto",
  "minute",
  "five_minutes",
  "fifteen_minutes",
  "hour",
  "day",
  "week",
  "month",
] as const satisfies SeriesQuestion["interval"][];
const MEASURES = [
  "units",
  "events",
  "mean",
  "smallest",
  "largest",
  "active_subscriptions",
] as const satisfies UsageSeries["measure"][];
export const RANGE_WORDS = [
  "last_1h",
  "last_24h",
  "last_7d",
  "last_30d",
  "last_90d",
  "last_12_months",
  "today",
  "yesterday",
  "this_week",
  "last_week",
  "this_month",
  "last_month",
  "this_quarter",
  "last_quarter",
  "this_year",
  "last_year",
  "all",
] as const satisfies RangeInput["relative"][];
const CHARTS = ["line", "bar", "stacked", "share", "table"] as const;
export type ChartKind = (typeof CHARTS)[number];

/** What somebody explores. All of it is in the address. */
export interface Explored {
  /** A word, a month, days or instants: see `rangeOf`. */
  range: string;
  interval: NonNullable<SeriesQuestion["interval"]>;
  measure: UsageSeries["measure"];
  by: UsageField[];
  filters: UsageFilter[];
  min: string;
  max: string;
  compare: "" | "before" | "last_year";
  align_weekdays: boolean;
  top: number;
  /** Undefined: what suits the measure and groups. */
  chart: ChartKind | undefined;
}

export const DEFAULT_TOP = 8;
export const DEFAULT_RANGE = "last_30d";

type Address = Record<string, string | undefined>;

/** Reads an address; what it can't read there is left out. */
export function explored(values: Address): Explored {
  return {
    range: values.range ?? (values.from === undefined ? DEFAULT_RANGE : `${values.from}..${values.to ?? ""}`),
    interval: INTERVALS.find((interval) => interval === values.interval) ?? "auto",
    measure: MEASURES.find((measure) => measure === values.measure) ?? "units",
    by: [values.by, values.by2].filter(isField),
    filters: [...readFilters(values.filters), ...namedRecords(values)],
    min: values.min ?? "",
    max: values.max ?? "",
    compare: values.compare === "before" || values.compare === "last_year" ? values.compare : "",
    align_weekdays: values.weekdays === "1",
    top: Number(values.top ?? DEFAULT_TOP),
    chart: CHARTS.find((chart) => chart === values.chart),
  };
}

const FIELDS = ["client", "product", "subscription", "billing_model"];
const isField = (text: unknown): text is UsageField =>
  typeof text === "string" && (FIELDS.includes(text) || text.startsWith("metadata:"));

/** Records that other pages lead here by. */
const namedRecords = (values: Address): UsageFilter[] =>
  (["client", "product", "billing_model"] as const).flatMap((field) => {
    const id = values[field];
    return id === undefined ? [] : [{ field, op: "is" as const, values: [id] }];
  });

const OPS = ["is", "is_not", "contains", "present", "missing"] as const;

function readFilters(text: string | undefined): UsageFilter[] {
  try {
    const list: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(list) ? list.flatMap(readFilter) : [];
  } catch {
    return [];
  }
}

function readFilter(entry: unknown): UsageFilter[] {
  if (!Array.isArray(entry)) return [];
  const [field, given, ...values]: unknown[] = entry;
  const op = OPS.find((known) => known === given);
  const texts = values.filter((value) => typeof value === "string");
  if (!isField(field) || op === undefined) return [];
  if (takesValues(op)) return texts.length === 0 ? [] : [{ field, op, values: texts }];
  return [{ field, op }];
}

export const takesValues = (op: UsageFilter["op"]): boolean => op !== "present" && op !== "missing";

const unless = <T>(value: T, usual: T) => (value === usual ? undefined : String(value));

/** The address of what is explored: what is by default is left out. */
export function addressOf(of: Explored): Address {
  const { by, filters, compare, top } = of;
  return {
    range: unless(of.range, DEFAULT_RANGE),
    interval: unless(of.interval, "auto"),
    measure: unless(of.measure, "units"),
    by: by[0],
    by2: by[1],
    filters:
      filters.length === 0
        ? undefined
        : JSON.stringify(filters.map(({ field, op, values = [] }) => [field, op, ...values])),
    min: unless(of.min, ""),
    max: unless(of.max, ""),
    compare: unless(compare, ""),
    weekdays: compare !== "" && of.align_weekdays ? "1" : undefined,
    top: unless(top, DEFAULT_TOP),
    chart: of.chart,
  };
}

/** Where something is explored: `exploreUrl("/console/usage", { filters: [{ field: "client", op: "is", values: ["7"] }] })`. */
export function exploreUrl(path: string, of: Partial<Explored>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(addressOf({ ...explored({}), ...of })))
    if (value !== undefined) query.set(name, value);
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

const MONTH = /^\d{4}-\d\d$/;
const DAY = /^\d{4}-\d\d-\d\d$/;
const PERIOD = /^subscription:(\d+)(?:@(.+))?$/;

/**
 * A range as the service is asked for it. `2026`, `2026-03` and `2026-03-05` are whole; of `2026-03-01..2026-03-15` the
 * last day is a part, but not of a time; `subscription:7@2026-03-05` is the billing period that the day lies in.
 */
export function rangeOf(text: string): RangeInput {
  if (MONTH.test(text)) return { month: text };
  const [, subscription, on] = PERIOD.exec(text) ?? [];
  if (subscription !== undefined) return { period_of: Number(subscription), ...(on && { on }) };
  const relative = RANGE_WORDS.find((word) => word === text);
  if (relative !== undefined) return { relative };
  // What it should be the service says.
  if (!/^\d{4}/.test(text)) return { from: text };
  const [from = "", to = from] = text.split("..", 2);
  const end = endOf(to);
  return { from: startOf(from), ...(end !== "" && { to: end }) };
}

function startOf(text: string): string {
  if (/^\d{4}$/.test(text)) return `${text}-01-01`;
  return MONTH.test(text) ? `${text}-01` : text;
}

/** What is not included any more. */
function endOf(text: string): string {
  if (/^\d{4}$/.test(text)) return `${Number(text) + 1}-01-01`;
  if (DAY.test(text)) return nextDay(text);
  if (!MONTH.test(text)) return text;
  const [year = 0, month = 0] = text.split("-").map(Number);
  return month === 12 ? `${year + 1}-01-01` : `${year}-${String(month + 1).padStart(2, "0")}-01`;
}

/** The question of a state for the service. */
export function questionOf(of: Explored): SeriesQuestion {
  const { range, interval, measure, by, filters, min, max, compare, align_weekdays, top } = of;
  const [first, second] = by;
  return {
    range: rangeOf(range),
    interval,
    measure,
    ...(first !== undefined && { group_by: second === undefined ? first : [first, second] }),
    ...(filters.length > 0 && { filters }),
    ...(min !== "" && { min_usage: Number(min) }),
    ...(max !== "" && { max_usage: Number(max) }),
    ...(first !== undefined && top !== DEFAULT_TOP && { top }),
    ...(compare !== "" && { compare: { to: compare, ...(align_weekdays && { align_weekdays }) } }),
  };
}

/** A question that somebody saved, as it is explored. */
export function exploredOf(question: SeriesQuestion): Explored {
  const { range = {}, interval = "auto", measure = "units", group_by = [], filters = [] } = question;
  const { min_usage, max_usage, top = DEFAULT_TOP, compare } = question;
  return {
    range: rangeText(range),
    interval,
    measure,
    by: typeof group_by === "string" ? [group_by] : group_by,
    filters,
    min: min_usage === undefined ? "" : String(min_usage),
    max: max_usage === undefined ? "" : String(max_usage),
    compare: compare?.to ?? "",
    align_weekdays: compare?.align_weekdays ?? false,
    top,
    chart: undefined,
  };
}

function rangeText({ relative, month, from, to, period_of, on }: RangeInput): string {
  if (period_of !== undefined) return `subscription:${period_of}${on === undefined ? "" : `@${on}`}`;
  if (from !== undefined) return `${from}..${to ?? ""}`;
  return month ?? relative ?? DEFAULT_RANGE;
}

/** Whether parts of the measure add up to the whole, so that they can be stacked. */
export const addsUp = (measure: Explored["measure"]): boolean => measure === "units" || measure === "events";

/** How a question can be drawn: groups side by side in each bucket are lines, or stacked where that is a sum. */
export function chartsFor({ measure, by }: Pick<Explored, "measure" | "by">): ChartKind[] {
  if (by.length === 0) return ["line", "bar", "table"];
  return addsUp(measure) ? ["line", "stacked", "share", "table"] : ["line", "table"];
}

/** How it is drawn. */
export function chartOf(of: Explored): ChartKind {
  const kinds = chartsFor(of);
  const chosen = kinds.find((kind) => kind === of.chart);
  return chosen ?? (kinds.includes("stacked") ? "stacked" : "line");
}

/** Narrows to one more filter; of what it replaces nothing stays. */
export function withFilter(of: Explored, filter: UsageFilter): Explored {
  const others = of.filters.filter(({ field, op }) => field !== filter.field || op !== filter.op);
  const same = of.filters.find(({ field, op }) => field === filter.field && op === filter.op);
  // What may not be adds up; what must be is narrowed.
  const values =
    filter.op === "is_not"
      ? [...new Set([...(same?.values ?? []), ...(filter.values ?? [])])]
      : filter.values;
  return { ...of, filters: [...others, { ...filter, ...(values && { values }) }] };
}
