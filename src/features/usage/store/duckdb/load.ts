import { type DuckDBConnection, DuckDBDataChunk, type DuckDBInstance, INTEGER } from "@duckdb/node-api";
import { AppError } from "../../../../core/errors.ts";
import type { FileResult, FileToLoad, LoadResult } from "../usage_store.ts";
import { fingerprint } from "./append_request.ts";
import { appendChunks } from "./appending.ts";
import { BLOCK_TABLE, type EventBlock, ROW } from "./event_block.ts";
import type { FingerprintIndex } from "./fingerprints.ts";
import { SUMMED } from "./hour_sums.ts";
import { EntryBlock } from "./inventory.ts";
import {
  countBrokenLines,
  insertFile,
  Numbering,
  numberFunction,
  prepareFile,
  shareRead,
} from "./load_file.ts";
import type { SipHash } from "./siphash.ts";
import { asNumber, query } from "./sql.ts";
import { wordsOf } from "./vector_words.ts";
import type { Writer } from "./writer.ts";

/** What the loader shares with the rest of the store. */
interface LoaderParts {
  instance: DuckDBInstance;
  writer: Writer;
  index: FingerprintIndex;
  hash: SipHash;
}

/** A block that is being stored. */
interface Loading {
  connection: DuckDBConnection;
  block: EventBlock;
  company_id: number;
  created_at: number;
  /** The number of the first row. */
  first_seq: number;
}

/**
 * Stores blocks of many rows at once. The index tells the rows that may be stored already; those are compared with
 * what is stored, and the others become one sorted run, in one transaction.
 */
export class Loader {
  readonly #parts: LoaderParts;
  #connection: DuckDBConnection | undefined;
  #numbering: Numbering | undefined;
  #is_registered = false;
  /** Numbers, from and until, of rows that were entered in the index and then not stored. */
  readonly #void_seqs: [number, number][] = [];

  constructor(parts: LoaderParts) {
    this.#parts = parts;
  }

  /** As `UsageStore.load`. */
  async load(company_id: number, block: EventBlock, created_at: number): Promise<LoadResult> {
    const connection = (this.#connection ??= await this.#parts.instance.connect());
    const { entries, left_out } = this.#hash(company_id, block);
    return this.#parts.writer.exclusive(async (_, first_seq) => {
      const loading = { connection, block, company_id, created_at, first_seq };
      const hits = this.#enter(entries, left_out, first_seq);
      const held = [...block.rowsThat(ROW.left_out), ...block.rowsThat(ROW.stored), ...hits];
      await storeRows(loading, held);
      const repeated = await findRepeated(loading, hits);
      const left = hits.filter((row) => !repeated.has(row));
      const accepted = block.rows - held.length;
      return { rows: block.rows, value: { accepted, duplicates: repeated.size, left } };
    });
  }

  /** As `UsageStore.loadFile`; `onSpan` is told of the first and last timestamp before they can be found. */
  async loadFile(
    company_id: number,
    file: FileToLoad,
    created_at: number,
    onSpan: (first_ms: number, last_ms: number) => void,
  ): Promise<FileResult | null> {
    const { instance, writer } = this.#parts;
    // One of its own: what it makes for the file goes with it.
    const connection = await instance.connect();
    this.#registerNumbering(connection);
    try {
      return await writer.exclusive(async (_, first_seq) => {
        const numbering = new Numbering(this.#parts, company_id, first_seq, (rows) =>
          file.onRows(rows, shareRead(connection)),
        );
        this.#numbering = numbering;
        const is_ready = await isInserted(connection, company_id, file, created_at, numbering);
        const rows = numbering.next_seq - first_seq;
        if (!is_ready) {
          this.#void_seqs.push([first_seq, numbering.next_seq]);
          return { rows, value: null };
        }
        if (rows > 0) onSpan(numbering.min_timestamp, numbering.max_timestamp);
        await commit(connection);
        const left = numbering.left + (await countBrokenLines(connection, file));
        return { rows, value: { accepted: rows, left } };
      });
    } finally {
      connection.closeSync();
    }
  }

  close(): void {
    this.#connection?.closeSync();
  }

  /** Lets the engine call what numbers the rows of the file of the time; once is enough. */
  #registerNumbering(connection: DuckDBConnection): void {
    if (this.#is_registered) return;
    const numbering = (): Numbering => {
      if (this.#numbering === undefined) throw new Error("No file is being loaded");
      return this.#numbering;
    };
    connection.registerScalarFunction(numberFunction(numbering));
    this.#is_registered = true;
  }

  /** The fingerprints of the rows that are events, and of the ids of those that are not. */
  #hash(company_id: number, block: EventBlock): { entries: EntryBlock; left_out: Set<string> } {
    const { hash } = this.#parts;
    const entries = new EntryBlock(block.rows);
    const left_out = new Set<string>();
    for (let row = 0; row < block.rows; row++) {
      if (block.is(row, ROW.stored)) continue;
      fingerprint(hash, company_id, block.ids, row * 4);
      if (block.is(row, ROW.left_out)) left_out.add(keyOf(hash.high, hash.low));
      else entries.add(hash.high, hash.low, row);
    }
    return { entries, left_out };
  }

  /**
   * Enters the rows in the index and returns, ascending, those that may be repeats: of a stored event or of
   * another row. A row that repeats one that was left out must wait for what becomes of that. Entries of rows
   * that are then not stored do no harm.
   */
  #enter(entries: EntryBlock, left_out: ReadonlySet<string>, first_seq: number): number[] {
    const { index } = this.#parts;
    const hits: number[] = [];
    entries.flush((high, low, row) => {
      const must_wait = left_out.size > 0 && left_out.has(keyOf(high, low));
      if (must_wait) hits.push(row);
      else if (!index.addNew(high, low, first_seq + row)) {
        if (this.#areVoid(index.find(high, low))) index.add(high, low, first_seq + row);
        else hits.push(row);
      }
    });
    return hits.sort((a, b) => a - b);
  }

  #areVoid(seqs: readonly number[]): boolean {
    return seqs.every((seq) => this.#void_seqs.some(([from, until]) => seq >= from && seq < until));
  }
}

