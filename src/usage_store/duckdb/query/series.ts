import type { DuckDBConnection, DuckDBValue } from "@duckdb/node-api";
import type { Decimal } from "../../../core/money.ts";
import type { EventFilter, GroupKind } from "../../port.ts";
import type {
  SeriesFrame,
  SeriesKey,
  SeriesLine,
  SeriesOptions,
  SeriesQuery,
  SeriesResult,
} from "../../series.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import { EngineLostError } from "../engine/engine.ts";
import { asDecimal, asNumber, asText, decimalSql, Parameters, query, queryMany } from "../engine/sql.ts";
import type { GroupSums, Summed } from "../maintain/group_sums.ts";
import { lostError, type Recovery } from "../maintain/recovery.ts";
import { checkKept } from "../../query/check_kept.ts";
import type { Companies } from "../index/companies.ts";
import { inRange } from "./in_range.ts";
import { arePreferred, eventsRead } from "./rollup.ts";
import { isByTime, unbound } from "../../query/time_range.ts";
import { spansOf } from "./series_spans.ts";
import { answerSql, countsSubscriptions, rowsSql, type SeriesSource } from "./series_sql.ts";
import { type Cuts, groupRowsOf, type SummedQuery, askedSums } from "./sums_choice.ts";

/** As `UsageStore.series`. */
export function askSeries(
  recovery: Recovery,
  wanted: SeriesQuery,
  { timeout_ms, signal }: SeriesOptions,
): Promise<SeriesResult> {
  const { company_id } = wanted;
  const { companies } = recovery.known;
  return recovery.query(
    company_id,
    ({ readers, group_sums, compactor }) =>
      readers.runStatement(
        company_id,
        timeout_ms,
        async (connection) => {
          const kept = keptFilter(recovery, wanted);
          if (kept !== undefined) {
            const { min_timestamp: first_ms } = companies.rangeOf(company_id);
            return answer(connection, wanted, kept, { kind: "kept", first_ms });
          }
          const { summed } = group_sums;
          const ask = (by: Summed | undefined) =>
            inRange(companies, connection, filterOf(wanted), (filter, has_few) =>
              answer(connection, wanted, filter, sourceOf(wanted, filter, has_few, by)),
            );
          const found = await ask(summed);
          // The sums changed meanwhile, before the statement read them or after.
          if (summed !== undefined && summed !== group_sums.summed) return ask(undefined);
          if (countMissing(group_sums, wanted, found, companies)) compactor.notice();
          return found;
        },
        signal,
      ),
    timeout_ms,
  );
}

/** As `UsageStore.seriesFrames`. What sums answer is one frame. */
export async function askFrames(
  recovery: Recovery,
  wanted: SeriesQuery,
  { slice_events, ...options }: SeriesOptions & { slice_events: number },
  send: (frame: SeriesFrame) => Promise<void>,
): Promise<void> {
  const { company_id } = wanted;
  const { companies } = recovery.known;
  const filter = filterOf(wanted);
  recovery.checkQueries(company_id);
  const { timeout_ms, signal } = options;
  const { readers, group_sums, compactor } = await recovery.parts(timeout_ms);
  const reduced = unbound(filter, companies.rangeOf(company_id));
  const source = sourceOf(wanted, reduced, companies.haveFew(filter), group_sums.summed);
  if (source.kind !== "events" || keptFilter(recovery, wanted) !== undefined) {
    const result = await askSeries(recovery, wanted, options);
    return send({ from_ms: filter.start_ms, result });
  }
  try {
    const sendAll = (connection: DuckDBConnection) => sendFrames(connection, wanted, slice_events, send);
    const last = await readers.run(company_id, timeout_ms, sendAll, signal);
    if (countMissing(group_sums, wanted, last, companies)) compactor.notice();
  } catch (error) {
    // What was sent can't be sent again.
    throw error instanceof EngineLostError ? lostError(error) : error;
  }
}

/** Adds up the events span by span, and returns the last answer; `connection` is in a transaction. */
async function sendFrames(
  connection: DuckDBConnection,
  wanted: SeriesQuery,
  slice_events: number,
  send: (frame: SeriesFrame) => Promise<void>,
): Promise<SeriesResult | undefined> {
  const filter = filterOf(wanted);
  let result: SeriesResult | undefined;
  for (const [i, span] of (await spansOf(connection, filter, slice_events)).entries()) {
    const parameters = new Parameters();
    const rows = rowsSql(wanted, { ...filter, ...span }, { kind: "events" }, parameters);
    const into = i === 0 ? "CREATE OR REPLACE TEMP TABLE series_rows AS" : "INSERT INTO series_rows";
    await query(connection, `${into} ${rows}`, parameters);
    const asked = new Parameters();
    result = await read(connection, wanted, answerSql(wanted, "series_rows", asked), asked);
    await send({ from_ms: span.start_ms, result });
  }
  return result;
}

/** The events of all buckets. */
function filterOf({ edges, ...filter }: SeriesQuery): EventFilter & { start_ms: number; end_ms: number } {
  return { ...filter, start_ms: edges[0] ?? 0, end_ms: edges.at(-1) ?? 0 };
}

/**
 * The filter of a question that reaches back to removed events; undefined for any other.
 * Errors: invalid when what was kept of them can't answer it.
 */
