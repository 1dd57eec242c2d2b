import { Measuring } from "../../measure/measuring.ts";
import { type Measured, type MeasureQuery, readFrom, useOf } from "../../meter.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { integer } from "../engine/sql.ts";
import { subscriptionSql } from "./filters.ts";
import { eachEvent } from "./numbered_events.ts";

/** Measures all windows. The events are read one by one, and what meters read of each by the rules of no engine. */
export async function measure(
  engine: ClickHouse,
  wanted: MeasureQuery,
  bounds: Bounds,
): Promise<Measured[][]> {
  const measuring = new Measuring(wanted);
  if (wanted.windows.length === 0) return measuring.results();
  const { company_id, windows, created_until_ms, last_seq } = wanted;
  const from_ms = windows.map((window) => readFrom(useOf(wanted, window).meter, window));
  const conditions = [
    `company_id = ${integer(company_id)}`,
    `timestamp >= ${integer(from_ms.reduce((a, b) => Math.min(a, b)))}`,
    `timestamp < ${integer(windows.reduce((latest, { end_ms }) => Math.max(latest, end_ms), 0))}`,
    subscriptionSql([...new Set(windows.map(({ subscription_id }) => subscription_id))]),
    ...(created_until_ms === undefined ? [] : [`created_at < ${integer(created_until_ms)}`]),
    ...(last_seq === undefined ? [] : [`seq <= ${integer(last_seq)}`]),
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
