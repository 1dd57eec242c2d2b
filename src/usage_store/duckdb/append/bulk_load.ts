import { type DuckDBConnection, DuckDBDataChunk, type DuckDBVector, INTEGER } from "@duckdb/node-api";
import { ROW } from "../../event_rows.ts";
import { ERASED_KEY, isErasedFrom } from "../../erased_metadata.ts";
import type { LoadResult } from "../../port.ts";
import { fingerprint } from "../../append/append_request.ts";
import { appendChunks } from "./append_chunks.ts";
import type { CommitRows, Engine } from "../engine/engine.ts";
import { BLOCK_TABLE, type EventBlock } from "./event_block.ts";
import type { FingerprintIndex } from "../../index/fingerprints.ts";
import { readEvents } from "../query/numbered_events.ts";
import type { TotalsKeeper } from "../../running/keeper.ts";
import { SUMMED } from "./hour_sums.ts";
import { EntryBlock } from "../../index/entry_block.ts";
import type { SipHash } from "../../index/siphash.ts";
import { cutOff } from "../engine/readers.ts";
import { asNumber, query, quoteText } from "../engine/sql.ts";
import { rawWords } from "../engine/vector_words.ts";
import type { Writer } from "./writer.ts";

/** The components that the loader uses. */
interface LoaderParts {
  engine: Engine;
  writer: Writer;
  index: FingerprintIndex;
  totals: TotalsKeeper;
  hash: SipHash;
}

/** Blocks that are held staged. One that sends blocks stages one ahead, and few do so at once. */
const MAX_STAGED = 4;

/** A block in a temporary table, on a connection of its own. */
interface StagedBlock {
  connection: DuckDBConnection;
  block: EventBlock;
  company_id: number;
  /** The fingerprints of its rows, and apart from them those of skipped rows. */
  entries: EntryBlock;
  skipped: Set<string>;
}

/** A block under way. */
interface Loading extends StagedBlock {
  engine: Engine;
  created_at: number;
}

/**
 * Bulk load: stores blocks of many rows by SQL. Rows that may be stored already, by the index, are compared with the
 * stored ones; the others are inserted as one sorted segment. The next block is staged meanwhile.
 */
export class Loader {
  readonly #parts: LoaderParts;
  readonly #staged = new Map<EventBlock, Promise<StagedBlock>>();
  readonly #connections: DuckDBConnection[] = [];
  /** Connections that no block is staged on. */
  readonly #free: DuckDBConnection[] = [];
  #running: Promise<unknown> = Promise.resolve();

  constructor(parts: LoaderParts) {
    this.#parts = parts;
  }

