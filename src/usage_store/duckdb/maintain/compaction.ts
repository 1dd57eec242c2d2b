import type { DuckDBConnection } from "@duckdb/node-api";
import { type Engine, EngineLostError, rolledBack } from "../engine/engine.ts";
import { countFolds, foldDeltas, rebuildHours, refold } from "../append/hour_sums.ts";
import type { SnapshotWriter } from "../index/inventory.ts";
import { HOT_TABLES, type HotTable } from "../engine/schema.ts";
import { segmentSlices } from "./segment_slices.ts";
import type { Background, GroupSums, GroupSumsLimits } from "./group_sums.ts";
import { asNumber, query } from "../engine/sql.ts";
import type { Writer } from "../append/writer.ts";

/** When events are moved, and how many at once. */
export interface CompactionLimits extends GroupSumsLimits {
  /** Hot events at which they are moved to a short segment. */
  hot_rows: number;
  /** Events in short segments at which they are moved to a long one. */
  segment_rows: number;
  /** New events at which snapshots are rewritten; that of the index after a fortieth of all if that is more. */
  snapshot_rows: number;
  /** How long it rests after a failure, such as a full disk. */
  retry_ms: number;
}

/** The options of a compaction. */
export interface CompactionOptions {
  limits: CompactionLimits;
  /** Rows in short segments. */
  segment_rows: number;
  /** How long it rests first, after failures that ended earlier engines. */
  rest_ms: number;
  /** Called when a compaction is complete. */
  onDone: () => void;
  /** Called when background work failed. */
  onFailure: (error: unknown) => void;
}

/** Writes snapshots that are due, of the events up to a number. */
type Snapshots = Pick<SnapshotWriter, "write" | "is_due">;

const ORDER = "ORDER BY company_id, timestamp, id";

/** Changes of stored events, of some ten thousand each, after which it compacts. */
const CHANGES = 50;

/** Rows of folds beyond which they are merged to one an hour. */
const LOOSE_FOLDS = 100_000;

/**
 * Compaction: moves events from the order of their arrival into sorted segments, in the background, and empties the
 * log. Each move is one transaction, so that every query finds each event once and a kill at any moment loses none.
 *
 * A checkpoint of the engine blocks writes to the table that it writes out, and to no other. So the writer switches to
 * another hot table before a move, which takes the rows of the others, and to yet another before the checkpoint, one
 * that was empty when the last checkpoint ended: hence four.
 */
export class Compaction {
  readonly #engine: Engine;
  readonly #connection: DuckDBConnection;
  /** Holds a transaction open during checkpoints. */
  readonly #bystander: DuckDBConnection;
  readonly #writer: Writer;
  readonly #group_sums: GroupSums;
  readonly #snapshots: Snapshots;
  readonly #limits: CompactionLimits;
  readonly #onFailure: (error: unknown) => void;
  readonly #onDone: () => void;
  #running: Promise<void> | undefined;
  #resting: ReturnType<typeof setTimeout> | undefined;
  #closed = false;
  #is_in_checkpoint = false;
  #segment_rows: number;
  /** Changes of stored events since that many led to a compaction. */
  #changes = 0;
  /** The number of folds after the last merge. */
  #tidy_folds = 0;

  static async open(
    engine: Engine,
    writer: Writer,
    group_sums: GroupSums,
    snapshots: Snapshots,
    options: CompactionOptions,
  ): Promise<Compaction> {
    return new Compaction(
      engine,
      [await engine.connect(), await engine.connect()],
      writer,
      group_sums,
      snapshots,
      options,
    );
  }

  private constructor(
    engine: Engine,
    [connection, bystander]: [DuckDBConnection, DuckDBConnection],
    writer: Writer,
    group_sums: GroupSums,
    snapshots: Snapshots,
    { segment_rows, rest_ms, limits, onFailure, onDone }: CompactionOptions,
  ) {
    this.#engine = engine;
    this.#connection = connection;
    this.#bystander = bystander;
    this.#writer = writer;
    this.#group_sums = group_sums;
    this.#segment_rows = segment_rows;
    this.#snapshots = snapshots;
    this.#limits = limits;
    this.#onFailure = onFailure;
    this.#onDone = onDone;
    if (rest_ms > 0) this.#rest(rest_ms, () => this.notice());
  }

