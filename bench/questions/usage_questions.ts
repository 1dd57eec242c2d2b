import { type Static, Type } from "@sinclair/typebox";
import { shaped } from "../shape.ts";
import { type Manifest, ZONE } from "./company.ts";
import type { PlainQuestion, PlainUsage } from "./plain_usage.ts";
import { type Question, same } from "./question.ts";
import type { PlainLine } from "./sums.ts";
import {
  type Filter,
  type Interval,
  is,
  SERIES,
  type SeriesQuestion,
  VALUES,
  type ValuesQuestion,
} from "./usage_catalog.ts";

// Usage over time, and the values of fields: asked over REST, and of a loop over all events.

const Value = Type.Union([Type.Number(), Type.Null()]);
const Line = Type.Object({ value: Value, values: Type.Array(Value) });
type Line = Static<typeof Line>;
const Buckets = Type.Array(Type.Object({ start: Type.String(), end: Type.String() }));
const lines = {
  total: Line,
  groups: Type.Array(
    Type.Object({ keys: Type.Array(Type.Union([Type.String(), Type.Null()])), ...Line.properties }),
  ),
  other: Type.Union([Line, Type.Null()]),
};
const Compared = Type.Object({ from: Type.String(), to: Type.String(), buckets: Buckets, ...lines });
const Series = Type.Object({
  data: Type.Object({
    ...Compared.properties,
    group_count: Type.Integer(),
    compare: Type.Union([Compared, Type.Null()]),
  }),
  meta: Type.Object({ matched: Type.Integer() }),
});
const Values = Type.Object({
  data: Type.Array(
    Type.Object({ key: Type.String(), event_count: Type.Integer(), total_usage: Type.Number() }),
  ),
  meta: Type.Object({ total: Type.Integer() }),
});

/** Every question for usage, with what holds its answer to the events. */
export function usageQuestions(manifest: Manifest): Question[] {
  return [
    ...SERIES.map((one) => seriesQuestion(manifest, one)),
    ...VALUES.map((one) => valuesQuestion(manifest, one)),
  ];
}

function seriesQuestion(manifest: Manifest, asked: SeriesQuestion): Question {
  const {
    what,
    days,
    interval,
    measure = "units",
    group_by = [],
    top,
    filters = [],
    min_usage,
    compared = false,
  } = asked;
  const range = lastDays(manifest, days);
  const edges = edgesOf(range, interval);
  const mine = asked.mine === true;
  const body = {
    range: { from: textOf(range.from), to: textOf(range.to) },
    interval,
    measure,
    top,
    min_usage,
    ...(filters.length > 0 && { filters }),
    ...(group_by.length > 0 && { group_by }),
    ...(compared && { compare: { to: "before" } }),
  };
  const own = filterOf(is("client", String(manifest.subscriptions[0]?.client_id)));
  const question: PlainQuestion = {
    edges,
    fields: group_by,
    filters: [...filters.map(filterOf), ...(mine ? [own] : [])],
    min_millionths: min_usage === undefined ? undefined : min_usage * 1e6,
    measure,
  };
  return {
    what: `usage: ${what}`,
    by: mine ? "client" : "admin",
    method: "POST",
    path: mine ? "/my/usage/series" : "/usage/series",
    body,
    scans: asked.scans === true,
    check(answer, { usage }) {
      const { data, meta } = shaped(Series, answer, what);
      const named = holdLines(usage, question, data, { top: top ?? 8, is_compared: false });
      if (meta.matched !== usage.ask({ ...question, fields: [] }).total.events)
        throw new Error(`${meta.matched} events matched`);
      if (!compared || data.compare === null) return;
      const before = { from: range.from.subtract({ days }), to: range.from };
      const moved = { ...question, edges: edgesOf(before, interval) };
      const again = holdLines(usage, moved, data.compare, { top: named.length, is_compared: true });
      same(again, named, "the groups that are compared");
    },
  };
}

/** Holds the lines of an answer to those of a loop over all events. Returns the keys of its groups. */
function holdLines(
  usage: PlainUsage,
  question: PlainQuestion,
  answer: Static<typeof Compared> & { group_count?: number },
  { top, is_compared }: { top: number; is_compared: boolean },
): string[] {
  const { edges, measure } = question;
  const starts = answer.buckets.map(({ start }) => Temporal.Instant.from(start).epochMilliseconds);
  same(starts, edges.slice(0, -1), "the starts of buckets");
  same(Temporal.Instant.from(answer.to).epochMilliseconds, edges.at(-1), "the end");
  const plain = usage.ask(question);
  const textOfKeys = (keys: readonly (string | null)[]) => keys.map(String).join("\n");
  holdLine(answer.total, plain.total, "the total");
  const by_keys = new Map(plain.groups.map((line) => [textOfKeys(line.keys), line]));
  const nothing = usage.ask({ ...question, edges: [0, 1], fields: [] }).total.value;
  for (const group of answer.groups) {
    const line = by_keys.get(textOfKeys(group.keys));
    if (line) holdLine(group, line, `group ${textOfKeys(group.keys)}`);
    else if (!is_compared) throw new Error(`There is no group ${textOfKeys(group.keys)}`);
    else same(group.value, nothing, "a group without events");
  }
  const named = answer.groups.map(({ keys }) => keys.map(String));
  const others = plain.others(named);
  if (question.fields.length === 0 || others.events === 0) same(answer.other, null, "no others");
  else if (answer.other === null) throw new Error("There are others");
  else holdLine(answer.other, others, "the others");
  if (!is_compared) holdRanks(answer, plain.groups, measure, top);
  return named.map(textOfKeys);
}

