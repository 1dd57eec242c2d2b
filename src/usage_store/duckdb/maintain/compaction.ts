import type { DuckDBConnection } from "@duckdb/node-api";
import { type Engine, EngineLostError, rolledBack } from "../engine/engine.ts";
import { countFolds, foldDeltas, rebuildHours, refold } from "../append/hour_sums.ts";
import type { SnapshotWriter } from "../index/inventory.ts";
import { HOT_TABLES, type HotTable } from "../engine/schema.ts";
import { asNumber, query } from "../engine/sql.ts";
import type { Writer } from "../append/writer.ts";

/** When events move on, and how many at once. */
export interface CompactionLimits {
  /** Hot events after which they are moved to a sorted run. */
  hot_rows: number;
  /** Events in short runs after which they are moved to a long one. */
  segment_rows: number;
  /** Events moved by one transaction: commits wait while it writes down which rows it took. */
  move_rows: number;
  /** New events after which the index's snapshot is written anew, where a twentieth of all is not more. */
  snapshot_rows: number;
  /** How long it rests after a failure, such as a full disk. */
  retry_ms: number;
}

/** What a compaction works with. */
export interface CompactionOptions {
  limits: CompactionLimits;
  /** How many rows are in short runs. */
  segment_rows: number;
  /** How long it rests before it begins: after failures that ended engines before this one. */
  rest_ms: number;
  /** Told when all that was to be moved has been. */
  onDone: () => void;
  /** Told when background work failed. */
  onFailure: (error: unknown) => void;
}

const ORDER = "ORDER BY company_id, timestamp, id";

/** Folds that are read as they are before they are made one row an hour. */
const LOOSE_FOLDS = 100_000;

const DAY_MS = 86_400_000;

/** A part of the runs: from one company and instant (inclusive) to another (exclusive). */
interface Slice {
  from: Place;
  until: Place;
}

interface Place {
  company_id: number;
  timestamp: number;
}

/**
 * Moves events from the order of their arrival into sorted runs, in the background, and empties the log. Each
 * move is one transaction, so that every question finds each event once and a kill at any moment loses none.
 *
 * The engine's checkpoint holds up writes to the table that it is writing out, and only to that. So the writer
 * turns to another hot table before a move, whose rows those of the others are then, and to yet another before
 * the checkpoint, one that was empty when the last checkpoint ended: hence four.
 */
export class Compaction {
  readonly #engine: Engine;
  readonly #connection: DuckDBConnection;
  readonly #bystander: DuckDBConnection;
  readonly #writer: Writer;
  readonly #snapshots: SnapshotWriter | undefined;
  readonly #limits: CompactionLimits;
  readonly #onFailure: (error: unknown) => void;
  readonly #onDone: () => void;
  #running: Promise<void> | undefined;
  #resting: ReturnType<typeof setTimeout> | undefined;
  #closed = false;
  #segment_rows: number;
  /** How many folds there were when each hour last had one. */
  #tidy_folds = 0;

  /** `keeper` keeps the index of ids. */
  static async open(
    engine: Engine,
    writer: Writer,
    keeper: SnapshotWriter | undefined,
    how: CompactionOptions,
  ): Promise<Compaction> {
    return new Compaction(engine, [await engine.connect(), await engine.connect()], writer, keeper, how);
  }

  private constructor(
    engine: Engine,
    [connection, bystander]: [DuckDBConnection, DuckDBConnection],
    writer: Writer,
    keeper: SnapshotWriter | undefined,
    { segment_rows, rest_ms, limits, onFailure, onDone }: CompactionOptions,
  ) {
    this.#engine = engine;
    this.#connection = connection;
    this.#bystander = bystander;
    this.#writer = writer;
    this.#segment_rows = segment_rows;
    this.#snapshots = keeper;
    this.#limits = limits;
    this.#onFailure = onFailure;
    this.#onDone = onDone;
    if (rest_ms > 0) this.#rest(rest_ms, () => this.notice());
  }

