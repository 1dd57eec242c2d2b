import type { DuckDBConnection } from "@duckdb/node-api";
import type { MonthDigest } from "../../port.ts";
import { asBigInt, asDecimal, asNumber, asText, query } from "../engine/sql.ts";
import { digestSums } from "./totals.ts";
import { digestOf } from "../../digest.ts";

/** The digests of all events with a number up to `last_seq`, by company and month. */
export async function monthDigests(connection: DuckDBConnection, last_seq: number): Promise<MonthDigest[]> {
  const rows = await query(
    connection,
    `WITH matched AS (
      SELECT company_id, strftime(make_timestamp(timestamp * 1000), '%Y-%m') AS month, usage,
        md5_number(id::VARCHAR || '|' || timestamp::VARCHAR || '|' || usage::VARCHAR) AS md5
      FROM usage_events WHERE seq <= ${last_seq})
    SELECT company_id, month, count(*), sum(usage)::VARCHAR,
      ${digestSums().first}, ${digestSums().second}
    FROM matched GROUP BY company_id, month ORDER BY company_id, month`,
  );
  return rows.map(([company_id, month, events, units, first, second]) => ({
    company_id: asNumber(company_id),
    month: asText(month),
    events: asNumber(events),
    units: asDecimal(units),
    digest: digestOf(asBigInt(first), asBigInt(second)),
  }));
}
