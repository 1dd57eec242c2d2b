import type { EventFilter } from "../../port.ts";
import { DAY_MS, HOUR_MS } from "../../time_buckets.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { asNumber, integer } from "../engine/sql.ts";
import { HOUR } from "./filters.ts";

/** From the hour of a company's first event to that of its last, whole hours; undefined where there is none. */
export async function rangeOf(
  engine: ClickHouse,
  company_id: number,
  bounds: Bounds,
): Promise<{ start_ms: number; end_ms: number } | undefined> {
  const [[events = 0, first = 0, last = 0] = []] = await engine.ask(
    `SELECT sum(events), min(hour), max(hour) FROM (
      SELECT ${HOUR} AS hour, count() AS events FROM usage_events WHERE company_id = ${integer(company_id)}
      GROUP BY company_id, hour)`,
    bounds,
  );
  if (asNumber(events) === 0) return undefined;
  return { start_ms: asNumber(first) * HOUR_MS, end_ms: (asNumber(last) + 1) * HOUR_MS };
}

/** So long a time has few rules of its zone. */
const SHORT_MS = 3_660 * DAY_MS;

/**
 * The query with both bounds of time: its own where they are near to one another, else those within which its company
 * has events. Undefined where it has none. What is stored beyond them meanwhile comes too late for it.
 */
export async function timesOf<Q extends EventFilter>(
  engine: ClickHouse,
  wanted: Q,
  bounds: Bounds,
): Promise<(Q & { start_ms: number; end_ms: number }) | undefined> {
  if (isShort(wanted)) return wanted.start_ms < wanted.end_ms ? wanted : undefined;
  const range = await rangeOf(engine, wanted.company_id, bounds);
  if (range === undefined) return undefined;
  const start_ms = Math.max(wanted.start_ms ?? 0, range.start_ms);
  const end_ms = Math.min(wanted.end_ms ?? range.end_ms, range.end_ms);
  return start_ms < end_ms ? { ...wanted, start_ms, end_ms } : undefined;
}

function isShort<Q extends EventFilter>(wanted: Q): wanted is Q & { start_ms: number; end_ms: number } {
  const { start_ms, end_ms } = wanted;
  return start_ms !== undefined && end_ms !== undefined && start_ms >= 0 && end_ms - start_ms <= SHORT_MS;
}
