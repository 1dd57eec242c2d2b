import { tooManyGroups } from "../../aggregate_rows.ts";
import { NO_DIGEST } from "../../digest.ts";
import { Measuring } from "../../measure/measuring.ts";
import {
  type Measured,
  type MeasureQuery,
  type MeterUse,
  type MeterWindow,
  readFrom,
  useOf,
} from "../../meter.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { integer } from "../engine/sql.ts";
import { subscriptionSql } from "./filters.ts";
import { eachEvent } from "./numbered_events.ts";
import { storedSql, sums, totals } from "./totals.ts";

/**
 * Measures all windows. Plain sums are added up by the engine. Of other meters the events are read one by one, and what
 * they read of each by the rules of no engine.
 */
export async function measure(
  engine: ClickHouse,
  wanted: MeasureQuery,
  bounds: Bounds,
): Promise<Measured[][]> {
  const places = wanted.windows.map((window, place) => ({ window, place }));
  const { plain = [], metered = [] } = Object.groupBy(places, ({ window }) =>
    isPlain(useOf(wanted, window)) ? "plain" : "metered",
  );
  const windowsOf = (some: typeof places) => some.map(({ window }) => window);
  const found: Measured[][] = wanted.windows.map(() => []);
  const summed = await sumPlain(engine, wanted, windowsOf(plain), bounds);
  for (const [i, { place }] of plain.entries()) found[place] = summed[i] ?? [];
  const read = await readMetered(engine, { ...wanted, windows: windowsOf(metered) }, bounds);
  for (const [i, { place }] of metered.entries()) found[place] = read[i] ?? [];
  if (found.reduce((sum, { length }) => sum + length, 0) > wanted.max_parts)
    throw tooManyGroups(wanted.max_parts);
  return found;
}

/** Whether a use is the sum of all usage, undivided. */
function isPlain({ meter, parts, except = [] }: MeterUse): boolean {
  const { aggregation, value, filters } = meter;
  const [term, ...others] = value;
  const is_usage = term?.key === "usage" && term.times === "1" && others.length === 0;
  const is_whole = "matches" in parts && parts.matches.length === 0;
  return aggregation === "sum" && is_usage && filters.length === 0 && is_whole && except.length === 0;
}

async function sumPlain(
  engine: ClickHouse,
  { company_id, created_until_ms, last_seq, without_digests = false }: MeasureQuery,
  windows: readonly MeterWindow[],
  bounds: Bounds,
): Promise<Measured[][]> {
  const stored_by = { created_until_ms, last_seq };
  const found = without_digests
    ? (await sums(engine, company_id, windows, bounds, stored_by)).map((sum) => ({
        ...sum,
        digest: NO_DIGEST,
      }))
    : await totals(engine, company_id, windows, stored_by, bounds);
  return found.map(({ units, event_count, corrections, digest }) =>
    event_count === 0
      ? []
      : [{ part: -1, quantity: units, event_count, skipped_events: 0, corrections, digest }],
  );
}

async function readMetered(engine: ClickHouse, wanted: MeasureQuery, bounds: Bounds): Promise<Measured[][]> {
  const measuring = new Measuring(wanted);
  if (wanted.windows.length === 0) return measuring.results();
  const { company_id, windows } = wanted;
  const from_ms = windows.map((window) => readFrom(useOf(wanted, window).meter, window));
  const conditions = [
    `company_id = ${integer(company_id)}`,
    `timestamp >= ${integer(from_ms.reduce((a, b) => Math.min(a, b)))}`,
    `timestamp < ${integer(windows.reduce((latest, { end_ms }) => Math.max(latest, end_ms), 0))}`,
    subscriptionSql([...new Set(windows.map(({ subscription_id }) => subscription_id))]),
    storedSql(wanted),
  ];
  await eachEvent(
    engine,
    conditions.join(" AND "),
    () => true,
    (event) => measuring.add(event),
    bounds,
  );
  return measuring.results();
}
