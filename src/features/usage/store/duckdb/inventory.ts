import type { DuckDBConnection } from "@duckdb/node-api";
import { HOUR_MS } from "../time_buckets.ts";
import { fingerprint, readStoredId } from "./append_request.ts";
import { readSnapshot, type SnapshotEnd, writeSnapshot } from "./fingerprint_snapshot.ts";
import { FingerprintIndex } from "./fingerprints.ts";
import { HOT_TABLES } from "./schema.ts";
import type { SipHash } from "./siphash.ts";
import { asNumber, asUuid, Parameters, query } from "./sql.ts";

/** What the store knows of its rows when it opens. */
export interface Inventory {
  last_seq: number;
  hot_rows: number;
  /** No timestamp is smaller or larger; the smallest is above the largest when there is no row. */
  min_timestamp: number;
  max_timestamp: number;
}

/** Counts what the tables hold. */
export async function takeInventory(connection: DuckDBConnection): Promise<Inventory> {
  // Of the hours' sums, which are fewer; the range is then up to an hour wider on both sides.
  const [row = []] = await query(
    connection,
    `SELECT coalesce(max(seq), 0), coalesce(min(hour), 1)::BIGINT * ${HOUR_MS},
      coalesce(max(hour) + 1, 0)::BIGINT * ${HOUR_MS},
      ${HOT_TABLES.map((table) => `(SELECT count(*) FROM ${table})`).join(" + ")} FROM usage_hours`,
  );
  const [last_seq = 0, min_timestamp = 0, max_timestamp = 0, hot_rows = 0] = row.map(asNumber);
  return { last_seq, min_timestamp, max_timestamp, hot_rows };
}

/** Where the index of stored ids is kept between starts. */
export interface IndexFile {
  path: string;
  fingerprint_key: Uint8Array;
}

/**
 * The index of all stored ids: from its snapshot and the events since, or from all events. `onFailure` is told
 * why a snapshot could not be used.
 */
export async function openIndex(
  connection: DuckDBConnection,
  hash: SipHash,
  file: IndexFile | undefined,
  onFailure: (error: unknown) => void,
): Promise<{ index: FingerprintIndex; snapshot_seq: number }> {
  const isOurs = async ({ last_seq, last_id }: SnapshotEnd) =>
    (await findEnd(connection, last_seq))?.last_id === last_id;
  const snapshot =
    file &&
    (await readSnapshot(file.path, file.fingerprint_key, isOurs).catch((cause) => {
      onFailure(new Error(`Cannot use ${file.path}, the index is built from the events instead`, { cause }));
      return undefined;
    }));
  const { index, last_seq } = snapshot ?? { index: new FingerprintIndex(), last_seq: 0 };
  await enterRows(connection, index, hash, last_seq);
  return { index, snapshot_seq: last_seq };
}

/** The growth of the index after which its snapshot is written anew, so that writing stays in proportion. */
const SNAPSHOT_GROWTH = 0.1;

/** Keeps the snapshot of the index: written anew when it would leave a start too much to read. */
export class SnapshotKeeper {
  readonly #file: IndexFile;
  readonly #index: FingerprintIndex;
  readonly #snapshot_rows: number;
  #last_seq: number;

  /** `last_seq`: up to which the file holds the index already. */
  constructor(file: IndexFile, index: FingerprintIndex, last_seq: number, snapshot_rows: number) {
    this.#file = file;
    this.#index = index;
    this.#last_seq = last_seq;
    this.#snapshot_rows = snapshot_rows;
  }

  /** Writes the snapshot if it is worth it. Every event up to `last_seq` must be in the index. */
  async keep(connection: DuckDBConnection, last_seq: number): Promise<void> {
    const grown = last_seq - this.#last_seq;
    if (grown < Math.max(this.#snapshot_rows, this.#index.size * SNAPSHOT_GROWTH)) return;
    const end = await findEnd(connection, last_seq);
    if (end === undefined) return;
    await writeSnapshot(this.#file.path, this.#index, this.#file.fingerprint_key, end);
    this.#last_seq = end.last_seq;
  }
}

/** The last event up to a number. */
async function findEnd(connection: DuckDBConnection, up_to_seq: number): Promise<SnapshotEnd | undefined> {
  const parameters = new Parameters();
  const sql = `SELECT seq, id FROM usage_events WHERE seq <= ${parameters.integer(up_to_seq)}
    ORDER BY seq DESC LIMIT 1`;
  const [row] = await query(connection, sql, parameters);
  return row && { last_seq: asNumber(row[0]), last_id: asUuid(row[1]).toString() };
}

/** Enters the events after `after_seq`, chunk by chunk. */
async function enterRows(
  connection: DuckDBConnection,
  index: FingerprintIndex,
  hash: SipHash,
  after_seq: number,
): Promise<void> {
  const halves = new BigUint64Array(2);
  const words = new Uint32Array(halves.buffer);
  // As a double, exact up to 2^53, seq needs no bigint a row.
  const result = await connection.stream(
    `SELECT seq::DOUBLE, company_id, id FROM usage_events WHERE seq > ${after_seq}`,
  );
  for await (const chunk of result) {
    const [seqs, companies, ids] = [0, 1, 2].map((column) => chunk.getColumnVector(column));
    const { rowCount } = chunk;
    for (let row = 0; row < rowCount; row++) {
      readStoredId(asUuid(ids?.getItem(row)), halves, words);
      fingerprint(hash, asNumber(companies?.getItem(row)), words, 0);
      const seq = asNumber(seqs?.getItem(row));
      // A snapshot may hold events that came while it was written.
      if (after_seq === 0 || !index.find(hash.high, hash.low).includes(seq)) {
        index.add(hash.high, hash.low, seq);
      }
    }
  }
}