  /**
   * To be called after commits: starts a compaction when enough events are hot or in short runs, unless one is
   * under way. `new_run_rows`: how many the commit put into a run of its own.
   */
  notice(new_run_rows = 0): void {
    this.#segment_rows += new_run_rows;
    const { hot_rows, segment_rows } = this.#limits;
    const is_enough = this.#writer.hot_rows >= hot_rows || this.#segment_rows >= segment_rows;
    if (is_enough && this.#running === undefined && this.#resting === undefined) this.#start();
  }

  /** Compacts in the background; after a failure it rests, and tries again. */
  #start(): void {
    if (this.#closed) return;
    void this.#run().catch((error) => {
      // A lost engine is told of by who opens the next one.
      if (this.#closed || error instanceof EngineLostError) return;
      this.#onFailure(error);
      this.#rest(this.#limits.retry_ms, () => this.#start());
    });
  }

  #rest(rest_ms: number, goOn: () => void): void {
    this.#resting ??= setTimeout(() => {
      this.#resting = undefined;
      goOn();
    }, rest_ms);
  }

  /** Compacts now: when it answers, every event that was stored before is in a run. */
  async compact(): Promise<void> {
    // One that is under way may have begun too early.
    await this.#running?.catch(() => undefined);
    await this.#run();
  }

  /** Makes the sums by hour anew from the events; appends wait meanwhile. */
  async rebuildSums(): Promise<void> {
    await this.#running?.catch(() => undefined);
    await this.#writer.exclusive(async (connection) => {
      await rebuildHours(this.#engine, connection);
      return { rows: 0, value: undefined };
    });
  }

  #run(): Promise<void> {
    this.#running ??= this.#compact()
      .catch((error) => {
        throw this.#engine.judge(error, "background");
      })
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  /** Gives up what is under way, which loses nothing, and releases the connection. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#resting);
    while (this.#running !== undefined) {
      this.#connection.interrupt();
      await Promise.race([this.#running.catch(() => undefined), Bun.sleep(50)]);
    }
    this.#engine.disconnect(this.#connection);
    this.#engine.disconnect(this.#bystander);
  }

  async #compact(): Promise<void> {
    const { hot, last_seq } = await this.#writer.rotate();
    const tables = HOT_TABLES.filter((table) => table !== hot);
    for (const [first, last] of await this.#hotSlices(tables, last_seq))
      await this.#moveHot(tables, first, last);
    await this.#transact(() => foldDeltas(this.#connection, last_seq));
    await this.#checkpoint();
    if ((await this.#countSegments()) >= this.#limits.segment_rows) {
      await this.#settle(last_seq);
      await this.#checkpoint();
      await this.#countSegments();
    }
    await this.#tidyFolds();
    await this.#snapshots?.write(this.#connection, last_seq);
    this.#onDone();
  }

  /** The numbers of the hot rows, in ranges of at most `move_rows` rows, both ends inclusive. */
  async #hotSlices(tables: readonly HotTable[], last_seq: number): Promise<[number, number][]> {
    const numbers = tables.map((table) => `SELECT seq FROM ${table}`).join(" UNION ALL ");
    const slices = await query(
      this.#connection,
      `SELECT min(seq), max(seq) FROM (${numbers}) WHERE seq <= ${last_seq}
      GROUP BY seq // ${this.#limits.move_rows} ORDER BY 1`,
    );
    return slices.map(([first, last]) => [asNumber(first), asNumber(last)]);
  }

  async #moveHot(tables: readonly HotTable[], first: number, last: number): Promise<void> {
    const where = `WHERE seq BETWEEN ${first} AND ${last}`;
    const rows = tables.map((table) => `SELECT * FROM ${table} ${where}`).join(" UNION ALL ");
    await this.#transact(async () => {
      await this.#connection.run(`INSERT INTO usage_runs FROM (${rows}) ${ORDER}`);
      for (const table of tables) await this.#connection.run(`DELETE FROM ${table} ${where}`);
    });
  }

  /** Moves the runs' events into one long run, slice by slice in its order. */
  async #settle(last_seq: number): Promise<void> {
    for (const { from, until } of await this.#runSlices()) {
      // The whole slice lies between the two companies: the engine skips blocks by that, not by an OR.
      const where = `WHERE seq <= ${last_seq} AND company_id BETWEEN ${from.company_id} AND ${until.company_id}
        AND (company_id > ${from.company_id} OR timestamp >= ${from.timestamp})
        AND (company_id < ${until.company_id} OR timestamp < ${until.timestamp})`;
      await this.#transact(async () => {
        await this.#connection.run(`INSERT INTO usage_settled SELECT * FROM usage_runs ${where} ${ORDER}`);
        await this.#connection.run(`DELETE FROM usage_runs ${where}`);
      });
    }
  }

  /**
   * Cuts the runs' events into slices of about `move_rows`, in order, at days of a company; a day of more is one by
   * itself. The engine finds where: there may be millions of days.
   */
  async #runSlices(): Promise<Slice[]> {
    const { move_rows } = this.#limits;
    const cuts = await query(
      this.#connection,
      `WITH days AS (SELECT company_id, timestamp // ${DAY_MS} AS day, count(*) AS events
          FROM usage_runs GROUP BY ALL),
        placed AS (SELECT *, sum(events) OVER in_order - events AS before FROM days
          WINDOW in_order AS (ORDER BY company_id, day ROWS UNBOUNDED PRECEDING)),
        cut AS (SELECT *, lag(before // ${move_rows}, 1, 0) OVER (ORDER BY company_id, day) AS slice_before FROM placed)
      SELECT company_id, day FROM cut
      WHERE before > 0 AND (before // ${move_rows} > slice_before OR events > ${move_rows}) ORDER BY ALL`,
    );
    const slices: Slice[] = [];
    let from: Place = { company_id: 0, timestamp: 0 };
    for (const cut of cuts) {
      const [company_id = 0, day = 0] = cut.map(asNumber);
      const until = { company_id, timestamp: day * DAY_MS };
      slices.push({ from, until });
      from = until;
    }
    const beyond = { company_id: 2 ** 31 - 1, timestamp: Number.MAX_SAFE_INTEGER };
    return [...slices, { from, until: beyond }];
  }

  async #tidyFolds(): Promise<void> {
    const folds = await countFolds(this.#connection);
    if (folds > 2 * this.#tidy_folds + LOOSE_FOLDS)
      this.#tidy_folds = await refold(this.#engine, this.#connection);
  }

  /**
   * Empties the log into the file. The engine makes a checkpoint beside running transactions only when one of
   * them began before the last commit; otherwise it halts every write. So one is held open meanwhile, and a
   * commit made. It begins after the moves, or what they deleted would be written out for it.
   */
  async #checkpoint(): Promise<void> {
    await this.#writer.rotate();
    await this.#bystander.run("BEGIN TRANSACTION READ ONLY");
    try {
      await this.#bystander.run("FROM usage_meta LIMIT 0");
      await this.#transact(async () => {
        await this.#connection.run("DELETE FROM usage_meta WHERE name = 'last_checkpoint'");
        await this.#connection.run("INSERT INTO usage_meta VALUES ('last_checkpoint', now()::VARCHAR)");
      });
      await this.#engine.checkpoint(this.#connection);
    } finally {
      if (!(await rolledBack(this.#bystander)))
        this.#engine.lose(new Error("A rollback failed"), "background");
    }
  }

  async #countSegments(): Promise<number> {
    const [[count] = []] = await query(this.#connection, "SELECT count(*) FROM usage_runs");
    this.#segment_rows = asNumber(count);
    return this.#segment_rows;
  }

  /** Errors: throws when the store is closing, else those of `work`. */
  async #transact(work: () => Promise<void>): Promise<void> {
    if (this.#closed) throw new Error("Cannot compact: the usage store is closing");
    await this.#engine.transact(this.#connection, "background", work);
  }
}
