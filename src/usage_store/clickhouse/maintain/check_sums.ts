import type { SumsCheck } from "../../port.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { asNumber, integer } from "../engine/sql.ts";
import { HOUR } from "../query/filters.ts";

/** How long making the sums anew may take. */
const REBUILDING_MS = 24 * 3_600_000;

const SUMS = "sum(usage) AS total, count() AS events, min(usage) AS low, max(usage) AS high";

/** Compares what the engine has of events by the hour with the events, by one statement: of one instant. */
export async function checkSums(
  engine: ClickHouse,
  company_id: number | null,
  bounds: Bounds,
): Promise<SumsCheck> {
  const where = company_id === null ? "company_id > 0" : `company_id = ${integer(company_id)}`;
  const hours = (
    projections: 0 | 1,
  ) => `SELECT company_id, ${HOUR} AS hour, ${SUMS} FROM usage_events WHERE ${where}
    GROUP BY company_id, hour SETTINGS optimize_use_projections = ${projections}`;
  const [[hour_count = 0, events = 0, different = 0] = []] = await engine.ask(
    `SELECT count(), sum(events), countIf(is_different) FROM (
      SELECT max(if(is_raw, events, 0)) AS events, count() != 2 OR uniqExact(total, events, low, high) != 1 AS is_different
      FROM (SELECT 1 AS is_raw, * FROM (${hours(0)}) UNION ALL SELECT 0 AS is_raw, * FROM (${hours(1)}))
      GROUP BY company_id, hour)`,
    bounds,
  );
  return { hours: asNumber(hour_count), events: asNumber(events), different: asNumber(different) };
}

/** Makes the sums by the hour anew, part by part. */
export async function rebuildSums(engine: ClickHouse): Promise<void> {
  const wait = { mutations_sync: "2" };
  await engine.run("ALTER TABLE usage_events CLEAR PROJECTION by_hour", REBUILDING_MS, wait);
  await engine.run("ALTER TABLE usage_events MATERIALIZE PROJECTION by_hour", REBUILDING_MS, wait);
}