function keptFilter({ known: { companies } }: Recovery, wanted: SeriesQuery): EventFilter | undefined {
  const filter = filterOf(wanted);
  if (!companies.reachBeyond(filter)) return undefined;
  const { company_id } = wanted;
  // Removed events came no later, so that a bound which excludes none may cut an hour.
  const range = companies.rangeOf(company_id);
  const reduced = unbound(filter, range);
  checkKept(reduced, {
    edges: wanted.edges,
    is_by_metadata: wanted.group_by.some(({ by }) => by === "metadata"),
    first_ms: range.min_timestamp,
    since_ms: companies.sinceOf(company_id),
  });
  return reduced;
}

/** What the rows are added up from. */
function sourceOf(
  wanted: SeriesQuery,
  filter: EventFilter,
  has_few: boolean,
  summed: Summed | undefined,
): SeriesSource {
  const cuts = cutsOf(wanted, filter);
  if (!arePreferred(filter, has_few)) return { kind: "events" };
  const is_whole = wanted.group_by.length === 0 && isByTime(filter) && !countsSubscriptions(wanted);
  if (is_whole && cuts.hold_hours) return { kind: "hours" };
  const rows = groupRowsOf({ ...filter, group_by: kindsOf(wanted) }, cuts, summed);
  return rows === undefined ? { kind: "events" } : { kind: "groups", rows };
}

function cutsOf({ edges }: SeriesQuery, { start_ms, end_ms }: EventFilter): Cuts {
  const inner = edges.slice(1, -1);
  return {
    hold_hours: inner.every((edge) => edge % HOUR_MS === 0),
    edges: [start_ms ?? Number.NEGATIVE_INFINITY, ...inner, end_ms ?? Number.POSITIVE_INFINITY],
  };
}

/** What the rows are by, but for their time. */
function kindsOf(wanted: SeriesQuery): SummedQuery["group_by"] {
  const kinds = wanted.group_by.map(
    (grouping): GroupKind => (grouping.by === "metadata" ? `metadata:${grouping.key}` : "subscription"),
  );
  return countsSubscriptions(wanted) ? [...kinds, "subscription"] : kinds;
}

/** Counts a question that sums would have answered, had they been there. */
function countMissing(
  group_sums: GroupSums,
  wanted: SeriesQuery,
  found: SeriesResult | undefined,
  companies: Companies,
): boolean {
  if (found === undefined) return false;
  const filter = filterOf(wanted);
  const within = companies.eventsWithin(filter);
  const events = eventsRead(filter, { found: found.total.events, within });
  const asked = { ...filter, group_by: kindsOf(wanted) };
  const findAsked = (reads_many: boolean) =>
    askedSums(asked, cutsOf(wanted, filter), group_sums.summed, reads_many);
  group_sums.countQuery(wanted.company_id, findAsked, events);
  return group_sums.is_wanted;
}

async function answer(
  connection: DuckDBConnection,
  wanted: SeriesQuery,
  filter: EventFilter,
  source: SeriesSource,
): Promise<SeriesResult> {
  const parameters = new Parameters();
  const rows = rowsSql(wanted, filter, source, parameters);
  const sql = `WITH series_rows AS MATERIALIZED (${rows}) ${answerSql(wanted, "series_rows", parameters)}`;
  return read(connection, wanted, sql, parameters);
}

interface Line extends SeriesLine {
  buckets: Map<number, Decimal>;
}

/** Reads what `answerSql` finds. */
async function read(
  connection: DuckDBConnection,
  wanted: SeriesQuery,
  sql: string,
  parameters: Parameters,
): Promise<SeriesResult> {
  const { group_by, only, measure, top } = wanted;
  const nothing = isCount(measure) ? "0" : null;
  const lines = new Map<number, Line>();
  const lineOf = (place: number): Line => {
    const known = lines.get(place);
    if (known !== undefined) return known;
    const made: Line = { keys: only?.[place - 1] ?? [], value: nothing, events: 0, buckets: new Map() };
    lines.set(place, made);
    return made;
  };
  let [read_rows, group_count] = [0, 0];
  await queryMany(connection, sql, parameters, ([place, bucket, value, events, counted, groups, ...keys]) => {
    const line = lineOf(place === null ? 0 : asNumber(place));
    const measured = valueOf(measure, value);
    if (bucket !== null) {
      if (measured !== null) line.buckets.set(asNumber(bucket), measured);
      return;
    }
    line.value = measured ?? nothing;
    line.events = asNumber(events);
    if (only === undefined) line.keys = keys.map(keyOf);
    if (place !== null) return;
    line.keys = [];
    read_rows = counted === null ? 0 : asNumber(counted);
    group_count = asNumber(groups);
  });
  const places = group_by.length === 0 ? 0 : (only?.length ?? Math.min(top, group_count));
  const other = group_by.length === 0 ? undefined : lines.get((only?.length ?? top) + 1);
  return {
    groups: Array.from({ length: places }, (_, i) => lineOf(i + 1)),
    other: other === undefined ? null : { ...other, keys: [] },
    total: lineOf(0),
    group_count,
    read: read_rows,
  };
}

const isCount = (measure: SeriesQuery["measure"]) =>
  measure === "units" || measure === "events" || measure === "active_subscriptions";

function valueOf(measure: SeriesQuery["measure"], value: DuckDBValue | undefined): Decimal | null {
  if (value === null || value === undefined) return null;
  if (measure === "events" || measure === "active_subscriptions") return asText(value);
  return asDecimal(measure === "mean" ? decimalSql(BigInt(asText(value))) : value);
}

function keyOf(key: DuckDBValue): SeriesKey {
  if (key === null) return null;
  return typeof key === "string" ? key : asNumber(key);
}
