import { rm } from "node:fs/promises";
import type { DuckDBConnection } from "@duckdb/node-api";
import { readSnapshot, type SnapshotEnd, writeSnapshot } from "../../index/fingerprint_snapshot.ts";
import { EntryBlock } from "../../index/entry_block.ts";
import { FingerprintIndex } from "../../index/fingerprints.ts";
import { HOT_TABLES } from "../engine/schema.ts";
import type { SipHash } from "../../index/siphash.ts";
import { asNumber, asText, asUuid, query } from "../engine/sql.ts";
import { rawWords } from "../engine/vector_words.ts";

/** The counts of a store's rows at its opening. */
export interface Inventory {
  last_seq: number;
  /** Events in the sums by hour; as many as there are rows. */
  events: number;
  rows: number;
  /** Events that were removed: their sums are kept apart. */
  removed: number;
  hot_rows: number;
  /** Rows in short sorted segments. */
  segment_rows: number;
}

/** What is counted: the highest number of an event, and how many there are. By the sums by hour, which are fewer. */
const COUNTS: readonly [name: string, sql: string][] = [
  ["hours", "max(seq), sum(events)::BIGINT FROM usage_hours"],
  ["floor", "max(value::BIGINT), 0 FROM usage_meta WHERE name = 'seq_floor'"],
  ["removed", "0, sum(events)::BIGINT FROM usage_kept_hours"],
  ...HOT_TABLES.map((table): [string, string] => ["hot", `0, count(*) FROM ${table}`]),
  ["runs", "0, count(*) FROM usage_runs"],
  ["settled", "0, count(*) FROM usage_settled"],
];

/**
 * Counts the rows of the tables, a row of the answer for each: columns of one row would be joined, and to find the best
 * order for that takes the engine longer than all else.
 */
export async function scanStore(connection: DuckDBConnection): Promise<Inventory> {
  const sql = COUNTS.map(([name, counted]) => `SELECT '${name}', ${counted}`).join(" UNION ALL ");
  const counts = (await query(connection, sql)).map(([name, seq, count]) => ({
    name: asText(name),
    seq: asNumber(seq ?? 0),
    count: asNumber(count ?? 0),
  }));
  const countOf = (wanted: string) =>
    counts.reduce((sum, { name, count }) => (name === wanted ? sum + count : sum), 0);
  const [hot_rows, segment_rows] = [countOf("hot"), countOf("runs")];
  return {
    // As lastSeq.
    last_seq: Math.max(...counts.map(({ seq }) => seq)),
    events: countOf("hours"),
    rows: hot_rows + segment_rows + countOf("settled"),
    removed: countOf("removed"),
    hot_rows,
    segment_rows,
  };
}

/** A snapshot's file. */
export interface IndexFile {
  path: string;
  fingerprint_key: Uint8Array;
}

/**
 * Opens the index of all stored ids: from its snapshot and the events since, or from all `events`. `onFailure` gets the
 * reason why a snapshot can't be used.
 */
export async function openIndex(
  connection: DuckDBConnection,
  hash: SipHash,
  events: number,
  file: IndexFile | undefined,
  onFailure: (error: unknown) => void,
): Promise<{ index: FingerprintIndex; snapshot_size: number }> {
  const isOurs = async ({ last_seq, last_id }: SnapshotEnd) =>
    (await findId(connection, last_seq)) === last_id;
  const snapshot =
    file &&
    (await readSnapshot(file.path, file.fingerprint_key, isOurs).catch(async (cause) => {
      onFailure(new Error(`Cannot use ${file.path}, the index is built from the events instead`, { cause }));
      // Otherwise it might be accepted one day, when the store has events under its last number.
      await rm(file.path, { force: true });
      return undefined;
    }));
  const { index, last_seq } = snapshot ?? { index: FingerprintIndex.for(events), last_seq: 0 };
  const snapshot_size = index.size;
  await addRows(connection, index, hash, last_seq);
  return { index, snapshot_size };
}

/** The growth of the index after which its snapshot is rewritten, so that writing stays in proportion. */
const SNAPSHOT_GROWTH = 0.025;