  /** As `UsageStore.load`; `onStored` is called at the commit. Errors: EngineLostError, before or after it. */
  async load(
    company_id: number,
    block: EventBlock,
    created_at: number,
    onStored: (rows: number) => void,
  ): Promise<LoadResult> {
    const { engine } = this.#parts;
    return this.#run(async () => {
      const staging = this.#stagedBlock(company_id, block);
      this.#staged.delete(block);
      const staged = await staging;
      try {
        return await this.#load({ ...staged, engine, created_at }, onStored);
      } finally {
        this.#free.push(staged.connection);
      }
    });
  }

  /** Errors: EngineLostError. */
  async stage(company_id: number, block: EventBlock): Promise<void> {
    await this.#run(() => this.#stagedBlock(company_id, block));
    this.#forgetOldest();
  }

  /** Whoever broke off never loads what was staged. A block that is forgotten and loaded all the same is staged anew. */
  #forgetOldest(): void {
    for (const [block, staging] of [...this.#staged].slice(0, -MAX_STAGED)) {
      this.#staged.delete(block);
      void staging.then(
        ({ connection }) => this.#free.push(connection),
        () => undefined,
      );
    }
  }

  #run<T>(work: () => Promise<T>): Promise<T> {
    const working = work();
    // Without its results, which would hold every block that was ever loaded.
    this.#running = Promise.allSettled([this.#running, working]).then(() => undefined);
    return working.catch((error) => {
      throw this.#parts.engine.judge(error, "commit");
    });
  }

  #stagedBlock(company_id: number, block: EventBlock): Promise<StagedBlock> {
    const known = this.#staged.get(block);
    if (known !== undefined) return known;
    const staged = this.#stage(company_id, block);
    this.#staged.set(block, staged);
    staged.catch(() => this.#staged.delete(block));
    return staged;
  }

  async #stage(company_id: number, block: EventBlock): Promise<StagedBlock> {
    const connection = this.#free.pop() ?? (await this.#connect());
    await connection.run(`CREATE OR REPLACE TEMP TABLE loaded_rows (${BLOCK_TABLE})`);
    const appender = await connection.createAppender("loaded_rows");
    try {
      block.appendTo(appender);
    } finally {
      appender.closeSync();
    }
    return { connection, block, company_id, ...this.#hash(company_id, block) };
  }

  async #connect(): Promise<DuckDBConnection> {
    const connection = await this.#parts.engine.connect();
    this.#connections.push(connection);
    return connection;
  }

  async #load(loading: Loading, onStored: (rows: number) => void): Promise<LoadResult> {
    const { connection, block, entries, skipped } = loading;
    const { hits, accepted } = await this.#parts.writer.exclusive(async (_, first_seq) => {
      const found = this.#addToIndex(entries, skipped, first_seq);
      const count = await insertRows(loading, found, first_seq);
      await this.#addToTotals(loading, first_seq + block.rows - 1);
      return { rows: block.rows, value: { hits: found, accepted: count } };
    });
    onStored(accepted);
    const repeated = await findRepeated(loading, hits);
    const left = hits.filter((row) => !repeated.has(row));
    await connection.run("DROP TABLE loaded_rows");
    return { accepted, duplicates: repeated.size, left };
  }

  /** Adds what was committed to the running totals, or has them counted anew. */
  async #addToTotals({ connection, company_id }: Loading, last_seq: number): Promise<void> {
    const { totals } = this.#parts;
    if (totals.watchedOf(company_id) === undefined) return totals.advance(last_seq);
    try {
      await totals.catchUp((...asked) => readEvents(connection, ...asked), last_seq);
    } catch {
      totals.advance(last_seq);
      totals.recount(company_id);
    }
  }

  /** Closes the connections, after interrupting work on a lost engine. */
  async close(): Promise<void> {
    const { engine } = this.#parts;
    await cutOff(engine.is_lost ? this.#connections : [], this.#running);
    for (const connection of this.#connections) engine.disconnect(connection);
  }

  #hash(company_id: number, block: EventBlock): Pick<StagedBlock, "entries" | "skipped"> {
    const { hash } = this.#parts;
    const entries = new EntryBlock(block.rows);
    const skipped = new Set<string>();
    for (let row = 0; row < block.rows; row++) {
      fingerprint(hash, company_id, block.ids, row * 4);
      if (block.is(row, ROW.skipped)) skipped.add(keyOf(hash.high, hash.low));
      else entries.add(hash.high, hash.low, row);
    }
    return { entries, skipped };
  }

  /**
   * Adds the rows to the index and returns those that may be repeats, of a stored event or of another row: a row that
   * repeats a skipped one must wait for that one's result. Entries of rows that are then not stored do no harm.
   */
  #addToIndex(entries: EntryBlock, skipped: ReadonlySet<string>, first_seq: number): number[] {
    const { index } = this.#parts;
    const hits: number[] = [];
    entries.flush((high, low, row) => {
      const is_new =
        !(skipped.size > 0 && skipped.has(keyOf(high, low))) && index.addNew(high, low, first_seq + row);
      if (!is_new) hits.push(row);
    });
    return hits.toSorted((a, b) => a - b);
  }
}

function keyOf(high: number, low: number): string {
  return `${high} ${low}`;
}

