import { beforeEvents, notKept } from "../../closed_usage.ts";
import {
  type AggregateQuery,
  type AggregateRow,
  type EventFilter,
  metadataKeyOf,
  type UsageWindow,
  type WindowSum,
} from "../../port.ts";
import { checkKept, joinGroups } from "../../query/check_kept.ts";
import { unbound } from "../../query/time_range.ts";
import type { SeriesQuery } from "../../series.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import { spanOf } from "../../windows.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { asDecimal, asNumber, integer } from "../engine/sql.ts";
import { keptWhereSql, type RemovedRange } from "../maintain/removals.ts";
import { holdHours, isTime, type Source, SUMS_OF_SUMS, sumGroups, EVENT_SUMS } from "./aggregate.ts";
import { subscriptionSql, whereSql } from "./filters.ts";
import { filterOf } from "./series.ts";
import { windowsSql } from "./totals.ts";

// Questions that reach back to events that were removed. What was kept of these are sums by subscription and hour.

/** The filter of a question without the bounds of time that exclude nothing. */
async function reducedOf<Q extends EventFilter>(
  engine: ClickHouse,
  wanted: Q,
  removed: RemovedRange,
  bounds: Bounds,
): Promise<{ reduced: Q; last_ms: number }> {
  const [[latest = 0] = []] = await engine.ask(
    `SELECT timestamp FROM usage_events WHERE company_id = ${integer(wanted.company_id)}
    ORDER BY company_id DESC, timestamp DESC LIMIT 1`,
    bounds,
  );
  const last_ms = Math.max(asNumber(latest), removed.last_ms);
  return { reduced: unbound(wanted, { min_timestamp: removed.first_ms, max_timestamp: last_ms }), last_ms };
}

/** Sums the events and what was kept of the removed ones. Errors: invalid when what was kept can't answer it. */
export async function aggregateWithKept(
  engine: ClickHouse,
  wanted: AggregateQuery,
  removed: RemovedRange,
  bounds: Bounds,
): Promise<AggregateRow[]> {
  const { reduced, last_ms } = await reducedOf(engine, wanted, removed, bounds);
  const { since_ms, removed_ms, first_ms } = removed;
  checkKept(reduced, {
    edges: [reduced.start_ms ?? 0, reduced.end_ms ?? since_ms],
    is_by_metadata: reduced.group_by.some((kind) => metadataKeyOf(kind) !== undefined),
    first_ms,
    since_ms,
  });
  const whole_ms = first_ms - (first_ms % HOUR_MS);
  const timed = { ...reduced, start_ms: reduced.start_ms ?? whole_ms, end_ms: reduced.end_ms ?? last_ms + 1 };
  if (wanted.group_by.some(isTime) && !holdHours(timed)) throw notKept(since_ms, "by whole hours of UTC");
  const kept = await sumGroups(engine, timed, keptSource(reduced, removed_ms), bounds);
  const from_ms = Math.max(timed.start_ms, removed_ms);
  const from = `usage_events WHERE ${whereSql({ ...reduced, start_ms: from_ms })}`;
  const rows = await sumGroups(engine, timed, { from, at: "timestamp", sums: EVENT_SUMS }, bounds);
  return joinGroups([...kept, ...rows], wanted.max_groups);
}

function keptSource(filter: EventFilter, removed_ms: number): Source {
  return {
    from: `usage_kept_hours WHERE ${keptSql(filter, removed_ms)}`,
    at: `toInt64(hour) * ${HOUR_MS}`,
    sums: SUMS_OF_SUMS,
  };
}

function keptSql(
  { company_id, subscription_ids, start_ms, end_ms }: EventFilter,
  removed_ms: number,
): string {
  return [
    keptWhereSql(company_id, removed_ms),
    ...(subscription_ids === undefined ? [] : [subscriptionSql(subscription_ids)]),
    ...(start_ms === undefined ? [] : [`hour >= ${integer(Math.ceil(start_ms / HOUR_MS))}`]),
    ...(end_ms === undefined ? [] : [`hour < ${integer(Math.floor(end_ms / HOUR_MS))}`]),
  ].join(" AND ");
}

/** What a series is added up from that reaches back. Errors: invalid when what was kept can't answer it. */
export async function seriesSourceWithKept(
  engine: ClickHouse,
  wanted: SeriesQuery,
  removed: RemovedRange,
  bounds: Bounds,
): Promise<Source> {
  const { since_ms, removed_ms, first_ms } = removed;
  const { reduced } = await reducedOf(engine, filterOf(wanted), removed, bounds);
  const is_by_metadata = wanted.group_by.some(({ by }) => by === "metadata");
  checkKept(reduced, { edges: wanted.edges, is_by_metadata, first_ms, since_ms });
  const from_ms = Math.max(reduced.start_ms ?? 0, removed_ms);
  const events = `SELECT timestamp AS at, subscription_id, toDecimal128(usage, 6) AS total, toUInt64(1) AS events, usage AS low,
    usage AS high FROM usage_events WHERE ${whereSql({ ...reduced, start_ms: from_ms })}`;
  // An edge may lie in the hour of the first event, before it.
  const at = `toInt64(greatest(toInt64(hour) * ${HOUR_MS}, ${integer(first_ms)}))`;
  const kept = `SELECT ${at} AS at, subscription_id, total, events, low, high FROM usage_kept_hours
    WHERE ${keptSql(reduced, removed_ms)}`;
  return { from: `(${events} UNION ALL ${kept})`, at: "at", sums: SUMS_OF_SUMS };
}

/** The sums of windows that reach back. Errors: conflict when a window cuts an hour of removed events. */
export async function sumsWithKept(
  engine: ClickHouse,
  company_id: number,
  windows: readonly UsageWindow[],
  { since_ms, removed_ms }: RemovedRange,
  bounds: Bounds,
): Promise<WindowSum[]> {
  const cut = windows.find(({ start_ms, end_ms }) =>
    [start_ms, end_ms].some((ms) => ms < since_ms && ms % HOUR_MS !== 0),
  );
  if (cut) throw beforeEvents(since_ms);
  const { start_ms, end_ms } = spanOf(windows);
  const from_ms = Math.max(start_ms, removed_ms);
  const events = `SELECT toInt64(subscription_id) AS subscription_id, timestamp AS at, toDecimal128(usage, 6) AS total,
    toUInt64(1) AS events, toUInt64(usage < 0) AS corrections FROM usage_events
    WHERE ${whereSql({ company_id, start_ms: from_ms, end_ms })}`;
  const kept = `SELECT toInt64(subscription_id) AS subscription_id, toInt64(hour) * ${HOUR_MS} AS at, total, events,
    corrections FROM usage_kept_hours WHERE ${keptSql({ company_id, start_ms, end_ms }, removed_ms)}`;
  const found = windows.map((): WindowSum => ({ units: "0", event_count: 0, corrections: 0 }));
  const rows = await engine.ask(
    `SELECT position, sum(total), sum(events), sum(corrections)
    FROM (${events} UNION ALL ${kept}) AS row JOIN (${windowsSql(windows)}) AS window
      ON row.subscription_id = window.subscription_id
    WHERE at >= start_ms AND at < end_ms GROUP BY position`,
    bounds,
  );
  for (const [position, units, event_count, corrections] of rows)
    found[asNumber(position)] = {
      units: asDecimal(units),
      event_count: asNumber(event_count),
      corrections: asNumber(corrections),
    };
  return found;
}
