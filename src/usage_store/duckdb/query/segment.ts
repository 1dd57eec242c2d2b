import type { DuckDBConnection } from "@duckdb/node-api";
import type { SegmentRange, WrittenSegment } from "../../port.ts";
import { asNumber, Parameters, query, quoteText } from "../engine/sql.ts";
import { EVENT_COLUMNS } from "../engine/schema.ts";

/** A limit is kept to about one in so many: numbers are counted by as many blocks. */
const BLOCKS = 64;

/** Writes a segment to a Parquet file; see `UsageStore.exportSegment`. */
export async function exportSegment(
  connection: DuckDBConnection,
  path: string,
  range: SegmentRange,
): Promise<WrittenSegment> {
  const to = await endOf(connection, range);
  const parameters = new Parameters();
  const [[events] = []] = await query(
    connection,
    `COPY (SELECT ${Object.keys(EVENT_COLUMNS).join(", ")} FROM usage_events
      WHERE seq > ${parameters.integer(range.from)} AND seq <= ${parameters.integer(to)} ORDER BY seq)
    TO ${quoteText(path)} (FORMAT parquet, COMPRESSION zstd)`,
  );
  return { to, events: asNumber(events) };
}

/**
 * The number up to which a segment goes. Events mostly have a number each, without gaps, but those that came from
 * ClickHouse share them by commit, and skip many.
 */
async function endOf(connection: DuckDBConnection, { from, to, limit }: SegmentRange): Promise<number> {
  if (limit === undefined || to - from <= limit) return to;
  const width = Math.ceil(limit / BLOCKS);
  const [[last] = []] = await query(
    connection,
    `WITH block AS (
      SELECT (seq - ${from} - 1) // ${width} AS number, count(*) AS events FROM usage_events
      WHERE seq > ${from} AND seq <= ${to} GROUP BY number),
    counted AS (SELECT number, sum(events) OVER (ORDER BY number) AS events FROM block)
    SELECT min(number) FROM counted WHERE events >= ${limit}`,
  );
  return last === null || last === undefined ? to : Math.min(from + (asNumber(last) + 1) * width, to);
}