/** Inserts the rows that are neither skipped nor hits, in one transaction. Returns how many. */
async function insertRows(loading: Loading, hits: readonly number[], first_seq: number): Promise<number> {
  const { engine, connection, block, company_id, created_at } = loading;
  const excluded = [...block.rowsThat(ROW.skipped), ...hits];
  const accepted = block.rows - excluded.length;
  if (accepted === 0) return 0;
  await makeRowTable(connection, "excluded_rows", excluded);
  const fresh = `SELECT ${first_seq} + "row" AS seq, ${company_id} AS company_id, subscription_id, timestamp, id,
      usage, metadata, ${created_at} AS created_at
    FROM loaded_rows ${excluded.length > 0 ? `ANTI JOIN excluded_rows USING ("row")` : ""}`;
  const rows: CommitRows = { first_seq, last_seq: first_seq + block.rows - 1, rows: accepted };
  const insert = async (): Promise<void> => {
    // Files are mostly in the order of time: sorting again would take as long as all the rest.
    const order = block.is_in_order ? "" : "ORDER BY timestamp, id";
    await connection.run(`INSERT INTO usage_runs ${fresh} ${order}`);
    await connection.run(
      `INSERT INTO usage_hour_deltas SELECT ${SUMMED} FROM (${fresh}) GROUP BY company_id, hour`,
    );
  };
  await engine.transact(connection, "commit", insert, rows);
  return accepted;
}

/** The rows that are stored with the same content. */
async function findRepeated(
  { connection, company_id }: Loading,
  rows: readonly number[],
): Promise<ReadonlySet<number>> {
  const repeated = new Set<number>();
  if (rows.length === 0) return repeated;
  await makeRowTable(connection, "hit_rows", rows);
  // By the span of time the engine skips most stored blocks.
  const [span = []] = await query(
    connection,
    `SELECT min(timestamp), max(timestamp) FROM loaded_rows JOIN hit_rows USING ("row")`,
  );
  const [first_ms = 0, last_ms = 0] = span.map(asNumber);
  const same_sql = "stored.metadata IS NOT DISTINCT FROM loaded.metadata";
  const result =
    await connection.stream(`SELECT "row", if(${same_sql}, NULL, stored.metadata), loaded.metadata
    FROM loaded_rows AS loaded JOIN hit_rows USING ("row")
    JOIN (FROM usage_events
      WHERE company_id = ${company_id} AND timestamp BETWEEN ${first_ms} AND ${last_ms}) AS stored
    ON stored.id = loaded.id AND stored.timestamp = loaded.timestamp
      AND stored.subscription_id = loaded.subscription_id AND stored.usage = loaded.usage
    -- No condition of a semi join, which would compare every pair.
    WHERE (${same_sql}
      OR json_extract(stored.metadata, ${quoteText(`/${ERASED_KEY}`)})::VARCHAR = 'true')`);
  for await (const chunk of result) {
    const [kept, sent] = [chunk.getColumnVector(1), chunk.getColumnVector(2)];
    for (const [i, row] of rawWords(chunk.getColumnVector(0)).subarray(0, chunk.rowCount).entries()) {
      const stored = textAt(kept, i);
      if (stored === null || isErasedFrom(stored, textAt(sent, i))) repeated.add(row);
    }
  }
  return repeated;
}

function textAt(vector: DuckDBVector, row: number): string | null {
  const value = vector.getItem(row);
  return typeof value === "string" ? value : null;
}

/** Creates a temporary table of row numbers. */
async function makeRowTable(
  connection: DuckDBConnection,
  name: string,
  rows: readonly number[],
): Promise<void> {
  await connection.run(`CREATE OR REPLACE TEMP TABLE ${name} ("row" INTEGER)`);
  await appendChunks(connection, name, rows.length, (start, end) => {
    const chunk = DuckDBDataChunk.create([INTEGER], end - start);
    const vector = chunk.getColumnVector(0);
    rawWords(vector).set(rows.slice(start, end));
    vector.flush();
    return chunk;
  });
}
