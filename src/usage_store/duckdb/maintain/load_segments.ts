import type { DuckDBConnection } from "@duckdb/node-api";
import { SUMMED } from "../append/hour_sums.ts";
import { type EngineLimits, openDatabase } from "../engine/database.ts";
import { insertMeta } from "../engine/meta.ts";
import { EVENT_COLUMNS } from "../engine/schema.ts";
import { loadKept } from "./removal.ts";
import type { KeptSince } from "../../removals.ts";
import { asNumber, query, quoteText } from "../engine/sql.ts";

/** A file of events in Parquet, with the columns of `EVENT_COLUMNS`. */
export interface SegmentFile {
  readonly path: string;
  readonly events: number;
}

/** Events of one long sorted segment, as the compaction makes them. */
const SEGMENT_EVENTS = 4_000_000;

/**
 * Makes a usage store of the events of segment files that have a number up to `last_seq`, with the numbers and instants
 * that they had; later events get higher ones. The file must not be there. Returns how many events it has.
 * Errors: throws when a file can't be read.
 */
export async function loadSegments(
  path: string,
  files: readonly SegmentFile[],
  { last_seq, kept, onLoaded = () => undefined, ...limits }: LoadOptions,
): Promise<number> {
  const database = await openDatabase(path, limits);
  const connection = await database.instance.connect();
  try {
    let loaded = 0;
    for (const batch of batches(files)) {
      await transact(connection, () => insertEvents(connection, batch, last_seq));
      loaded += batch.reduce((sum, { events }) => sum + events, 0);
      onLoaded(loaded);
    }
    await transact(connection, async () => {
      await connection.run(`INSERT INTO usage_hour_folds
        SELECT ${SUMMED} FROM usage_events GROUP BY company_id, hour ORDER BY company_id, hour`);
      await insertMeta(connection, { seq_floor: String(last_seq) });
      if (kept) await loadKept(connection, kept);
    });
    await connection.run("CHECKPOINT");
    const [[count] = []] = await query(connection, "SELECT count(*) FROM usage_events");
    return asNumber(count);
  } finally {
    connection.closeSync();
    database.close();
  }
}

export interface LoadOptions extends EngineLimits {
  last_seq: number;
  /** What was kept of removed events, in a file of `UsageStore.exportKept`. */
  kept?: { path: string; since: readonly KeptSince[] } | undefined;
  /** Called with the number of events that are loaded. */
  onLoaded?: (events: number) => void;
}

function* batches(files: readonly SegmentFile[]): Generator<SegmentFile[]> {
  let batch: SegmentFile[] = [];
  let events = 0;
  for (const file of files) {
    if (events > 0 && events + file.events > SEGMENT_EVENTS) {
      yield batch;
      [batch, events] = [[], 0];
    }
    batch.push(file);
    events += file.events;
  }
  if (batch.length > 0) yield batch;
}

/** Columns by their names, whatever the order in the file. */
const COLUMNS = Object.entries(EVENT_COLUMNS)
  .map(([name, type]) => `${name}::${String(type)} AS ${name}`)
  .join(", ");

async function insertEvents(
  connection: DuckDBConnection,
  files: readonly SegmentFile[],
  last_seq: number,
): Promise<void> {
  const paths = files.map(({ path }) => quoteText(path)).join(", ");
  await connection.run(`INSERT INTO usage_settled SELECT ${COLUMNS} FROM read_parquet([${paths}])
    WHERE seq <= ${last_seq} ORDER BY company_id, timestamp, id`);
}

async function transact(connection: DuckDBConnection, work: () => Promise<void>): Promise<void> {
  await connection.run("BEGIN");
  await work();
  await connection.run("COMMIT");
}
