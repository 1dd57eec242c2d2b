import { type DuckDBConnection, DuckDBDecimalValue, type DuckDBValue } from "@duckdb/node-api";
import type { Candidate, StoredRow } from "../../append/deduplicate.ts";
import { asNumber, asText, asUuid, Parameters, query } from "../engine/sql.ts";

/**
 * The candidates' rows, whose numbers the index knows; numbers without a row in their company are left out. A row is
 * looked up at its event's timestamp first, where a sorted segment has it in one block, and only then in all of the
 * company.
 */
export async function findRows(
  connection: DuckDBConnection,
  candidates: readonly Candidate[],
): Promise<StoredRow[]> {
  const found = new Map<number, StoredRow>();
  for (const of_company of Map.groupBy(candidates, ({ company_id }) => company_id).values()) {
    const at_timestamp = of_company.filter(({ timestamp }) => timestamp !== undefined);
    await findOfCompany(connection, at_timestamp, true, found);
    const missing = of_company.filter(({ entry }) => !found.has(entry));
    await findOfCompany(connection, missing, false, found);
  }
  return [...found.values()];
}

/** Adds the rows of one company's candidates to `found`. */
async function findOfCompany(
  connection: DuckDBConnection,
  candidates: readonly Candidate[],
  at_timestamp: boolean,
  found: Map<number, StoredRow>,
): Promise<void> {
  const [first] = candidates;
  if (first === undefined) return;
  const parameters = new Parameters();
  const conditions = [
    `company_id = ${parameters.integer(first.company_id)}`,
    `seq IN (SELECT unnest(${parameters.integers(candidates.map(({ entry }) => entry))}))`,
  ];
  if (at_timestamp) {
    const timestamps = candidates.map(({ timestamp = 0 }) => timestamp);
    const { min, max } = rangeOf(timestamps);
    conditions.push(`timestamp BETWEEN ${parameters.integer(min)} AND ${parameters.integer(max)}`);
  }
  const sql = `SELECT seq, company_id, id, subscription_id, timestamp, usage, metadata FROM usage_events
    WHERE ${conditions.join(" AND ")}`;
  for (const row of await query(connection, sql, parameters)) found.set(asNumber(row[0]), toStoredRow(row));
}

function rangeOf(numbers: readonly number[]): { min: number; max: number } {
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const number of numbers) {
    min = Math.min(min, number);
    max = Math.max(max, number);
  }
  return { min, max };
}

function toStoredRow(row: DuckDBValue[]): StoredRow {
  const [, company_id, id, subscription_id, timestamp, usage, metadata] = row;
  if (!(usage instanceof DuckDBDecimalValue)) throw new TypeError("Cannot read a usage: it is no decimal");
  return {
    company_id: asNumber(company_id),
    id: asUuid(id).toString(),
    subscription_id: asNumber(subscription_id),
    timestamp: asNumber(timestamp),
    millionths: usage.value,
    metadata: metadata === null ? null : asText(metadata),
  };
}
