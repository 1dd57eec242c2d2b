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
  const inventory = { last_seq: 0, min_timestamp: Number.POSITIVE_INFINITY, max_timestamp: -1 };
  const halves = new BigUint64Array(2);
  const words = new Uint32Array(halves.buffer);
  const result = await connection.stream("SELECT seq, company_id, id, timestamp FROM usage_events");
  for await (const chunk of result) {
    const [seqs, companies, ids, timestamps] = [0, 1, 2, 3].map((column) => chunk.getColumnVector(column));
    for (let row = 0; row < chunk.rowCount; row++) {
      const seq = asNumber(seqs?.getItem(row));
      const timestamp = asNumber(timestamps?.getItem(row));
      readStoredId(asUuid(ids?.getItem(row)), halves);
      fingerprint(hash, asNumber(companies?.getItem(row)), words);
      index.add(hash.high, hash.low, seq);
      if (seq > inventory.last_seq) inventory.last_seq = seq;
      if (timestamp < inventory.min_timestamp) inventory.min_timestamp = timestamp;
      if (timestamp > inventory.max_timestamp) inventory.max_timestamp = timestamp;
    }
  }
  return inventory;
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