/** Rewrites the snapshot of the index once many events have come since. */
export class SnapshotWriter {
  readonly #file: IndexFile;
  readonly #index: FingerprintIndex;
  readonly #snapshot_rows: number;
  /** The entries of the index that the file has. */
  #written: number;

  /** `written`: the entries of the snapshot in the file. */
  constructor(file: IndexFile, index: FingerprintIndex, written: number, snapshot_rows: number) {
    this.#file = file;
    this.#index = index;
    this.#written = written;
    this.#snapshot_rows = snapshot_rows;
  }

  /** Whether enough events are new. */
  get is_due(): boolean {
    const { size } = this.#index;
    return size - this.#written >= Math.max(this.#snapshot_rows, size * SNAPSHOT_GROWTH);
  }

  /** Writes the snapshot if it is due. Every event up to `last_seq` must be in the index. */
  async write(connection: DuckDBConnection, last_seq: number): Promise<void> {
    if (!this.is_due) return;
    const { size } = this.#index;
    const end = await findEnd(connection, last_seq);
    if (end !== undefined) await writeSnapshot(this.#file.path, this.#index, this.#file.fingerprint_key, end);
    this.#written = size;
  }
}

/** How far back a snapshot looks for the last event up to a number. */
const END_SEQS = 1_000_000;

/** The last event up to a number; undefined when there is none near. */
export async function findEnd(
  connection: DuckDBConnection,
  up_to_seq: number,
): Promise<SnapshotEnd | undefined> {
  const near = `seq > ${up_to_seq - END_SEQS} AND seq <= ${up_to_seq}`;
  const [[last = null] = []] = await query(connection, `SELECT max(seq) FROM usage_events WHERE ${near}`);
  if (last === null) return undefined;
  const last_seq = asNumber(last);
  const last_id = await findId(connection, last_seq);
  return last_id === undefined ? undefined : { last_seq, last_id };
}

/** The id of the event with this number: found by the blocks' statistics, where an order would read all. */
export async function findId(connection: DuckDBConnection, seq: number): Promise<string | undefined> {
  const [row] = await query(connection, `SELECT id FROM usage_events WHERE seq = ${seq}`);
  return row && asUuid(row[0]).toString();
}

/** Events that are sorted before they are added. */
const BLOCK_EVENTS = 1 << 17;

/**
 * Adds the events after `after_seq` to the index. They are hashed in the engine's memory, without an object for each,
 * and added block by block in the order of the index's tables, which are then in the processor's cache: of 50 million
 * it takes 0.15 µs an entry, in their own order 0.23.
 */
async function addRows(
  connection: DuckDBConnection,
  index: FingerprintIndex,
  hash: SipHash,
  after_seq: number,
): Promise<void> {
  const block = new EntryBlock(BLOCK_EVENTS);
  // A snapshot may contain events that came while it was written.
  const add = (high: number, low: number, seq: number): void => {
    if (after_seq === 0 || !index.find(high, low).includes(seq)) index.add(high, low, seq);
  };
  const result = await connection.stream(
    `SELECT seq, company_id, id FROM usage_events WHERE seq > ${after_seq}`,
  );
  for await (const chunk of result) {
    const rows = chunk.rowCount;
    const [seqs, companies, ids] = [0, 1, 2].map((column) => rawWords(chunk.getColumnVector(column)));
    if (!seqs || !companies || !ids) throw new TypeError("Cannot read stored events: a column is missing");
    if (block.count + rows > BLOCK_EVENTS) block.flush(add);
    for (let row = 0; row < rows; row++) {
      const id = row * 4;
      // A stored id is its lower half, then its upper, each lower 32 bits first, the very first bit flipped.
      const upper_high = ((ids[id + 3] ?? 0) ^ 0x80000000) >>> 0;
      hash.hash(companies[row] ?? 0, 0, ids[id + 2] ?? 0, upper_high, ids[id] ?? 0, ids[id + 1] ?? 0);
      const seq = (seqs[row * 2] ?? 0) + (seqs[row * 2 + 1] ?? 0) * 2 ** 32;
      block.add(hash.high, hash.low, seq);
    }
  }
  block.flush(add);
}
