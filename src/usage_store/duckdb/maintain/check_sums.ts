import type { DuckDBConnection } from "@duckdb/node-api";
import { ADDED_SUMS, checkHours } from "../append/hour_sums.ts";
import type { SumsCheck } from "../../port.ts";
import { summedSql } from "./group_sums.ts";
import { asNumber, asText, Parameters, query } from "../engine/sql.ts";

/** Compares all sums with their events; `connection` is in a transaction, so that both are of one instant. */
export async function checkSums(connection: DuckDBConnection, company_id: number | null): Promise<SumsCheck> {
  const { different, ...hours } = await checkHours(connection, company_id);
  const where = company_id === null ? "true" : `company_id = ${company_id}`;
  const keys = await query(
    connection,
    `SELECT DISTINCT key FROM (SELECT company_id, key FROM usage_summed UNION ALL
      SELECT company_id, key FROM usage_group_hours) WHERE ${where}`,
  );
  let more = 0;
  for (const [key] of keys) more += await countDifferent(connection, asText(key), where);
  return { ...hours, different: different + more };
}

/** The number of groups and hours whose sums by this key are not those of their events. */
async function countDifferent(connection: DuckDBConnection, key: string, where: string): Promise<number> {
  const parameters = new Parameters();
  const name = parameters.text(key);
  const summed = `(SELECT company_id FROM usage_summed WHERE key = ${name})`;
  const until = `(SELECT max(seq) FROM usage_summed)`;
  const raw = summedSql({ key }, `${where} AND company_id IN ${summed} AND seq <= ${until}`, parameters);
  const differ = ["total", "events", "low", "high"].map((sum) => `sums.${sum} IS DISTINCT FROM raw.${sum}`);
  const [[different] = []] = await query(
    connection,
    `WITH raw AS (${raw}), sums AS (
      SELECT company_id, subscription_id, hour, value, ${ADDED_SUMS} FROM usage_group_hours
      WHERE key = ${name} AND ${where} GROUP BY ALL)
    SELECT count(*) FILTER (${differ.join(" OR ")})
    FROM sums FULL JOIN raw USING (company_id, subscription_id, hour, value)`,
    parameters,
  );
  return asNumber(different);
}
