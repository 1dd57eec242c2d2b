import type { DuckDBConnection } from "@duckdb/node-api";
import { DAY_MS } from "../../time_buckets.ts";
import { asNumber, query } from "../engine/sql.ts";

/** A part of the sorted events: from one company and instant (inclusive) to another (exclusive). */
interface Slice {
  from: Place;
  until: Place;
}

interface Place {
  company_id: number;
  timestamp: number;
}

/**
 * Cuts the events of short segments into slices of about `move_rows`, in order, at days of a company; a larger day is
 * one slice. Computed in SQL: there may be millions of days.
 */
export async function segmentSlices(connection: DuckDBConnection, move_rows: number): Promise<Slice[]> {
  const cuts = await query(
    connection,
    `WITH days AS (SELECT company_id, timestamp // ${DAY_MS} AS day, count(*) AS events
        FROM usage_runs GROUP BY ALL),
      placed AS (SELECT *, sum(events) OVER in_order - events AS before FROM days
        WINDOW in_order AS (ORDER BY company_id, day ROWS UNBOUNDED PRECEDING)),
      cut AS (SELECT *, lag(before // ${move_rows}, 1, 0) OVER (ORDER BY company_id, day) AS slice_before FROM placed)
    SELECT company_id, day FROM cut
    WHERE before > 0 AND (before // ${move_rows} > slice_before OR events > ${move_rows}) ORDER BY ALL`,
  );
  const slices: Slice[] = [];
  let from: Place = { company_id: 0, timestamp: 0 };
  for (const cut of cuts) {
    const [company_id = 0, day = 0] = cut.map(asNumber);
    const until = { company_id, timestamp: day * DAY_MS };
    slices.push({ from, until });
    from = until;
  }
  const beyond = { company_id: 2 ** 31 - 1, timestamp: Number.MAX_SAFE_INTEGER };
  return [...slices, { from, until: beyond }];
}