function holdRanks(
  answer: { groups: readonly Line[]; group_count?: number },
  groups: readonly PlainLine[],
  measure: string,
  top: number,
): void {
  same(answer.group_count, groups.length, "the number of groups");
  const sign = measure === "smallest" ? 1 : -1;
  const best = groups.map(({ value }) => value ?? 0).toSorted((a, b) => sign * (a - b));
  same(
    answer.groups.map(({ value }) => value),
    best.slice(0, top),
    "the groups with the most",
  );
}

function holdLine({ value, values }: Line, plain: PlainLine, what: string): void {
  same(value, plain.value, what);
  same(values, plain.values, `${what} by bucket`);
}

function valuesQuestion(
  manifest: Manifest,
  { what, field, search, filters = [], scans = false }: ValuesQuestion,
): Question {
  const range = lastDays(manifest, 90);
  const body = {
    field,
    search,
    range: { from: textOf(range.from), to: textOf(range.to) },
    ...(filters.length > 0 && { filters }),
    limit: 20,
  };
  return {
    what: `usage: ${what}`,
    by: "admin",
    method: "POST",
    path: "/usage/values",
    body,
    scans,
    check(answer, { usage }) {
      const { data, meta } = shaped(Values, answer, what);
      const having: Filter[] = search === undefined ? [] : [{ field, op: "contains", values: [search] }];
      const edges = edgesOf(range, "month");
      const question = {
        edges,
        fields: [field],
        filters: [...filters, ...having].map(filterOf),
        measure: "units",
      };
      const plain = usage.ask(question).groups.toSorted((a, b) => b.events - a.events);
      same(meta.total, plain.length, "the number of values");
      same(
        data.map(({ event_count }) => event_count),
        plain.slice(0, 20).map(({ events }) => events),
        "the most frequent",
      );
      const by_key = new Map(plain.map((line) => [line.keys[0], line]));
      for (const { key, event_count, total_usage } of data) {
        const line = by_key.get(key);
        same([event_count, total_usage], [line?.events, line?.value], `value ${key}`);
      }
    },
  };
}

interface Days {
  from: Temporal.ZonedDateTime;
  to: Temporal.ZonedDateTime;
}

/** Whole local days, the last of them that of the last event. */
function lastDays({ until_ms }: Manifest, days: number): Days {
  const last = Temporal.Instant.fromEpochMilliseconds(until_ms).toZonedDateTimeISO(ZONE).startOfDay();
  const to = last.add({ days: 1 });
  return { from: to.subtract({ days }), to };
}

const STEPS: Record<Interval, Temporal.DurationLike> = {
  fifteen_minutes: { minutes: 15 },
  hour: { hours: 1 },
  day: { days: 1 },
  week: { weeks: 1 },
  month: { months: 1 },
};

/** Where buckets of local time begin, and where the last one ends. */
function edgesOf({ from, to }: Days, interval: Interval): number[] {
  const first = {
    fifteen_minutes: from,
    hour: from,
    day: from,
    week: from.subtract({ days: from.dayOfWeek - 1 }),
    month: from.with({ day: 1 }),
  }[interval];
  const edges = [from.epochMilliseconds];
  // Hours are steps of elapsed time, days and longer ones of the calendar.
  for (
    let at = first.add(STEPS[interval]);
    at.epochMilliseconds < to.epochMilliseconds;
    at = at.add(STEPS[interval])
  )
    edges.push(at.epochMilliseconds);
  return [...edges, to.epochMilliseconds];
}

const textOf = (at: Temporal.ZonedDateTime) => at.toInstant().toString();

/** A filter as a rule for keys. Here a key of metadata is what it stands for, and a record is known by its id alone. */
function filterOf({ field, op, values = [] }: Filter): PlainQuestion["filters"][number] {
  if (op === "is") return { field, holds: (key) => values.includes(key) };
  if (op === "is_not") return { field, holds: (key) => !values.includes(key) };
  if (op === "contains")
    return { field, holds: (key) => values.some((part) => nameOf(field, key).includes(part.toLowerCase())) };
  return { field, holds: () => op === "present" };
}

/** What a part is looked for in: an external id, which names of subscriptions have the numbers of. */
function nameOf(field: string, key: string): string {
  return (field === "subscription" ? key.slice(key.indexOf(":") + 1) : key).toLowerCase();
}
