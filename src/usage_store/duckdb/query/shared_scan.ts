import { isDeepStrictEqual } from "node:util";
import {
  type Aggregation,
  type MeasureQuery,
  type MeterTerms,
  type MeterUse,
  type MeterWindow,
  readFrom,
  useOf,
} from "../../meter.ts";
import { quoteText, type Parameters } from "../engine/sql.ts";
import { KeysOfEvents } from "./keys_of_events.ts";
import { conditionSql, countsSql, partSql, valueSql, wholePart } from "./meter_sql.ts";
import { eventsSql, type PlacedStretch } from "./meter_values.ts";
import { digestSums } from "./totals.ts";

// Several uses of the same windows by one look at their events: a plan's charges count the same months, and to find and
// read the events is most of the work. Decision 0267.

/** A use by its position in the query, and of each of its windows the position there. */
export interface PlacedUse {
  readonly index: number;
  readonly use: MeterUse;
  readonly positions: readonly number[];
}

/** Uses of the same stretches, which are numbered from 0. */
export interface Scan {
  readonly uses: readonly [PlacedUse, ...PlacedUse[]];
  readonly stretches: readonly PlacedStretch[];
}

/** Aggregations of a whole that follow from those of its parts, and how. */
const MERGEABLE: Partial<Record<Aggregation, { readonly ofEvents: string; readonly ofParts: string }>> = {
  count: { ofEvents: "count", ofParts: "sum" },
  sum: { ofEvents: "sum", ofParts: "sum" },
  average: { ofEvents: "sum", ofParts: "sum" },
  min: { ofEvents: "min", ofParts: "min" },
  max: { ofEvents: "max", ofParts: "max" },
};

/** Whether all events of a use are one part. */
const isWhole = ({ parts }: MeterUse) => wholePart(parts) !== undefined;

/** The uses of a query: together those of the same stretches, of which at most one way of dividing events is any. */
export function scansOf(query: MeasureQuery): Scan[] {
  const placed = query.windows.map((window, position) => ({ window, position }));
  const scans: { uses: [PlacedUse, ...PlacedUse[]]; stretches: PlacedStretch[]; bounds: string }[] = [];
  for (const [index, windows] of Map.groupBy(placed, ({ window }) => window.use)) {
    const [first] = windows;
    if (first === undefined) continue;
    const use = useOf(query, first.window);
    const stretches = windows.map(({ window }, i) => stretchOf(use.meter, window, i));
    const bounds = stretches.map((one) => Object.values(one).join()).join(" ");
    const own: PlacedUse = { index, use, positions: windows.map(({ position }) => position) };
    const fit = scans.find(
      (scan) => scan.bounds === bounds && scan.uses.every((other) => fits(other.use, use)),
    );
    if (fit) fit.uses.push(own);
    else scans.push({ uses: [own], stretches, bounds });
  }
  return scans;
}

function fits(a: MeterUse, b: MeterUse): boolean {
  const can_merge = [a, b].every(({ meter }) => MERGEABLE[meter.aggregation] !== undefined);
  return can_merge && (isWhole(a) || isWhole(b) || isDeepStrictEqual(a.parts, b.parts));
}

function stretchOf(meter: MeterTerms, window: MeterWindow, position: number): PlacedStretch {
  const { subscription_id, start_ms, end_ms } = window;
  return { position, subscription_id, start_ms, end_ms, from_ms: readFrom(meter, window) };
}

/** SQL of the md5 of an event by the value that was read, as a number: NULL without a value. */
export function md5Sql(value: string): string {
  return `if(${value} IS NULL, NULL,
    md5_number(id::VARCHAR || '|' || timestamp::VARCHAR || '|' || ${value}::VARCHAR))`;
}

/**
 * SQL of uses that scan together, as rows of use, position, part, value, events, skipped, corrections and the two sums of
 * the digest. Each has a column of whether it looks at an event, and one of what it reads of it.
 */