function keyOf(high: number, low: number): string {
  return `${high} ${low}`;
}

/** Stores the rows that are not held back, in order. All of them are then in `loaded_rows`, by their row ids. */
async function storeRows(loading: Loading, held: readonly number[]): Promise<void> {
  const { connection, block, company_id, created_at, first_seq } = loading;
  // Not straight to the events: what is appended is only compressed by a later checkpoint, on one thread.
  await connection.run(`CREATE OR REPLACE TEMP TABLE loaded_rows (${BLOCK_TABLE})`);
  await appendBlock(connection, block);
  if (held.length === block.rows) return;
  if (held.length > 0) await makeRowTable(connection, "held_rows", held);
  const fresh = `SELECT ${first_seq} + rowid AS seq, ${company_id} AS company_id, subscription_id, timestamp, id,
      usage, metadata, ${created_at} AS created_at
    FROM loaded_rows ${held.length > 0 ? "ANTI JOIN held_rows ON held_rows.row = loaded_rows.rowid" : ""}`;
  await transact(connection, async () => {
    await connection.run(
      `INSERT INTO usage_runs ${fresh} ${block.is_ordered ? "" : "ORDER BY timestamp, id"}`,
    );
    await connection.run(
      `INSERT INTO usage_hour_deltas SELECT ${SUMMED} FROM (${fresh}) GROUP BY company_id, hour`,
    );
  });
}

async function appendBlock(connection: DuckDBConnection, block: EventBlock): Promise<void> {
  const appender = await connection.createAppender("loaded_rows");
  try {
    block.appendTo(appender);
    appender.flushSync();
  } catch (error) {
    // Closing would flush again what just failed.
    appender.clear();
    throw error;
  } finally {
    appender.closeSync();
  }
}

/** Whether the file's rows are inserted, and only to be committed. */
async function isInserted(
  connection: DuckDBConnection,
  company_id: number,
  file: FileToLoad,
  created_at: number,
  numbering: Numbering,
): Promise<boolean> {
  try {
    await prepareFile(connection, file);
    await connection.run("BEGIN");
    await insertFile(connection, company_id, file, created_at, numbering);
    return true;
  } catch (e) {
    console.error("DBG", e);
    // Whatever it is: reading block by block either goes around it or says what is wrong.
    await connection.run("ROLLBACK").catch(() => undefined);
    return false;
  }
}

/** Errors: unavailable when the work or its commit fails; nothing is then stored. */
async function transact(connection: DuckDBConnection, work: () => Promise<void>): Promise<void> {
  try {
    await connection.run("BEGIN");
    await work();
  } catch (cause) {
    await connection.run("ROLLBACK").catch(() => undefined);
    throw commitError(cause);
  }
  await commit(connection);
}

async function commit(connection: DuckDBConnection): Promise<void> {
  try {
    await connection.run("COMMIT");
  } catch (cause) {
    await connection.run("ROLLBACK").catch(() => undefined);
    throw commitError(cause);
  }
}

function commitError(cause: unknown): AppError {
  return new AppError("unavailable", "Cannot store the rows: the commit failed", { cause });
}

/** Those of the rows, which are in `loaded_rows`, that are stored with the same content. */
async function findRepeated(
  { connection, company_id }: Loading,
  rows: readonly number[],
): Promise<ReadonlySet<number>> {
  const repeated = new Set<number>();
  if (rows.length === 0) return repeated;
  await makeRowTable(connection, "hit_rows", rows);
  const hits = "loaded_rows JOIN hit_rows ON hit_rows.row = loaded_rows.rowid";
  // The span of time lets the engine skip most of what is stored.
  const [span = []] = await query(connection, `SELECT min(timestamp), max(timestamp) FROM ${hits}`);
  const [first_ms = 0, last_ms = 0] = span.map(asNumber);
  const result = await connection.stream(`SELECT "row" FROM (FROM ${hits}) AS hit
    SEMI JOIN (FROM usage_events
      WHERE company_id = ${company_id} AND timestamp BETWEEN ${first_ms} AND ${last_ms}) AS stored
    ON stored.id = hit.id AND stored.timestamp = hit.timestamp
      AND stored.subscription_id = hit.subscription_id AND stored.usage = hit.usage
      AND stored.metadata IS NOT DISTINCT FROM hit.metadata`);
  for await (const chunk of result) {
    for (const row of wordsOf(chunk.getColumnVector(0)).subarray(0, chunk.rowCount)) repeated.add(row);
  }
  return repeated;
}

/** Makes a temporary table of row numbers. */
async function makeRowTable(
  connection: DuckDBConnection,
  name: string,
  rows: readonly number[],
): Promise<void> {
  await connection.run(`CREATE OR REPLACE TEMP TABLE ${name} ("row" INTEGER)`);
  await appendChunks(connection, name, rows.length, (start, end) => {
    const chunk = DuckDBDataChunk.create([INTEGER], end - start);
    const vector = chunk.getColumnVector(0);
    wordsOf(vector).set(rows.slice(start, end));
    vector.flush();
    return chunk;
  });
}
