import { chunks } from "../../../core/chunk.ts";
import { setUsage, USAGE, WORDS } from "../../append/append_request.ts";
import { readId } from "../../append/id_words.ts";
import type { KeptSince } from "../../removals.ts";
import type { ContentDigest, KeptHour, SegmentRow } from "../../segment_rows.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import { encodeNothing, MARK, RowWriter } from "../append/event_rows.ts";
import { ClickHouse } from "../engine/engine.ts";
import { listTables, makeTables, recordFacts } from "../engine/schema.ts";
import { integer } from "../engine/sql.ts";
import { contentDigests } from "../query/totals.ts";
import { Removals } from "./removals.ts";

/** Bytes of a lane's events that are inserted at once. */
const BLOCK_BYTES = 32 * 2 ** 20;

/** Rows of kept sums in one statement. */
const KEPT_ROWS = 10_000;

const STATEMENT_MS = 600_000;

/** How long the digests of all events may take. */
const DIGESTS_MS = 6 * 3_600_000;

/** What a store is made of. */
export interface StoreContent {
  /** Events, in parts, with the numbers that they keep. */
  events: AsyncIterable<readonly SegmentRow[]>;
  /** The number up to which there may be events; later ones get higher ones. */
  last_seq: number;
  /** What was kept of removed events, in parts, and where each company's events begin. */
  kept?: { hours: AsyncIterable<readonly KeptHour[]>; since: readonly KeptSince[] } | undefined;
  /** How many lanes companies are divided over. */
  lanes: number;
  /** Called with the number of events that are loaded. */
  onLoaded: (events: number) => void;
}

/** Errors: throws where the database has tables of a store. */
export async function assertEmptyStore(url: string): Promise<void> {
  const engine = ClickHouse.connect(url);
  try {
    const [name] = await listTables(engine);
    if (name === undefined) return;
    const { host, pathname } = new URL(url);
    throw new Error(
      `Cannot restore into ClickHouse at ${host}${pathname}: it is not empty, there is ${name}`,
    );
  } finally {
    await engine.close();
  }
}

/**
 * Makes a usage store in an empty database; until it is whole, no server uses it. Returns how many events it has.
 * Errors: throws what can't be read or stored.
 */
export async function loadStore(url: string, content: StoreContent): Promise<number> {
  const engine = ClickHouse.connect(url);
  try {
    await makeTables(engine);
    const events = await insertEvents(engine, content);
    // Each lane goes on with higher numbers, whatever events it has.
    for (let lane = 0; lane < content.lanes; lane++)
      await engine.insert(
        "usage_events",
        encodeNothing(MARK, lane, content.last_seq),
        `loaded:${lane}:${content.last_seq}`,
      );
    if (content.kept) await insertKept(engine, content.kept);
    await recordFacts(engine, content.lanes);
    return events;
  } finally {
    await engine.close();
  }
}

async function insertEvents(engine: ClickHouse, { events, lanes, onLoaded }: StoreContent): Promise<number> {
  const blocks = Array.from({ length: lanes }, () => new RowWriter(2 ** 16));
  let [loaded, inserted] = [0, 0];
  const insert = async (lane: number): Promise<void> => {
    const block = blocks[lane];
    if (block === undefined || block.size === 0) return;
    await engine.insert("usage_events", block.taken(), `load:${lane}:${inserted++}`);
    blocks[lane] = new RowWriter(2 ** 16);
  };
  const words = new Uint32Array(WORDS);
  for await (const rows of events) {
    for (const { id, usage, ...row } of rows) {
      readId(id, words, 0, loaded++);
      setUsage(words, USAGE, usage);
      const lane = row.company_id % lanes;
      blocks[lane]?.event({ ...row, lane, words, at: 0 });
    }
    for (const [lane, { size }] of blocks.entries()) if (size >= BLOCK_BYTES) await insert(lane);
    onLoaded(loaded);
  }
  for (let lane = 0; lane < lanes; lane++) await insert(lane);
  return loaded;
}

/** The digests of all that a store holds. */
export async function loadedDigests(url: string): Promise<ContentDigest[]> {
  const engine = ClickHouse.connect(url);
  try {
    return await contentDigests(engine, { timeout_ms: DIGESTS_MS });
  } finally {
    await engine.close();
  }
}

async function insertKept(
  engine: ClickHouse,
  { hours, since }: NonNullable<StoreContent["kept"]>,
): Promise<void> {
  const ranges = new Map<number, { first: number; last: number }>();
  for await (const rows of hours) {
    for (const { company_id, hour } of rows) {
      const { first, last } = ranges.get(company_id) ?? { first: hour, last: hour };
      ranges.set(company_id, { first: Math.min(first, hour), last: Math.max(last, hour) });
    }
    for (const some of chunks(rows, KEPT_ROWS)) {
      const values = some.map((row) => {
        const { company_id, subscription_id, hour, total, events, low, high, corrections } = row;
        const keys = [company_id, subscription_id, hour].map(integer).join(", ");
        return `(${keys}, '${total}', ${integer(events)}, '${low}', '${high}', ${integer(corrections)})`;
      });
      await engine.run(`INSERT INTO usage_kept_hours VALUES ${values.join(", ")}`, STATEMENT_MS, {
        async_insert: 0,
      });
    }
  }
  const removals = await Removals.open(engine);
  for (const { company_id, since_ms } of since) {
    const range = ranges.get(company_id);
    await removals.record(company_id, {
      since_ms,
      ...(range === undefined
        ? { removed_ms: 0, first_ms: Number.MAX_SAFE_INTEGER, last_ms: 0 }
        : {
            removed_ms: (range.last + 1) * HOUR_MS,
            first_ms: range.first * HOUR_MS,
            last_ms: (range.last + 1) * HOUR_MS - 1,
          }),
    });
  }
}