export function scanSql(query: MeasureQuery, { uses, stretches }: Scan, parameters: Parameters): string {
  const keys = new KeysOfEvents();
  const divided = uses.find(({ use }) => !isWhole(use)) ?? uses[0];
  const part = partSql(divided.use.parts, keys, parameters);
  const plain = uses.filter(({ use }) => !use.except?.length);
  const columns = plain.map((one) => readSql(one, keys, parameters, []));
  const left_over = uses
    .filter(({ use }) => use.except?.length)
    .map((one) => readSql(one, keys, parameters, plain));
  const found = keys.columnSql() === "" ? "" : ", found";
  const read = `SELECT position, id, timestamp, usage${found}, ${[`${part} AS part`, ...columns].join(", ")}
    FROM (${eventsSql(query, stretches, keys, parameters)})`;
  const all = left_over.length === 0 ? read : `SELECT *, ${left_over.join(", ")} FROM (${read})`;
  const digested = uses.map(({ index }) => `${md5Sql(`value_${index}`)} AS md5_${index}`);
  const sums = uses.flatMap((one) => sumsSql(one, query.without_digests ?? false));
  return `SELECT * FROM (WITH parts AS MATERIALIZED (
      SELECT position, part, ${sums.join(", ")}
      FROM (${query.without_digests ? all : `SELECT *, ${digested.join(", ")} FROM (${all})`})
      GROUP BY position, part)
    ${uses.map(partsSql).join(" UNION ALL ")})`;
}

/** Whether a use looks at an event, and what it reads of it then. Those in `known` have read it before. */
function readSql(
  { index, use: { meter, except = [] } }: PlacedUse,
  keys: KeysOfEvents,
  parameters: Parameters,
  known: readonly PlacedUse[],
): string {
  const conditions = [
    ...meter.filters.map((filter) => conditionSql(filter, keys, parameters)),
    ...except.map((other) => {
      const same = known.find(({ use }) => isDeepStrictEqual(use.meter, other));
      return same ? `value_${same.index} IS NULL` : `NOT ${countsSql(other, keys, parameters)}`;
    }),
  ];
  const looks_at = conditions.length === 0 ? "true" : conditions.join(" AND ");
  return `(${looks_at}) AS looks_${index}, CASE WHEN ${looks_at} THEN ${valueSql(meter, keys)} END AS value_${index}`;
}

function sumsSql({ index, use }: PlacedUse, without_digests: boolean): string[] {
  const value = `value_${index}`;
  const aggregate = MERGEABLE[use.meter.aggregation]?.ofEvents ?? "";
  const { first, second } = without_digests ? { first: "NULL", second: "NULL" } : digestSums(`md5_${index}`);
  return [
    `${aggregate}(${value}) AS ${value}`,
    `count(${value}) AS events_${index}`,
    `count(*) FILTER (looks_${index}) - count(${value}) AS skipped_${index}`,
    `count(${value}) FILTER (usage < 0) AS corrections_${index}`,
    `${first} AS first_${index}`,
    `${second} AS second_${index}`,
  ];
}

/** The rows of a use, of the parts that have any of its events; of one that divides nothing, all of them as one. */
function partsSql({ index, use }: PlacedUse): string {
  const whole = wholePart(use.parts);
  const merge = MERGEABLE[use.meter.aggregation]?.ofParts ?? "";
  const sumOf = (name: string) => (whole === undefined ? `${name}_${index}` : `sum(${name}_${index})`);
  const [part, value] =
    whole === undefined ? ["part", `value_${index}`] : [quoteText(whole), `${merge}(value_${index})`];
  return `SELECT ${index} AS use, position, ${part} AS part, (${value})::VARCHAR AS value,
      ${["events", "skipped", "corrections"].map((name) => `${sumOf(name)}::BIGINT AS ${name}`).join(", ")},
      ${["first", "second"].map((name) => `${sumOf(name)}::HUGEINT AS ${name}`).join(", ")}
    FROM parts WHERE events_${index} + skipped_${index} > 0 ${whole === undefined ? "" : "GROUP BY position"}`;
}
