import { type DuckDBConnection, DuckDBDecimalValue, type DuckDBValue } from "@duckdb/node-api";
import { fingerprint, readStoredId } from "./append_request.ts";
import type { FingerprintIndex } from "./fingerprints.ts";
import type { SipHash } from "./siphash.ts";
import { asNumber, asText, asUuid, Parameters, query } from "./sql.ts";

/** What the content of a repeated event is compared with. */
export interface StoredRow {
  company_id: number;
  id: string;
  subscription_id: number;
  timestamp: number;
  millionths: bigint;
  metadata: string | null;
}

/** The rows with these sequence numbers, by number. Numbers without a row are left out. */
export async function findRows(
  connection: DuckDBConnection,
  seqs: readonly number[],
): Promise<Map<number, StoredRow>> {
  if (seqs.length === 0) return new Map();
  const parameters = new Parameters();
  const sql = `SELECT seq, company_id, id, subscription_id, timestamp, usage, metadata FROM usage_events
    WHERE seq IN (SELECT unnest(${parameters.integers(seqs)}))`;
  const rows = await query(connection, sql, parameters);
  return new Map(rows.map((row) => [asNumber(row[0]), toStoredRow(row)]));
}

/** What the store knows of its rows when it opens. */
export interface Inventory {
  last_seq: number;
  /** The smallest and the largest timestamp; the smallest is above the largest when there is no row. */
  min_timestamp: number;
  max_timestamp: number;
}

/** Reads the keys of all rows, chunk by chunk, into `index`. */
export async function takeInventory(
  connection: DuckDBConnection,
  index: FingerprintIndex,
  hash: SipHash,
): Promise<Inventory> {
  const halves = new BigUint64Array(2);
  const words = new Uint32Array(halves.buffer);
  // As a double, exact up to 2^53, seq needs no bigint a row.
  const result = await connection.stream("SELECT seq::DOUBLE, company_id, id FROM usage_events");
  for await (const chunk of result) {
    const [seqs, companies, ids] = [0, 1, 2].map((column) => chunk.getColumnVector(column));
    const { rowCount } = chunk;
    for (let row = 0; row < rowCount; row++) {
      readStoredId(asUuid(ids?.getItem(row)), halves, words);
      fingerprint(hash, asNumber(companies?.getItem(row)), words, 0);
      index.add(hash.high, hash.low, asNumber(seqs?.getItem(row)));
    }
  }
  const sql = `SELECT coalesce(max(seq), 0), coalesce(min(timestamp), ${Number.MAX_SAFE_INTEGER}),
    coalesce(max(timestamp), -1) FROM usage_events`;
  const [last_seq, min_timestamp, max_timestamp] = ((await query(connection, sql))[0] ?? []).map(asNumber);
  if (last_seq === undefined || min_timestamp === undefined || max_timestamp === undefined) {
    throw new Error("Cannot read the extent of the usage store: the query gave no row");
  }
  return { last_seq, min_timestamp, max_timestamp };
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
