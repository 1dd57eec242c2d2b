import {
  BIGINT,
  BOOLEAN,
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBScalarFunction,
  type DuckDBVector,
  UUID,
} from "@duckdb/node-api";
import type { FileToLoad } from "../usage_store.ts";
import { setLong } from "./event_chunks.ts";
import type { FingerprintIndex } from "./fingerprints.ts";
import { SUMMED } from "./hour_sums.ts";
import type { SipHash } from "./siphash.ts";
import { asNumber, Parameters, query } from "./sql.ts";
import { bytesOf, wordsOf } from "./vector_words.ts";

/** The type by which an engine numbers the keys of subscriptions. */
export const KEYS_TYPE = "subscription_keys";

/** Keys entered at once. */
const KEYS_AT_ONCE = 1_000;

/** Makes KEYS_TYPE, for the connection: each key's number is its place. There is none without keys. */
export async function numberKeys(connection: DuckDBConnection, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await connection.run("CREATE TEMP TABLE subscription_numbers (number INTEGER, key VARCHAR)");
  for (let start = 0; start < keys.length; start += KEYS_AT_ONCE) {
    const some = keys.slice(start, start + KEYS_AT_ONCE);
    const parameters = new Parameters();
    const numbers = parameters.integers(some.map((_, i) => start + i));
    const sql = `INSERT INTO subscription_numbers SELECT unnest(${numbers}), unnest(${parameters.texts(some)})`;
    await query(connection, sql, parameters);
  }
  await connection.run(
    `CREATE TEMP TYPE ${KEYS_TYPE} AS ENUM (SELECT key FROM subscription_numbers ORDER BY number)`,
  );
}

/** Rows that may be left over, and their share of all, before it no longer pays to read a file twice. */
const LEFT_ROWS = 1_000;
const LEFT_SHARE = 0.1;

/**
 * Numbers the rows of a file while the engine inserts them, as many threads at once as it likes: each that is new
 * to the index takes the next number. It gives up on what must be looked at row by row.
 */
export class Numbering {
  readonly #hash: SipHash;
  readonly #index: FingerprintIndex;
  readonly #company_id: number;
  readonly #onRows: (rows: number) => void;
  readonly first_seq: number;
  next_seq: number;
  /** Rows that are no events as they stand. */
  left = 0;
  min_timestamp = Number.POSITIVE_INFINITY;
  max_timestamp = Number.NEGATIVE_INFINITY;
  /** The fingerprints of their ids, in halves. */
  readonly #left_ids: number[] = [];

  constructor(
    parts: { hash: SipHash; index: FingerprintIndex },
    company_id: number,
    first_seq: number,
    onRows: (rows: number) => void,
  ) {
    this.#hash = parts.hash;
    this.#index = parts.index;
    this.#company_id = company_id;
    this.first_seq = first_seq;
    this.next_seq = first_seq;
    this.#onRows = onRows;
  }

  get rows(): number {
    return this.next_seq - this.first_seq + this.left;
  }

