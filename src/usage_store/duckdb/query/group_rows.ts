import type { EventFilter } from "../../port.ts";
import { whereSql } from "./filters.ts";
import { valueConditionSql } from "./metadata_sql.ts";
import { conditionsOf } from "./rollup.ts";
import type { Cover, WholeSpans } from "./sums_cover.ts";
import { groupsOf, nameOf, spanAt, startOfSpan, type SumsKind, VALUE_COLUMNS } from "./sums_kind.ts";
import type { Parameters } from "../engine/sql.ts";

/** Group sums to read, and the events that are in none of them: those of the rests, and those after `seq`. */
export interface GroupRows extends SumsKind {
  seq: number;
  cover: Cover;
}

/** The column of sums that holds the values of a key. */
export function valueColumn({ keys }: SumsKind, key: string): string {
  return VALUE_COLUMNS[keys.indexOf(key)] ?? "''";
}

/**
 * SQL of the sums of the events that a filter finds, by instant and group: at_ms, subscription_id, value, second_value,
 * total, events, low and high, several rows each. A union, as the engine skips no blocks by an OR.
 */
export function groupRowsSql(filter: EventFilter, rows: GroupRows, parameters: Parameters): string {
  const seq = parameters.integer(rows.seq);
  const eventsIn = (window: EventFilter) => eventsSql(window, rows, parameters);
  return [
    ...rows.cover.whole.map((spans) => sumsSql(filter, rows, spans, parameters)),
    ...rows.cover.rests.map((rest) => `${eventsIn({ ...filter, ...rest })} AND seq <= ${seq}`),
    `${eventsIn(filter)} AND seq > ${seq}`,
  ].join(" UNION ALL ");
}

function sumsSql(
  filter: EventFilter,
  rows: GroupRows,
  { day_start_ms, start_ms, end_ms }: WholeSpans,
  parameters: Parameters,
): string {
  const { company_id, subscription_ids } = filter;
  const kind = { ...rows, day_start_ms };
  const bound = (comparison: string, at_ms: number | undefined) =>
    at_ms === undefined ? [] : [`span ${comparison} ${parameters.integer(spanAt(kind, at_ms))}`];
  const conditions = [
    whereSql({ company_id, subscription_ids }, parameters),
    `name = ${parameters.text(nameOf(kind))}`,
    ...bound(">=", start_ms),
    ...bound("<", end_ms),
    ...conditionsOf(filter).map((condition) =>
      valueConditionSql(condition, valueColumn(kind, condition.key), parameters),
    ),
  ];
  return `SELECT ${startOfSpan(kind)} AS at_ms, subscription_id, ${VALUE_COLUMNS.join(", ")}, total, events, low, high
    FROM usage_group_sums WHERE ${conditions.join(" AND ")}`;
}

/** Events as sums of one each. */
function eventsSql(filter: EventFilter, kind: SumsKind, parameters: Parameters): string {
  const { span: _, ...groups } = groupsOf(kind, parameters);
  const columns = Object.entries(groups).map(([name, sql]) => `${sql} AS ${name}`);
  return `SELECT timestamp AS at_ms, ${columns.join(", ")}, usage AS total, 1 AS events, usage AS low, usage AS high
    FROM usage_events WHERE ${whereSql(filter, parameters)}`;
}
