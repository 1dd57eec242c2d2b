import type { DuckDBConnection } from "@duckdb/node-api";
import { Compaction, type CompactionLimits } from "./compaction.ts";
import type { Database } from "../engine/database.ts";
import { Engine, type EngineLoss } from "../engine/engine.ts";
import { Exports } from "../query/exports.ts";
import type { Companies } from "../index/companies.ts";
import type { FingerprintIndex } from "../../index/fingerprints.ts";
import { type Inventory, type SnapshotWriter, scanStore } from "../index/inventory.ts";
import { Loader } from "../append/bulk_load.ts";
import { NewestEvents } from "../query/newest.ts";
import { Readers, type ReadersLimits } from "../engine/readers.ts";
import { closedError } from "../../query/closed_error.ts";
import type { SipHash } from "../../index/siphash.ts";
import { WindowSums } from "../query/window_sums.ts";
import { GroupSums } from "./group_sums.ts";
import { Writer, type WriterLimits } from "../append/writer.ts";
import type { TotalsKeeper } from "../../running/keeper.ts";
import type { TotalsSnapshots } from "./totals_snapshots.ts";

/** The limits of the components on an engine. */
export interface PartsLimits {
  readers: ReadersLimits;
  exports: ReadersLimits;
  writer: WriterLimits;
  compaction: CompactionLimits;
  few_events: number;
}

/** State that outlives an engine: it is about the rows, whichever engine reads them. */
export interface OpenedStore {
  hash: SipHash;
  index: FingerprintIndex;
  snapshots: SnapshotWriter | undefined;
  companies: Companies;
  totals: TotalsKeeper;
  totals_snapshots: TotalsSnapshots | undefined;
}

/** The options of the components on an engine. */
export interface OpeningParts {
  limits: PartsLimits;
  known: OpenedStore;
  /** The smallest number of the next row: numbers of failed commits are not used again. */
  next_seq: number;
  /** How long the compaction rests first. */
  rest_ms: number;
  onLost: (loss: EngineLoss) => void;
  /** Called when background work failed. */
  onFailure: (error: unknown) => void;
  /** Called when a compaction is complete. */
  onCompacted: () => void;
}

/** Pings that may wait for one another. */
const PINGS = 16;

/** The components on one engine. */
export interface Parts {
  database: Database;
  engine: Engine;
  writer: Writer;
  loader: Loader;
  compactor: Compaction;
  readers: Readers;
  /** A pool of their own: slow queries do not mean that the store is not ready. */
  pings: Readers;
  /** One of their own for counting running totals, which may take a minute. */
  countings: Readers;
  exports: Exports;
  sums: WindowSums;
  group_sums: GroupSums;
  newest: NewestEvents;
  /** The rows stored at the opening. */
  inventory: Inventory;
}

/** Opens the components on a database, whose rows are counted first. When it fails no connection is left. */
export async function openParts(
  database: Database,
  begin: (connection: DuckDBConnection, inventory: Inventory) => Promise<OpeningParts>,
): Promise<Parts> {
  let onLost: OpeningParts["onLost"] | undefined;
  const engine = new Engine(database.instance, (loss) => onLost?.(loss));
  try {
    const connection = await engine.connect();
    const inventory = await scanStore(connection);
    const opening = await begin(connection, inventory);
    const parts = { database, engine, inventory, ...(await openOn(engine, connection, inventory, opening)) };
    ({ onLost } = opening);
    return parts;
  } catch (error) {
    engine.disconnectAll();
    throw error;
  }
}

async function openOn(
  engine: Engine,
  connection: DuckDBConnection,
  inventory: Inventory,
  { limits, known, next_seq, rest_ms, onFailure, onCompacted }: OpeningParts,
): Promise<Omit<Parts, "database" | "engine" | "inventory">> {
  const { index, hash, totals } = known;
  const last_seq = Math.max(inventory.last_seq, next_seq - 1);
  const writer = new Writer(engine, connection, { index, totals }, { ...inventory, last_seq }, limits.writer);
  const { segment_rows } = inventory;
  const group_sums = await GroupSums.open(connection, limits.compaction);
  const options = { limits: limits.compaction, segment_rows, rest_ms, onFailure, onDone: onCompacted };
  return {
    writer,
    readers: await Readers.open(engine, limits.readers),
    pings: await Readers.open(engine, { readers: 1, waiting: PINGS, waiting_company: PINGS }),
    countings: await Readers.open(engine, { readers: 1, waiting: PINGS, waiting_company: PINGS }),
    exports: await Exports.open(engine, limits.exports),
    sums: new WindowSums(),
    group_sums,
    newest: new NewestEvents(),
    loader: new Loader({ engine, writer, index, totals, hash }),
    compactor: await Compaction.open(engine, writer, group_sums, snapshotsOf(known), options),
  };
}

/** All snapshots as one. */
function snapshotsOf({ snapshots, totals_snapshots }: OpenedStore): Pick<SnapshotWriter, "write" | "is_due"> {
  return {
    get is_due() {
      return snapshots?.is_due ?? false;
    },
    async write(connection, last_seq) {
      // That of the totals first: it is smaller, and saves more.
      await totals_snapshots?.write(connection);
      await snapshots?.write(connection, last_seq);
    },
  };
}

/** The number of events that were ever stored, removed ones included: no removal changes it. */
export function storedEvents({ inventory, engine }: Parts): number {
  return inventory.events + inventory.removed + engine.stored_rows;
}

/** Ends all work on a lost engine; every connection is closed then. */
export async function abandonParts(parts: Parts, reason: Error): Promise<void> {
  await Promise.all([
    parts.writer.abandon(reason),
    parts.compactor.close(),
    parts.loader.close(),
    parts.readers.abandon(reason),
    parts.pings.abandon(reason),
    parts.countings.abandon(reason),
    parts.exports.abandon(reason),
  ]);
  parts.engine.disconnectAll();
}

/** Waits for the work under way but for countings, writes down the totals, and closes the database. */
export async function closeParts(
  parts: Parts,
  totals: TotalsSnapshots | undefined,
  onFailure: (error: unknown) => void,
): Promise<void> {
  await parts.countings.abandon(closedError());
  await parts.exports.close();
  await parts.compactor.close();
  await parts.writer.close();
  await parts.loader.close();
  await parts.readers.close();
  await parts.pings.close();
  try {
    const connection = await parts.engine.connect();
    await totals?.writeNow(connection);
    // Empties the log into the file, so that the next opening need not replay it.
    await parts.engine.checkpoint(connection);
  } catch (error) {
    onFailure(error);
  }
  parts.engine.disconnectAll();
  parts.database.close();
}