  /** Numbers the rows of a chunk of ids, timestamps and whether each is an event; 0 for those that are none. */
  number(input: DuckDBDataChunk, output: DuckDBVector): void {
    const [ids, timestamps] = [0, 1].map((column) => wordsOf(input.getColumnVector(column)));
    const are_events = bytesOf(input.getColumnVector(2));
    const seqs = wordsOf(output);
    if (!ids || !timestamps) throw new TypeError("Cannot number rows: a column is missing");
    const rows = input.rowCount;
    for (let row = 0; row < rows; row++) {
      const is_event = are_events[row] === 1;
      setLong(seqs, row, this.#take(ids, row * 4, is_event));
      if (!is_event) continue;
      const timestamp = (timestamps[row * 2] ?? 0) + (timestamps[row * 2 + 1] ?? 0) * 2 ** 32;
      if (timestamp < this.min_timestamp) this.min_timestamp = timestamp;
      if (timestamp > this.max_timestamp) this.max_timestamp = timestamp;
    }
    output.flush();
    if (this.left > LEFT_ROWS && this.left > this.rows * LEFT_SHARE) throw new Unusual("many rows are left");
    this.#onRows(this.rows);
  }

  /** Throws when a row that is left has the id of one that was taken: which came first must decide. */
  checkLeft(): void {
    for (let i = 0; i < this.#left_ids.length; i += 2) {
      const seqs = this.#index.find(this.#left_ids[i] ?? 0, this.#left_ids[i + 1] ?? 0);
      if (seqs.some((seq) => seq >= this.first_seq)) throw new Unusual("an id comes twice");
    }
  }

  #take(ids: Uint32Array, at: number, is_event: boolean): number {
    const hash = this.#hash;
    // A stored id is its lower half, then its upper, each lower 32 bits first, the very first bit flipped.
    const upper_high = ((ids[at + 3] ?? 0) ^ 0x80000000) >>> 0;
    hash.hash(this.#company_id, 0, ids[at + 2] ?? 0, upper_high, ids[at] ?? 0, ids[at + 1] ?? 0);
    if (!is_event) {
      this.left++;
      this.#left_ids.push(hash.high, hash.low);
      return 0;
    }
    if (!this.#index.addNew(hash.high, hash.low, this.next_seq)) throw new Unusual("an id is known already");
    return this.next_seq++;
  }
}

/** Why a file can't be loaded whole. */
class Unusual extends Error {}

/** What makes the engine ask `numbering` for the numbers of rows, by the name `number_row`. */
export function numberFunction(numbering: () => Numbering): DuckDBScalarFunction {
  return DuckDBScalarFunction.create({
    name: "number_row",
    parameterTypes: [UUID, BIGINT, BOOLEAN],
    returnType: BIGINT,
    // Two rows may look the same.
    volatile: true,
    mainFunction: (_, input, output) => numbering().number(input, output),
  });
}

/** Inserts the file's rows, within the open transaction; `number_row` must be that of `numbering`. */
export async function insertFile(
  connection: DuckDBConnection,
  company_id: number,
  file: FileToLoad,
  created_at: number,
  numbering: Numbering,
): Promise<void> {
  await connection.run(`INSERT INTO usage_runs
    SELECT seq, ${company_id}, subscription_id, timestamp, id, usage, metadata, ${created_at}
    FROM (SELECT *, number_row(id, timestamp, is_event) AS seq
      FROM (SELECT file.*, lives.subscription_id, coalesce(state = 0 AND timestamp <= ${file.until_ms}
            AND timestamp >= starts_ms AND timestamp < ends_ms, false) AS is_event
        FROM (${file.rows_sql}) AS file LEFT JOIN lives ON lives.number = file.subscription))
    WHERE seq > 0`);
  numbering.checkLeft();
  await connection.run(`INSERT INTO usage_hour_deltas SELECT ${SUMMED} FROM usage_runs
    WHERE company_id = ${company_id} AND seq >= ${numbering.first_seq} GROUP BY company_id, hour`);
}

/** Makes what the rows' SQL needs, for the connection. */
export async function prepareFile(connection: DuckDBConnection, { keys, lives }: FileToLoad): Promise<void> {
  await watchProgress(connection);
  await numberKeys(connection, keys);
  await connection.run(
    "CREATE TEMP TABLE lives (number INTEGER, subscription_id INTEGER, starts_ms BIGINT, ends_ms BIGINT)",
  );
  for (let start = 0; start < keys.length; start += KEYS_AT_ONCE) {
    const end = Math.min(start + KEYS_AT_ONCE, keys.length);
    const parameters = new Parameters();
    const columns = [
      Array.from({ length: end - start }, (_, i) => start + i),
      ...[lives.ids, lives.starts_ms, lives.ends_ms].map((values) => [...values.subarray(start, end)]),
    ];
    const unnested = columns.map((values) => `unnest(${parameters.integers(values)})`).join(", ");
    await query(connection, `INSERT INTO lives SELECT ${unnested}`, parameters);
  }
}

/** Makes the engine measure how far it has read. */
export async function watchProgress(connection: DuckDBConnection): Promise<void> {
  await connection.run("SET enable_progress_bar = true; SET enable_progress_bar_print = false");
}

/** The share of a file that was read by the statement that runs, from 0 to 1. */
export function shareRead(connection: DuckDBConnection): number {
  return Math.max(connection.progress.percentage, 0) / 100;
}

/** How many lines the reader made no rows of, on this connection. */
export async function countBrokenLines(
  connection: DuckDBConnection,
  { lists_broken }: FileToLoad,
): Promise<number> {
  if (!lists_broken) return 0;
  const [[count] = []] = await query(connection, "SELECT count(DISTINCT line) FROM reject_errors");
  return asNumber(count);
}
