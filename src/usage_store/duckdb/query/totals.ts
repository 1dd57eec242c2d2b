import type { DuckDBConnection } from "@duckdb/node-api";
import type { TotalsOptions, UsageWindow, WindowTotal } from "../../port.ts";
import { digestOf, NO_DIGEST } from "../../digest.ts";
import { whereSql } from "./filters.ts";
import { asBigInt, asDecimal, asNumber, Parameters, query } from "../engine/sql.ts";
import { windowsSql } from "./windows.ts";
import { spanOf } from "../../windows.ts";

/** The bounds of storage within which an event counts. */
type StoredBy = Omit<TotalsOptions, "timeout_ms">;

const LOW_HALF = 2n ** 64n - 1n;

/** SQL of the two sums of a digest, of events with a column of md5 numbers. */
export function digestSums(column = "md5"): { readonly first: string; readonly second: string } {
  return {
    first: `sum((${column} & ${LOW_HALF}::UHUGEINT)::UBIGINT)`,
    second: `sum((${column} >> 64)::UBIGINT)`,
  };
}

/** The totals of all windows by one join; see `WindowTotal` for the digest. */
export async function totals(
  connection: DuckDBConnection,
  company_id: number,
  windows: readonly UsageWindow[],
  stored_by: StoredBy,
): Promise<WindowTotal[]> {
  const result = windows.map(
    (): WindowTotal => ({ units: "0", event_count: 0, corrections: 0, digest: NO_DIGEST }),
  );
  if (windows.length === 0) return result;
  const parameters = new Parameters();
  for (const [position, units, events, corrections, first, second] of await query(
    connection,
    totalsSql(company_id, windows, stored_by, parameters),
    parameters,
  )) {
    result[asNumber(position)] = {
      units: asDecimal(units),
      event_count: asNumber(events),
      corrections: asNumber(corrections),
      digest: digestOf(asBigInt(first), asBigInt(second)),
    };
  }
  return result;
}

function totalsSql(
  company_id: number,
  windows: readonly UsageWindow[],
  { created_until_ms, last_seq }: StoredBy,
  parameters: Parameters,
): string {
  const created =
    created_until_ms === undefined ? "" : `AND created_at < ${parameters.integer(created_until_ms)}`;
  const numbered = last_seq === undefined ? "" : `AND seq <= ${parameters.integer(last_seq)}`;
  return `WITH windows AS (${windowsSql(windows, parameters)}),
    matched AS (
      SELECT position, usage,
        md5_number(id::VARCHAR || '|' || timestamp::VARCHAR || '|' || usage::VARCHAR) AS md5
      FROM usage_events JOIN windows USING (subscription_id)
      WHERE ${whereSql({ company_id, ...spanOf(windows) }, parameters)}
        AND timestamp >= start_ms AND timestamp < end_ms ${created} ${numbered})
    SELECT position, sum(usage)::VARCHAR, count(*), count(*) FILTER (usage < 0),
      ${digestSums().first}, ${digestSums().second}
    FROM matched GROUP BY position`;
}
