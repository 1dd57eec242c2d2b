import type { EventFilter } from "../../port.ts";
import { type Counts, cutSpans, SECOND_MS, type Span } from "../../query/spans.ts";
import type { SeriesFrame, SeriesQuery } from "../../series.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { asNumber, integer } from "../engine/sql.ts";
import type { Source } from "./aggregate.ts";
import { HOUR, whereSql } from "./filters.ts";
import { filterOf, series } from "./series.ts";

/**
 * A series frame by frame. Each is asked for anew: to keep what was read of one would be to keep all of its groups.
 * `sourceOf` has the events of a filter, of one instant.
 */
export async function* seriesFrames(
  engine: ClickHouse,
  wanted: SeriesQuery,
  { slice_events, sourceOf }: { slice_events: number; sourceOf: (filter: EventFilter) => Source },
  bounds: Bounds,
): AsyncGenerator<SeriesFrame> {
  const filter = filterOf(wanted);
  for (const { start_ms } of await spansOf(engine, filter, slice_events, bounds)) {
    const result = await series(engine, wanted, sourceOf({ ...filter, start_ms }), bounds);
    yield { from_ms: start_ms, result };
  }
}

/** Cuts a company's time into spans, the newest first, of at most `max_events` events each, unless one second has more. */
function spansOf(
  engine: ClickHouse,
  { company_id, start_ms, end_ms }: Span & { company_id: number },
  max_events: number,
  bounds: Bounds,
): Promise<Span[]> {
  const counts = async (unit: string, where: string): Promise<Counts> => {
    const rows = await engine.ask(
      `SELECT ${unit} AS unit, count() AS events FROM usage_events WHERE ${where} GROUP BY unit ORDER BY unit DESC`,
      bounds,
    );
    return rows.map(([number, events]) => [asNumber(number), asNumber(events)]);
  };
  const [first, last] = [Math.floor(start_ms / HOUR_MS), Math.ceil(end_ms / HOUR_MS)];
  const hours = counts(
    HOUR,
    `company_id = ${integer(company_id)} AND ${HOUR} >= ${integer(first)} AND ${HOUR} < ${integer(last)}`,
  );
  return hours.then((found) =>
    cutSpans({ start_ms, end_ms }, max_events, found, (hour) =>
      counts(`intDiv(timestamp, ${SECOND_MS})`, whereSql({ company_id, ...hour })),
    ),
  );
}