  /**
   * To be called after commits and queries: starts a compaction when enough events are hot or in short segments, when
   * group sums are wanted or a snapshot is due, unless one is under way. `new_segment_rows`: rows that the commit put into a segment of its own.
   */
  notice(new_segment_rows = 0): void {
    this.#segment_rows += new_segment_rows;
    const { hot_rows, segment_rows } = this.#limits;
    const is_enough = this.#writer.hot_rows >= hot_rows || this.#segment_rows >= segment_rows;
    if (
      (is_enough || this.#group_sums.is_wanted || this.#snapshots.is_due) &&
      this.#running === undefined &&
      this.#resting === undefined
    )
      this.#start();
  }

  /** Compacts in the background; retries after a failure and a rest. */
  #start(): void {
    if (this.#closed) return;
    void this.#run().catch((error) => {
      // A lost engine is reported by the recovery.
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

  /** Compacts now: resolves when every event stored before is in a sorted segment. */
  async compact(): Promise<void> {
    // One that is under way may have begun too early.
    await this.#runNext(() => this.#compact());
  }

  /** Rebuilds the sums from the events; appends wait meanwhile, and so does the compaction. */
  async rebuildSums(): Promise<void> {
    await this.#runNext(() =>
      this.#writer.exclusive(async (connection) => {
        await rebuildHours(this.#engine, connection);
        await this.#group_sums.rebuild(this.#background);
        return { rows: 0, value: undefined };
      }),
    );
  }

  /** Changes the metadata of a company's stored events, in one transaction; appends go on meanwhile. */
  changeMetadata(company_id: number, change: (connection: DuckDBConnection) => Promise<void>): Promise<void> {
    return this.#change(() =>
      this.#group_sums.changeMetadata(this.#background, company_id, () => change(this.#connection)),
    );
  }

  /** Changes stored events and their sums in one transaction; appends go on meanwhile. */
  changeEvents(change: (connection: DuckDBConnection) => Promise<void>): Promise<void> {
    return this.#change(() => this.#transact(() => change(this.#connection)));
  }

  /** Changes stay in memory and in the log until a checkpoint, and without appends none would come. */
  #change(work: () => Promise<void>): Promise<void> {
    return this.#runNext(async () => {
      await work();
      if (++this.#changes < CHANGES) return;
      this.#changes = 0;
      await this.#compact();
    });
  }

  #run(): Promise<void> {
    return this.#running ?? this.#runAlone(() => this.#compact());
  }

  /** As `#runAlone`, once what is under way has ended. */
  async #runNext(work: () => Promise<void>): Promise<void> {
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    await this.#runAlone(work);
  }

  /** Runs what no other work of the background may run beside. */
  #runAlone(work: () => Promise<void>): Promise<void> {
    this.#running = work()
      .catch((error) => {
        throw this.#engine.judge(error, "background");
      })
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  /**
   * Interrupts work under way, which loses nothing, and closes the connections. A checkpoint comes to its end: cut off,
   * it would end the engine, and the log would stay for the next opening.
   */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#resting);
    while (this.#running !== undefined) {
      if (!this.#is_in_checkpoint || this.#engine.is_lost) this.#connection.interrupt();
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
    await this.#group_sums.update(this.#background, last_seq);
    await this.#snapshots.write(this.#connection, last_seq);
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

  /** Moves the short segments' events into one long segment, slice by slice in its order. */
  async #settle(last_seq: number): Promise<void> {
    for (const { from, until } of await segmentSlices(this.#connection, this.#limits.move_rows)) {
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

  async #tidyFolds(): Promise<void> {
    const folds = await countFolds(this.#connection);
    if (folds > 2 * this.#tidy_folds + LOOSE_FOLDS)
      this.#tidy_folds = await refold(this.#engine, this.#connection);
  }

  /**
   * Empties the log into the file. The engine makes a checkpoint beside running transactions only when one of them
   * began before the last commit; otherwise it blocks every write. So one is held open meanwhile, and a commit made. It
   * begins after the moves, or the rows that they deleted would be written out for it.
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
      this.#is_in_checkpoint = true;
      await this.#engine.checkpoint(this.#connection);
    } finally {
      this.#is_in_checkpoint = false;
      if (!(await rolledBack(this.#bystander)))
        this.#engine.lose(new Error("A rollback failed"), "background");
    }
  }

  async #countSegments(): Promise<number> {
    const [[count] = []] = await query(this.#connection, "SELECT count(*) FROM usage_runs");
    this.#segment_rows = asNumber(count);
    return this.#segment_rows;
  }

  get #background(): Background {
    return { connection: this.#connection, transact: (work) => this.#transact(work) };
  }

  /** Errors: throws when the store is closing, else those of `work`. */
  async #transact(work: () => Promise<void>): Promise<void> {
    if (this.#closed) throw new Error("Cannot compact: the usage store is closing");
    await this.#engine.transact(this.#connection, "background", work);
  }
}
