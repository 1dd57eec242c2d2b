import { unmendable } from "../../../core/exit_codes.ts";
import type { ClickHouse } from "./engine.ts";
import { asText, text } from "./sql.ts";

/** The version of the layout; a database with another one is refused. */
const LAYOUT = "1";

/** The most lanes that there can be. */
const MAX_LANES = 64;

/** How long a change of the schema may take. */
const SCHEMA_MS = 60_000;

/**
 * Tokens that the engine remembers, of all lanes together: of nearly two minutes, were there 64 lanes, an owner for each and
 * as many commits as they can make. An insert is under way for one.
 */
const TOKENS = 100_000;

/** What makes an insert survive a power cut. */
const DURABLE = "fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1";

/**
 * The events, a partition for each lane. What stands under company 0 are commits of no events: voids, which close an
 * epoch (subscription 0), and marks, which hold a number that removed events had (subscription 1); their timestamp is
 * the lane's number of hours.
 */
const EVENTS = `CREATE TABLE IF NOT EXISTS usage_events (
  lane UInt8,
  company_id UInt32 CODEC(Delta, ZSTD),
  subscription_id UInt32 CODEC(ZSTD),
  timestamp Int64 CODEC(Delta, ZSTD),
  id UUID CODEC(NONE),
  usage Decimal(18, 6) CODEC(ZSTD),
  metadata String CODEC(ZSTD),
  created_at Int64 CODEC(Delta, ZSTD),
  seq UInt64 CODEC(Delta, ZSTD),
  INDEX seq_range seq TYPE minmax GRANULARITY 1,
  INDEX created_range created_at TYPE minmax GRANULARITY 1,
  PROJECTION by_hour (
    SELECT company_id, intDiv(timestamp, 3600000), sum(usage), count(), min(usage), max(usage), max(seq)
    GROUP BY company_id, intDiv(timestamp, 3600000)
  )
) ENGINE = MergeTree PARTITION BY lane ORDER BY (company_id, timestamp, UUIDToNum(id))
SETTINGS non_replicated_deduplication_window = ${TOKENS}, ${DURABLE}`;

/** Facts of the store by name; the first of a name counts. */
const META = `CREATE TABLE IF NOT EXISTS usage_meta (name String, value String)
ENGINE = MergeTree ORDER BY name SETTINGS non_replicated_deduplication_window = 100, ${DURABLE}`;

/** What was kept of removed events: sums by subscription and hour of UTC. Those count that are before `removed_ms`. */
const KEPT_HOURS = `CREATE TABLE IF NOT EXISTS usage_kept_hours (company_id UInt32, subscription_id UInt32, hour Int64,
  total Decimal(38, 6), events UInt64, low Decimal(18, 6), high Decimal(18, 6), corrections UInt64)
ENGINE = MergeTree ORDER BY (company_id, hour, subscription_id) SETTINGS ${DURABLE}`;

/** Where the events of companies begin, a row for each change: of each column the highest counts, of `first_ms` the lowest. */
const KEPT_SINCE = `CREATE TABLE IF NOT EXISTS usage_kept_since (company_id UInt32, since_ms Int64, removed_ms Int64,
  first_ms Int64, last_ms Int64)
ENGINE = MergeTree ORDER BY company_id SETTINGS ${DURABLE}`;

/** What a store is. */
export interface StoreMeta {
  /** A UUID that no other store has. */
  store_id: string;
  lanes: number;
  /** The key of the ids' fingerprints. */
  fingerprint_key: Uint8Array;
}

/**
 * Makes the tables where there are none, and reads what the store is. `lanes` counts only when they are made.
 * Errors: throws where another layout is stored,
 * or a restore was cut off.
 */
export async function openSchema(engine: ClickHouse, lanes: number): Promise<StoreMeta> {
  await makeTables(engine);
  const known = await readMeta(engine);
  if (known !== undefined) return known;
  const [is_used = []] = await engine.ask("SELECT 1 FROM usage_events LIMIT 1", { timeout_ms: SCHEMA_MS });
  const meanwhile = await readMeta(engine);
  if (meanwhile !== undefined) return meanwhile;
  if (is_used.length > 0)
    throw unmendable("A restore into the usage store was cut off: restore into an empty database");
  return recordFacts(engine, lanes);
}

/** Makes the tables where there are none; without its facts the store is not used. */
export async function makeTables(engine: ClickHouse): Promise<void> {
  for (const table of [META, EVENTS, KEPT_HOURS, KEPT_SINCE]) await engine.run(table, SCHEMA_MS);
}

/** The names of those of the store's tables that the database has. */
export async function listTables(engine: ClickHouse): Promise<string[]> {
  const rows = await engine.ask(
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND name LIKE 'usage\\_%' ORDER BY name",
    { timeout_ms: SCHEMA_MS },
  );
  return rows.map(([name]) => asText(name));
}

/** Writes down what the store is, from when on it is used. Errors: throws for a number of lanes that there can't be. */
export async function recordFacts(engine: ClickHouse, lanes: number): Promise<StoreMeta> {
  if (!Number.isInteger(lanes) || lanes < 1 || lanes > MAX_LANES)
    throw new RangeError(`A store has 1 to ${MAX_LANES} lanes, not ${lanes}`);
  const key = crypto.getRandomValues(new Uint8Array(16));
  // Of two processes that begin at once the token keeps one's: all of it is one insert.
  const facts = {
    layout: LAYOUT,
    store_id: crypto.randomUUID(),
    lanes: String(lanes),
    fingerprint_key: Buffer.from(key).toString("hex"),
  };
  const rows = Object.entries(facts).map(([name, value]) => `(${text(name)}, ${text(value)})`);
  await engine.run(`INSERT INTO usage_meta VALUES ${rows.join(", ")}`, SCHEMA_MS, {
    async_insert: 0,
    insert_deduplication_token: "facts",
  });
  const made = await readMeta(engine);
  if (made === undefined) throw new Error("The usage store does not say what it is");
  return made;
}

async function readMeta(engine: ClickHouse): Promise<StoreMeta | undefined> {
  const rows = await engine.ask("SELECT name, value FROM usage_meta", { timeout_ms: SCHEMA_MS });
  const facts = new Map(rows.map(([name, value]) => [asText(name), asText(value)]));
  const layout = facts.get("layout");
  if (layout === undefined) return undefined;
  if (layout !== LAYOUT)
    throw new Error(`The usage store has layout ${layout}; this program knows ${LAYOUT}`);
  const fingerprint_key = new Uint8Array(Buffer.from(facts.get("fingerprint_key") ?? "", "hex"));
  return { store_id: facts.get("store_id") ?? "", lanes: Number(facts.get("lanes")), fingerprint_key };
}
