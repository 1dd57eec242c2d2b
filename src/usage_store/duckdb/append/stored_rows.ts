import { type DuckDBConnection, DuckDBDecimalValue, type DuckDBValue } from "@duckdb/node-api";
import { asNumber, asText, asUuid, Parameters, query } from "../engine/sql.ts";

/** A stored event, as repeats are compared with it. */
export interface StoredRow {
  company_id: number;
  id: string;
  subscription_id: number;
  timestamp: number;
  millionths: bigint;
  metadata: string | null;
}

/** A row that may be the same event: it has the fingerprint. */
export interface Candidate {
  company_id: number;
  seq: number;
  /** The timestamp of a row with the same content; undefined when it may have any. */
  timestamp: number | undefined;
}

/**
 * The candidates' rows, by sequence number; numbers without a row in their company are left out. A row is looked up at
 * its event's timestamp first, where a sorted segment has it in one block, and only then in all of the company.
 */
export async function findRows(
  connection: DuckDBConnection,
  candidates: readonly Candidate[],
): Promise<Map<number, StoredRow>> {
  const found = new Map<number, StoredRow>();
  for (const of_company of Map.groupBy(candidates, ({ company_id }) => company_id).values()) {
    const at_timestamp = of_company.filter(({ timestamp }) => timestamp !== undefined);
    await findOfCompany(connection, at_timestamp, true, found);
    const missing = of_company.filter(({ seq }) => !found.has(seq));
    await findOfCompany(connection, missing, false, found);
  }
  return found;
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
    `seq IN (SELECT unnest(${parameters.integers(candidates.map(({ seq }) => seq))}))`,
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
