import type { DuckDBAppender, DuckDBDataChunk, DuckDBVector } from "@duckdb/node-api";
import { CHUNK_ROWS } from "./append_chunks.ts";
import { setId } from "./stored_id.ts";
import { type EventRows, ROW } from "../../event_rows.ts";
import { rawWords } from "../engine/vector_words.ts";

/** The columns of a table that a block is appended to. */
export const BLOCK_TABLE = `"row" INTEGER, subscription_id INTEGER, timestamp BIGINT, id UUID,
  usage DECIMAL(18,6), metadata VARCHAR`;

interface Part {
  chunk: DuckDBDataChunk;
  first: number;
  rows: number;
  /** Created on first use. */
  metadata?: DuckDBVector;
}

/** Rows of a file in the engine's own chunks; what is read row by row is in plain arrays too. */
export class EventBlock implements EventRows {
  rows = 0;
  readonly first_row: number;
  readonly subscriptions: Int32Array;
  readonly subscription_ids: Int32Array;
  readonly timestamps: Float64Array;
  readonly ids: Uint32Array;
  readonly #flags: Uint8Array;
  readonly #size: number;
  /** The flags that any row has. */
  #any_flags = 0;
  readonly #parts: Part[] = [];
  #last: Part | undefined;

  /** `size`: rows after which it is full. */
  constructor(first_row: number, size: number) {
    // The last chunk may go beyond.
    const room = size + CHUNK_ROWS;
    this.first_row = first_row;
    this.#flags = new Uint8Array(room);
    this.subscriptions = new Int32Array(room);
    this.subscription_ids = new Int32Array(room);
    this.timestamps = new Float64Array(room);
    this.ids = new Uint32Array(room * 4);
    this.#size = size;
  }

  /** Errors: throws for rows of another kind, whose chunks can't be appended as they are. */
  static of(rows: EventRows): EventBlock {
    if (rows instanceof EventBlock) return rows;
    throw new TypeError("Cannot load rows that another engine holds");
  }

  get is_full(): boolean {
    return this.rows >= this.#size;
  }

  /** Adds a chunk of flags, subscription (its place in the keys), timestamp, id, usage and metadata; only the last may be null. */
  add(chunk: DuckDBDataChunk): void {
    const first = this.rows;
    const [flags, subscriptions, timestamps, ids] = [0, 1, 2, 3].map((column) =>
      rawWords(chunk.getColumnVector(column)),
    );
    if (!flags || !subscriptions || !timestamps || !ids) throw new TypeError("A chunk has too few columns");
    const rows = chunk.rowCount;
    for (let row = 0; row < rows; row++) {
      const at = first + row;
      const id = row * 4;
      const row_flags = flags[row] ?? 0;
      this.#flags[at] = row_flags;
      this.#any_flags |= row_flags;
      this.subscriptions[at] = subscriptions[row] ?? 0;
      this.timestamps[at] = (timestamps[row * 2] ?? 0) + (timestamps[row * 2 + 1] ?? 0) * 2 ** 32;
      this.ids[at * 4] = ids[id + 2] ?? 0;
      this.ids[at * 4 + 1] = (ids[id + 3] ?? 0) ^ 0x80000000;
      this.ids[at * 4 + 2] = ids[id] ?? 0;
      this.ids[at * 4 + 3] = ids[id + 1] ?? 0;
    }
    this.#parts.push({ chunk, first, rows });
    this.rows += rows;
  }

  is(row: number, flags: number): boolean {
    return ((this.#flags[row] ?? 0) & flags) === flags;
  }

  rowsThat(flags: number): number[] {
    const found: number[] = [];
    if ((this.#any_flags & flags) !== flags) return found;
    for (let row = 0; row < this.rows; row++) if (this.is(row, flags)) found.push(row);
    return found;
  }

  /** The first and the last timestamp, skipped rows aside; nothing when all are. */
  get span(): number[] {
    let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let row = 0; row < this.rows; row++) {
      if (this.is(row, ROW.skipped)) continue;
      const timestamp = this.timestamps[row] ?? 0;
      if (timestamp < first) first = timestamp;
      if (timestamp > last) last = timestamp;
    }
    return first > last ? [] : [first, last];
  }

  /** Whether the rows, skipped ones aside, are in the order of time. */
  get is_in_order(): boolean {
    let latest = 0;
    for (let row = 0; row < this.rows; row++) {
      if (this.is(row, ROW.skipped)) continue;
      const timestamp = this.timestamps[row] ?? 0;
      if (timestamp < latest) return false;
      latest = timestamp;
    }
    return true;
  }

  skip(row: number): void {
    this.#flags[row] = (this.#flags[row] ?? 0) | ROW.skipped;
    this.#any_flags |= ROW.skipped;
  }

  idOf(row: number): string {
    const hex = (word: number) => (this.ids[row * 4 + word] ?? 0).toString(16).padStart(8, "0");
    const [middle, last] = [hex(0), hex(3)];
    return `${hex(1)}-${middle.slice(0, 4)}-${middle.slice(4)}-${last.slice(0, 4)}-${last.slice(4)}${hex(2)}`;
  }

  usageOf(row: number): string {
    const part = this.#partOf(row);
    return String(part.chunk.getColumnVector(4).getItem(row - part.first));
  }

  metadataOf(row: number): string | null {
    const part = this.#partOf(row);
    part.metadata ??= part.chunk.getColumnVector(5);
    const text = part.metadata.getItem(row - part.first);
    return typeof text === "string" ? text : null;
  }

  setMetadata(row: number, text: string | null): void {
    const part = this.#partOf(row);
    part.metadata ??= part.chunk.getColumnVector(5);
    part.metadata.setItem(row - part.first, text);
  }

  /** Appends all rows to a table of BLOCK_TABLE, numbered from 0. */
  appendTo(appender: DuckDBAppender): void {
    for (const { chunk, first, rows, metadata } of this.#parts) {
      const vectors = [0, 1, 3].map((column) => chunk.getColumnVector(column));
      const [numbers, subscription_ids, ids] = vectors.map(rawWords);
      if (!numbers || !subscription_ids || !ids) throw new TypeError("A chunk has too few columns");
      for (let row = 0; row < rows; row++) {
        numbers[row] = first + row;
        subscription_ids[row] = this.subscription_ids[first + row] ?? 0;
        setId(ids, row, this.ids, (first + row) * 4);
      }
      for (const vector of vectors) vector.flush();
      metadata?.flush();
      appender.appendDataChunk(chunk);
    }
  }

  #partOf(row: number): Part {
    // Mostly that of the last call.
    const has = ({ first, rows }: Part): boolean => row >= first && row < first + rows;
    const part = this.#last && has(this.#last) ? this.#last : this.#parts.find(has);
    if (part === undefined) throw new RangeError(`A block has no row ${row}`);
    this.#last = part;
    return part;
  }
}
