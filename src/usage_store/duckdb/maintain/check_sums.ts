import type { DuckDBConnection } from "@duckdb/node-api";
import { ADDED_SUMS, checkHours } from "../append/hour_sums.ts";
import type { SumsCheck } from "../../port.ts";
import { groupsOf, kindOf } from "../query/sums_kind.ts";
import { summedSql } from "./group_sums.ts";
import { asNumber, asText, Parameters, query } from "../engine/sql.ts";

/** Compares all sums with their events; `connection` is in a transaction, so that both are of one instant. */
export async function checkSums(connection: DuckDBConnection, company_id: number | null): Promise<SumsCheck> {
  const { different, ...hours } = await checkHours(connection, company_id);
  const where = company_id === null ? "true" : `company_id = ${company_id}`;
  const names = await query(
    connection,
    `SELECT DISTINCT name FROM (SELECT company_id, name FROM usage_group_summed UNION ALL
      SELECT company_id, name FROM usage_group_sums) WHERE ${where}`,
  );
  let more = 0;
  for (const [name] of names) more += await countDifferent(connection, asText(name), where);
  return { ...hours, different: different + more };
}

/** The number of sums of this name that are not those of their events. */
async function countDifferent(connection: DuckDBConnection, name: string, where: string): Promise<number> {
  const parameters = new Parameters();
  const kind = kindOf(name);
  const named = `name = ${parameters.text(name)}`;
  const summed = `(SELECT company_id FROM usage_group_summed WHERE ${named})`;
  const until = `(SELECT max(seq) FROM usage_group_summed)`;
  const raw = summedSql(kind, `${where} AND company_id IN ${summed} AND seq <= ${until}`, parameters);
  const groups = ["company_id", ...Object.keys(groupsOf(kind, new Parameters()))];
  const differ = ["total", "events", "low", "high"].map((sum) => `sums.${sum} IS DISTINCT FROM raw.${sum}`);
  const [[different] = []] = await query(
    connection,
    `WITH raw AS (${raw}), sums AS (
      SELECT ${groups.join(", ")}, ${ADDED_SUMS} FROM usage_group_sums WHERE ${named} AND ${where} GROUP BY ALL)
    SELECT count(*) FILTER (${differ.join(" OR ")})
    FROM sums FULL JOIN raw USING (${groups.join(", ")})`,
    parameters,
  );
  return asNumber(different);
}
