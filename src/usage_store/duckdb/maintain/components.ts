import type { DuckDBConnection } from "@duckdb/node-api";
import { Compaction, type CompactionLimits } from "./compaction.ts";
import type { Database } from "../engine/database.ts";
import { Engine, type EngineLoss } from "../engine/engine.ts";
import { Exports } from "../query/exports.ts";
import type { FingerprintIndex } from "../index/fingerprints.ts";
import { type Inventory, type SnapshotWriter, scanStore } from "../index/inventory.ts";
import { Loader } from "../append/bulk_load.ts";
import { Readers, type ReadersLimits } from "../engine/readers.ts";
import type { TimeRange } from "../query/rollup.ts";
import type { SipHash } from "../index/siphash.ts";
import { WindowSums } from "../query/window_sums.ts";
import { Writer, type WriterLimits } from "../append/writer.ts";

/** Bounds of what works on an engine. */
export interface PartsLimits {
  readers: ReadersLimits;
  exports: ReadersLimits;
  writer: WriterLimits;
  compaction: CompactionLimits;
}

/** What outlives an engine: it is true of the rows, whichever engine reads them. */
export interface OpenedStore {
  hash: SipHash;
  index: FingerprintIndex;
  snapshots: SnapshotWriter | undefined;
  range: TimeRange;
}

/** How an engine is begun. */
export interface OpeningParts {
  limits: PartsLimits;
  known: OpenedStore;
  /** The number that the next row has at least: numbers of commits that failed are not given again. */
  next_seq: number;
  /** How long the compaction rests first. */
  rest_ms: number;
  onLost: (loss: EngineLoss) => void;
  /** Told when background work failed. */
  onFailure: (error: unknown) => void;
  /** Told when the compaction has done its work. */
  onCompacted: () => void;
}

/** Pings that may wait for one another. */
const PINGS = 16;

/** All that works on one engine. */
export class Parts {
  readonly database: Database;
  readonly engine: Engine;
  readonly writer: Writer;
  readonly loader: Loader;
  readonly compactor: Compaction;
  readonly readers: Readers;
  /** A place of its own: that questions take their time does not mean that the store is not ready. */
  readonly pings: Readers;
  readonly exports: Exports;
  readonly sums = new WindowSums();
  /** What was stored when it was opened. */
  readonly inventory: Inventory;

  private constructor(parts: Omit<Parts, "sums" | "abandon" | "close" | "events">) {
    this.database = parts.database;
    this.engine = parts.engine;
    this.writer = parts.writer;
    this.loader = parts.loader;
    this.compactor = parts.compactor;
    this.readers = parts.readers;
    this.pings = parts.pings;
    this.exports = parts.exports;
    this.inventory = parts.inventory;
  }

  /** Opens what works on a database, whose rows it counts first. When it fails no connection is left. */
  static async open(
    database: Database,
    begin: (connection: DuckDBConnection, inventory: Inventory) => Promise<OpeningParts>,
  ): Promise<Parts> {
    let onLost: OpeningParts["onLost"] | undefined;
    const engine = new Engine(database.instance, (loss) => onLost?.(loss));
    try {
      const connection = await engine.connect();
      const inventory = await scanStore(connection);
      const beginning = await begin(connection, inventory);
      const parts = await Parts.#on(engine, database, connection, inventory, beginning);
      ({ onLost } = beginning);
      return parts;
    } catch (error) {
      engine.disconnectAll();
      throw error;
    }
  }

  static async #on(
    engine: Engine,
    database: Database,
    connection: DuckDBConnection,
    inventory: Inventory,
    { limits, known, next_seq, rest_ms, onFailure, onCompacted }: OpeningParts,
  ): Promise<Parts> {
    const { index, hash } = known;
    const last_seq = Math.max(inventory.last_seq, next_seq - 1);
    const writer = new Writer(engine, connection, index, { ...inventory, last_seq }, limits.writer);
    const waiting = { waiting: PINGS, waiting_company: PINGS };
    return new Parts({
      database,
      engine,
      inventory,
      writer,
      readers: await Readers.open(engine, limits.readers),
      pings: await Readers.open(engine, { readers: 1, ...waiting }),
      exports: await Exports.open(engine, limits.exports),
      loader: new Loader({ engine, writer, index, hash }),
      compactor: await Compaction.open(engine, writer, known.snapshots, {
        limits: limits.compaction,
        segment_rows: inventory.segment_rows,
        rest_ms,
        onFailure,
        onDone: onCompacted,
      }),
    });
  }

  /** How many events are stored. */
  get events(): number {
    return this.inventory.events + this.engine.stored_rows;
  }

  /** Ends all that is under way on a lost engine; every connection is closed then. */
  async abandon(reason: Error): Promise<void> {
    await Promise.all([
      this.writer.abandon(reason),
      this.compactor.close(),
      this.loader.close(),
      this.readers.abandon(reason),
      this.pings.abandon(reason),
      this.exports.abandon(reason),
    ]);
    this.engine.disconnectAll();
  }

  /** Waits for what is under way, and closes the database. */
  async close(onFailure: (error: unknown) => void): Promise<void> {
    await this.exports.close();
    await this.compactor.close();
    await this.writer.close();
    await this.loader.close();
    await this.readers.close();
    await this.pings.close();
    // Empties the log into the file, so that the next opening need not replay it.
    try {
      await this.engine.checkpoint(await this.engine.connect());
    } catch (error) {
      onFailure(error);
    }
    this.engine.disconnectAll();
    this.database.close();
  }
}
